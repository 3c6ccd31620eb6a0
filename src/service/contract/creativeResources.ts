/** Resources and values of creatives (spec 2.4). */
import { field, recordFields, type Resource } from './resource.ts'

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
const nullableText = <const Name extends string>(name: Name) => field(name, 'string', nullable)
/** Creates a text that may be null or missing. */
const optionalText = <const Name extends string>(name: Name) => field(name, 'string', { nullable: true, optional: true })
const cardFields = [field('id', 'string'), field('name', 'string'), field('card_uri', 'string'), field('card_type', 'string')] as const

export const creativeResources = {
  accountMedia: {
    fields: [
      field('id', 'string'),
      nullableText('video_id'),
      nullableText('media_url'),
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
      field('first_choice', 'string'),
      field('second_choice', 'string'),
      optionalText('third_choice'),
      optionalText('fourth_choice'),
      field('start_time', 'timestamp'),
      field('end_time', 'timestamp'),
      field('duration_in_minutes', 'integer'),
      optionalText('content_duration_seconds'),
      optionalText('media_key'),
      optionalText('media_url'),
      optionalText('video_url'),
      optionalText('video_content_id'),
      optionalText('video_height'),
      optionalText('video_width'),
      optionalText('video_poster_url'),
      optionalText('video_poster_height'),
      optionalText('video_poster_width'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  videoConversationCard: {
    fields: [
      ...cardFields,
      nullableText('title'),
      field('first_cta', 'string'),
      field('first_cta_tweet', 'string'),
      nullableText('second_cta'),
      nullableText('second_cta_tweet'),
      nullableText('third_cta'),
      nullableText('third_cta_tweet'),
      nullableText('fourth_cta'),
      nullableText('fourth_cta_tweet'),
      field('thank_you_text', 'string'),
      nullableText('thank_you_url'),
      field('media_key', 'string'),
      nullableText('media_url'),
      nullableText('poster_media_url'),
      nullableText('video_height'),
      nullableText('video_width'),
      nullableText('video_owner_id'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  mediaLibraryObject: {
    fields: [
      field('media_key', 'string'),
      field('media_type', 'enum', { values: mediaTypes }),
      field('media_category', 'string'),
      field('media_status', 'string'),
      field('media_url', 'string'),
      nullableText('name'),
      nullableText('file_name'),
      nullableText('title'),
      nullableText('description'),
      field('duration', 'integer', nullable),
      nullableText('poster_media_url'),
      nullableText('poster_media_key'),
      field('aspect_ratio', 'string', nullable),
      field('tweeted', 'boolean'),
      ...recordFields,
    ],
    source: 'spec 2.4',
  },
  advertiserPost: {
    fields: [
      field('id', 'long'),
      field('id_str', 'string'),
      field('text', 'string'),
      nullableText('name'),
      field('created_at', 'timestamp'),
      field('truncated', 'boolean'),
      field('entities', 'object'),
      field('user', 'object'),
      field('retweet_count', 'integer'),
      field('favorite_count', 'integer'),
      field('lang', 'string'),
      field('source', 'string'),
      field('scopes', 'object'),
      field('geo', 'any', nullable),
      field('coordinates', 'any', nullable),
      field('place', 'any', nullable),
      field('contributors', 'any', nullable),
      field('in_reply_to_status_id', 'long', nullable),
      nullableText('in_reply_to_status_id_str'),
      field('in_reply_to_user_id', 'long', nullable),
      nullableText('in_reply_to_user_id_str'),
      nullableText('in_reply_to_screen_name'),
      optionalText('tweet_type'),
      field('nullcast', 'boolean', { optional: true }),
      optionalText('conversation_settings'),
      optionalText('scheduled_at'),
      optionalText('scheduled_status'),
      optionalText('full_text'),
      field('display_text_range', 'integers', { optional: true }),
      optionalText('tweet_id'),
      optionalText('card_uri'),
      field('media_keys', 'strings', { optional: true }),
    ],
    source: 'spec 2.4 created post',
  },
  scheduledPost: {
    fields: [
      field('id', 'long'),
      field('id_str', 'string'),
      field('user_id', 'string'),
      nullableText('text'),
      nullableText('name'),
      field('nullcast', 'boolean'),
      nullableText('card_uri'),
      field('media_keys', 'strings'),
      field('scheduled_at', 'timestamp'),
      field('scheduled_status', 'string'),
      nullableText('completed_at'),
      nullableText('tweet_id'),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
    ],
    source: 'docs/spec-notes.md#scheduled-and-draft-posts',
  },
  draftPost: {
    fields: [
      field('id', 'long'),
      field('id_str', 'string'),
      field('user_id', 'string'),
      nullableText('text'),
      nullableText('name'),
      field('nullcast', 'boolean'),
      nullableText('card_uri'),
      field('media_keys', 'strings'),
      field('created_at', 'timestamp'),
      field('updated_at', 'timestamp'),
    ],
    source: 'docs/spec-notes.md#scheduled-and-draft-posts',
  },
} as const satisfies Readonly<Record<string, Resource>>
