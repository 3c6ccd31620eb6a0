/** Endpoints of poll cards and video conversation cards (spec 4.4). */
import type { Endpoint } from './endpoint.ts'
import { count200, cursor, idFilter, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { recordsOfAccount } from './recordEndpoints.ts'

const notes = 'docs/spec-notes.md#cards'
const cardName = { maxLength: 80, source: 'spec 8 card name' } as const

/** Parameters of the lists of poll cards and of video conversation cards (spec 4.4). */
const specialCardList = [
  idFilter('card_ids'),
  count200,
  cursor,
  query('q', 'string', { maxLength: 80, source: 'spec 8 card q' }),
  sortBy,
  withDeleted,
  withTotalCount,
] as const

const choice = { maxLength: 25, source: 'spec 8 poll choice' } as const
const pollFields = [
  query('duration_in_minutes', 'integer', { required: true, min: 5, max: 10_080, source: 'spec 8 poll duration' }),
  query('first_choice', 'string', { required: true, ...choice }),
  query('second_choice', 'string', { required: true, ...choice }),
  query('third_choice', 'string', { ...choice, unsettable: true }),
  query('fourth_choice', 'string', { ...choice, unsettable: true }),
  query('name', 'string', { required: true, ...cardName }),
  query('media_key', 'string', { unsettable: true, source: 'spec 4.4; needs the PROMOTED_MEDIA_POLLS feature (spec 5 rule 7)' }),
] as const

const ctaSource = { source: 'spec 4.4' } as const
const ctaLength = {
  kind: 'other',
  text: '`first_cta`, `second_cta`, `third_cta` and `fourth_cta` have at most 20 characters, not counting `#`',
  source: 'spec 4.4; spec 8',
} as const
const optionalConversationFields = [
  query('title', 'string', { maxLength: 23, unsettable: true, source: 'spec 8' }),
  query('second_cta', 'string', { ...ctaSource, unsettable: true }),
  query('second_cta_tweet', 'string', { ...ctaSource, unsettable: true }),
  query('third_cta', 'string', { ...ctaSource, unsettable: true }),
  query('third_cta_tweet', 'string', { ...ctaSource, unsettable: true }),
  query('fourth_cta', 'string', { ...ctaSource, unsettable: true }),
  query('fourth_cta_tweet', 'string', { ...ctaSource, unsettable: true }),
  query('poster_media_key', 'string', { unsettable: true, source: 'spec 4.4' }),
  query('thank_you_url', 'url', { unsettable: true, source: 'spec 4.4' }),
  query('unlocked_image_media_key', 'string', { unsettable: true, source: 'spec 4.4: write-only' }),
  query('unlocked_video_media_key', 'string', { unsettable: true, source: 'spec 4.4' }),
] as const

const pollCards = recordsOfAccount('pollCards', 'cards/poll', 'card_id', 'pollCard')
const videoConversationCards = recordsOfAccount('videoConversationCards', 'cards/video_conversation', 'card_id', 'videoConversationCard')

export const specialCardEndpoints = [
  { ...pollCards.list(specialCardList), source: 'spec 4.4' },
  { ...pollCards.get([withDeleted]), source: 'spec 4.4' },
  {
    ...pollCards.create(pollFields),
    rules: [
      { kind: 'required-if', names: ['third_choice'], when: { name: 'fourth_choice' }, source: 'spec 4.4' },
      { kind: 'other', text: 'the image behind `media_key` is at least 800 px wide, aspect ratio 1.91:1', source: 'spec 4.4' },
    ],
    source: 'spec 4.4; spec 3.3',
  },
  { ...pollCards.delete, source: notes },
  { ...videoConversationCards.list(specialCardList), source: 'spec 4.4' },
  { ...videoConversationCards.get([withDeleted]), source: 'spec 4.4' },
  {
    ...videoConversationCards.create([
      query('first_cta', 'string', { required: true, ...ctaSource }),
      query('first_cta_tweet', 'string', { required: true, ...ctaSource }),
      query('media_key', 'string', { required: true, source: 'spec 4.4: library video, 16:9' }),
      query('name', 'string', { required: true, ...cardName }),
      query('thank_you_text', 'string', { required: true, maxLength: 23, source: 'spec 8' }),
      ...optionalConversationFields,
    ]),
    rules: [
      ctaLength,
      { kind: 'at-least-one', names: ['title', 'second_cta'], source: 'spec 4.4' },
      { kind: 'required-if', names: ['second_cta_tweet'], when: { name: 'second_cta' }, source: 'spec 4.4' },
      { kind: 'required-if', names: ['third_cta_tweet'], when: { name: 'third_cta' }, source: 'spec 4.4' },
      { kind: 'required-if', names: ['fourth_cta_tweet'], when: { name: 'fourth_cta' }, source: 'spec 4.4' },
    ],
    source: 'spec 4.4',
  },
  {
    ...videoConversationCards.update([
      query('first_cta', 'string', ctaSource),
      query('first_cta_tweet', 'string', ctaSource),
      query('media_key', 'string', { source: 'spec 4.4' }),
      query('name', 'string', cardName),
      query('thank_you_text', 'string', { maxLength: 23, source: 'spec 8' }),
      ...optionalConversationFields,
    ]),
    rules: [ctaLength, { kind: 'other', text: 'the rules of creation apply to the card with the changes', source: 'spec 4.4' }],
    source: notes,
  },
  { ...videoConversationCards.delete, source: notes },
] as const satisfies readonly Endpoint[]
