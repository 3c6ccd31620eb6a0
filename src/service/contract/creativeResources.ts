/** Resources and values of creatives (spec 2.4). */
import { field, nullableTexts, optionalTexts, recordFields, texts, type Resource } from './resource.ts'

/** Types of cards made of components (spec 2.4). */
export const componentCardTypes = [
  'IMAGE_APP',
  'IMAGE_CAROUSEL_APP',
  'IMAGE_CAROUSEL_WEBSITE',
  'IMAGE_MULTI_DEST_CAROUSEL_WEBSITE',
  'IMAGE_WEBSITE',
  'MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE',
  'MIXED_MEDIA_SINGLE_DEST_CAROUSEL_APP',
  'MIXED_MEDIA_SINGLE_DEST_CAROUSEL_WEBSITE',
  'VIDEO_APP',
  'VIDEO_CAROUSEL_APP',
  'VIDEO_CAROUSEL_WEBSITE',
  'VIDEO_MULTI_DEST_CAROUSEL_WEBSITE',
  'VIDEO_WEBSITE',
] as const

/** Types of legacy cards, which cannot be created. */
export const legacyCardTypes = ['IMAGE_CONVERSATION'] as const
/** Types of cards that `cards.list` may return. */
export const cardTypes = [...componentCardTypes, ...legacyCardTypes] as const

/** Types of account media (spec 2.4). */
export const creativeTypes = [
  'BANNER',
  'BANNER_TABLET',
  'INTERSTITIAL',
  'INTERSTITIAL_LANDSCAPE',
  'INTERSTITIAL_LANDSCAPE_TABLET',
  'INTERSTITIAL_TABLET',
  'MEDIUM_RECTANGLE',
  'PREROLL',
  'VAST_PREROLL',
] as const

/** Types of media library objects (spec 2.4). */
export const mediaTypes = ['GIF', 'IMAGE', 'VIDEO'] as const
/** Values of the label of a BUTTON component (spec 2.4). */
export const buttonLabels = ['BOOK', 'CONNECT', 'INSTALL', 'OPEN', 'ORDER', 'PLAY', 'SHOP'] as const

const nullable = { nullable: true } as const
/** Fields of scheduled and of draft posts before those about the schedule. */
const unpublishedFields = [
  field('id', 'long'),
  ...texts('id_str', 'user_id'),
  ...nullableTexts('text', 'name'),
  field('nullcast', 'boolean'),
  ...nullableTexts('card_uri'),
  field('media_keys', 'strings'),
] as const
const cardFields = texts('id', 'name', 'card_uri', 'card_type')

export const creativeResources = {
  accountMedia: {
    fields: [
      field('id', 'string'),
      ...nullableTexts('video_id', 'media_url'),
      field('creative_type', 'enum', { values: creativeTypes }),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  card: {
    fields: [...cardFields, field('components', 'objects'), field('slides', 'any', { optional: true }), ...recordFields],
    source: 'spec 2.4',
  },
  pollCard: {
    fields: [
      ...cardFields,
      ...texts('first_choice', 'second_choice'),
      ...optionalTexts('third_choice', 'fourth_choice'),
      field('start_time', 'timestamp'),
      field('end_time', 'timestamp'),
      field('duration_in_minutes', 'integer'),
      ...optionalTexts('content_duration_seconds', 'media_key', 'media_url', 'video_url', 'video_content_id', 'video_height'),
      ...optionalTexts('video_width', 'video_poster_url', 'video_poster_height', 'video_poster_width'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  videoConversationCard: {
    fields: [
      ...cardFields,
      ...nullableTexts('title'),
      ...texts('first_cta', 'first_cta_tweet'),
      ...nullableTexts('second_cta', 'second_cta_tweet', 'third_cta', 'third_cta_tweet', 'fourth_cta', 'fourth_cta_tweet'),
      field('thank_you_text', 'string'),
      ...nullableTexts('thank_you_url'),
      field('media_key', 'string'),
      ...nullableTexts('media_url', 'poster_media_url', 'video_height', 'video_width', 'video_owner_id'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  mediaLibraryObject: {
    fields: [
      field('media_key', 'string'),
      field('media_type', 'enum', { values: mediaTypes }),
      ...texts('media_category', 'media_status', 'media_url'),
      ...nullableTexts('name', 'file_name', 'title', 'description'),
      field('duration', 'integer', nullable),
      ...nullableTexts('poster_media_url', 'poster_media_key', 'aspect_ratio'),
      field('tweeted', 'boolean'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  advertiserPost: {
    fields: [
      field('id', 'long'),
      ...texts('id_str', 'text'),
      ...nullableTexts('name'),
      field('created_at', 'timestamp'),
      field('truncated', 'boolean'),
      field('entities', 'object'),
      field('user', 'object'),
      field('retweet_count', 'integer'),
      field('favorite_count', 'integer'),
      ...texts('lang', 'source'),
      field('scopes', 'object'),
      field('geo', 'any', nullable),
      field('coordinates', 'any', nullable),
      field('place', 'any', nullable),
      field('contributors', 'any', nullable),
      field('in_reply_to_status_id', 'long', nullable),
      ...nullableTexts('in_reply_to_status_id_str'),
      field('in_reply_to_user_id', 'long', nullable),
      ...nullableTexts('in_reply_to_user_id_str', 'in_reply_to_screen_name'),
      ...optionalTexts('tweet_type'),
      field('nullcast', 'boolean', { optional: true }),
      ...optionalTexts('conversation_settings', 'scheduled_at', 'scheduled_status', 'full_text'),
      field('display_text_range', 'integers', { optional: true }),
      ...optionalTexts('tweet_id', 'card_uri'),
      field('media_keys', 'strings', { optional: true }),
    ],
    source: 'spec 2.4 created post',
  },
  scheduledPost: {
    fields: [
      ...unpublishedFields,
      field('scheduled_at', 'timestamp'),
      field('scheduled_status', 'string'),
      ...nullableTexts('completed_at', 'tweet_id'),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
    ],
    source: 'docs/spec-notes.md#scheduled-and-draft-posts',
  },
  draftPost: {
    fields: [...unpublishedFields, field('created_at', 'timestamp'), field('updated_at', 'timestamp')],
    source: 'docs/spec-notes.md#scheduled-and-draft-posts',
  },
} as const satisfies Readonly<Record<string, Resource>>
