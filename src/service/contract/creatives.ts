/** Creatives: account media, cards, the media library, and posts made on behalf of an advertiser (spec 4.4, gaps 8). */
import type { Endpoint } from './endpoint.ts'
import { accountId, body, count200, cursor, idFilter, list200, path, query, sortBy, withDeleted, withTotalCount } from './parameter.ts'
import { advertiserPostEndpoints } from './advertiserPosts.ts'
import { cardTypes, creativeTypes, mediaTypes } from './creativeResources.ts'

const account = '/12/accounts/:account_id'

const cardName = { maxLength: 80, source: 'spec 8 card name' } as const
const libraryTexts = [
  query('description', 'string', { maxLength: 200, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
  query('file_name', 'string', { maxLength: 255, unsettable: true, source: 'spec 8 media library' }),
  query('name', 'string', { maxLength: 100, unsettable: true, source: 'spec 8 media library' }),
  query('poster_media_key', 'string', { unsettable: true, source: 'spec 4.4: video only, default the first frame' }),
  query('title', 'string', { maxLength: 70, unsettable: true, source: 'spec 4.4; spec 8 media library; video only' }),
] as const

/** Poll cards and video conversation cards take the same list parameters (spec 4.4). */
const specialCardList = [
  accountId, idFilter('card_ids'), count200, cursor, query('q', 'string', { maxLength: 80, source: 'spec 8 card q' }), sortBy, withDeleted, withTotalCount,
] as const

const choice = { maxLength: 25, source: 'spec 8 poll choice' } as const
const pollFields = [
  query('duration_in_minutes', 'integer', { required: true, min: 5, max: 10_080, source: 'spec 8 poll duration' }),
  query('first_choice', 'string', { required: true, ...choice }),
  query('second_choice', 'string', { required: true, ...choice }),
  query('third_choice', 'string', choice),
  query('fourth_choice', 'string', choice),
  query('name', 'string', { required: true, ...cardName }),
  query('media_key', 'string', { source: 'spec 4.4; needs the PROMOTED_MEDIA_POLLS feature (spec 5 rule 7)' }),
] as const

const cta = { maxLength: 21, source: 'spec 8: 20 without `#`' } as const
const ctaTweet = { source: 'spec 4.4' } as const
const conversationOptional = [
  query('title', 'string', { maxLength: 23, unsettable: true, source: 'spec 8' }),
  query('second_cta', 'string', { ...cta, unsettable: true }),
  query('second_cta_tweet', 'string', { ...ctaTweet, unsettable: true }),
  query('third_cta', 'string', { ...cta, unsettable: true }),
  query('third_cta_tweet', 'string', { ...ctaTweet, unsettable: true }),
  query('fourth_cta', 'string', { ...cta, unsettable: true }),
  query('fourth_cta_tweet', 'string', { ...ctaTweet, unsettable: true }),
  query('poster_media_key', 'string', { unsettable: true, source: 'spec 4.4' }),
  query('thank_you_url', 'url', { unsettable: true, source: 'spec 4.4' }),
  query('unlocked_image_media_key', 'string', { unsettable: true, source: 'spec 4.4: write-only' }),
  query('unlocked_video_media_key', 'string', { unsettable: true, source: 'spec 4.4' }),
] as const

export const creativeEndpoints = [
  {
    name: 'accountMedia.list', method: 'GET', host: 'ads', path: `${account}/account_media`, auth: 'user', body: 'none',
    parameters: [
      accountId, idFilter('account_media_ids'), count200,
      query('creative_types', 'csv-enum', { values: creativeTypes, source: 'spec 2.4' }),
      cursor, sortBy, withDeleted, withTotalCount,
    ],
    list: list200, answer: { resource: 'accountMedia', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'accountMedia.get', method: 'GET', host: 'ads', path: `${account}/account_media/:account_media_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('account_media_id'), withDeleted],
    answer: { resource: 'accountMedia', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'accountMedia.delete', method: 'DELETE', host: 'ads', path: `${account}/account_media/:account_media_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('account_media_id')],
    answer: { resource: 'accountMedia', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'cards.list', method: 'GET', host: 'ads', path: `${account}/cards`, auth: 'user', body: 'none',
    parameters: [
      accountId, query('card_types', 'csv-enum', { values: cardTypes, source: 'spec 2.4' }), idFilter('card_id'), idFilter('card_uris'),
      query('count', 'integer', { default: 100, min: 1, max: 200, source: 'spec 8: cards 1 to 200' }), cursor,
      query('include_legacy_cards', 'boolean', { default: false, source: 'spec 4.4' }),
      query('q', 'string', { maxLength: 80, source: 'spec 8 card q' }), sortBy, withDeleted,
    ],
    list: { countDefault: 100, countMin: 1, countMax: 200 }, answer: { resource: 'card', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'cards.all', method: 'GET', host: 'ads', path: `${account}/cards/all`, auth: 'user', body: 'none',
    parameters: [accountId, query('card_uris', 'csv', { required: true, maxItems: 200, source: 'spec/gaps.md 8 Cards' }), withDeleted],
    answer: { resource: 'card', many: true }, limit: 'account_reads', repeatable: true, source: 'spec/gaps.md 8 Cards',
  },
  {
    name: 'cards.get', method: 'GET', host: 'ads', path: `${account}/cards/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id'), withDeleted],
    answer: { resource: 'card', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4; spec/gaps.md 7 `data`',
  },
  {
    name: 'cards.create', method: 'POST', host: 'ads', path: `${account}/cards`, auth: 'user', body: 'json',
    parameters: [
      accountId, body('name', 'string', { required: true, ...cardName }),
      body('components', 'array', { source: 'spec 2.4 card component' }), body('slides', 'array', { source: 'spec 4.4' }),
    ],
    rules: [
      { kind: 'exactly-one', names: ['components', 'slides'], source: 'spec 4.4' },
      { kind: 'other', text: 'one media component and either a DETAILS or a BUTTON component', source: 'spec 4.4' },
      { kind: 'other', text: 'SWIPEABLE_MEDIA holds 2 to 6 media keys; a website destination only in DETAILS, an app destination only in BUTTON', source: 'spec 2.4; spec 8' },
    ],
    answer: { resource: 'card', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.4',
  },
  {
    name: 'cards.update', method: 'PUT', host: 'ads', path: `${account}/cards/:card_id`, auth: 'user', body: 'json',
    parameters: [accountId, path('card_id'), body('name', 'string', cardName), body('components', 'array', { source: 'spec 4.4' }), body('slides', 'array', { source: 'spec 4.4' })],
    rules: [
      { kind: 'exclusive', names: ['components', 'slides'], source: 'spec 4.4' },
      { kind: 'other', text: 'each field given replaces the stored value', source: 'spec 4.4' },
    ],
    answer: { resource: 'card', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4; spec/gaps.md 8 Cards',
  },
  {
    name: 'cards.delete', method: 'DELETE', host: 'ads', path: `${account}/cards/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id')],
    answer: { resource: 'card', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 Cards',
  },
  {
    name: 'legacyCards.delete', method: 'DELETE', host: 'ads', path: `${account}/cards/:card_type/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_type'), path('card_id')],
    rules: [{ kind: 'other', text: '`card_type` is a legacy type in lower case, such as image_conversation', source: 'spec 4.4' }],
    answer: { resource: 'card', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.list', method: 'GET', host: 'ads', path: `${account}/media_library`, auth: 'user', body: 'none',
    parameters: [
      accountId, query('count', 'integer', { default: 20, min: 1, max: 50, source: 'spec 8: media library 1 to 50' }), cursor,
      query('media_type', 'enum', { values: mediaTypes, source: 'spec 2.4' }), query('q', 'string', { minLength: 1, maxLength: 255, source: 'spec 8 media library q' }),
    ],
    list: { countDefault: 20, countMin: 1, countMax: 50 }, answer: { resource: 'mediaLibraryObject', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.get', method: 'GET', host: 'ads', path: `${account}/media_library/:media_key`, auth: 'user', body: 'none',
    parameters: [accountId, path('media_key')],
    answer: { resource: 'mediaLibraryObject', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.create', method: 'POST', host: 'ads', path: `${account}/media_library`, auth: 'user', body: 'form',
    parameters: [accountId, query('media_key', 'string', { required: true, source: 'spec 4.4' }), ...libraryTexts],
    rules: [
      { kind: 'other', text: 'description, poster_media_key and title are for video only', source: 'spec 4.4' },
      { kind: 'other', text: 'a video of category AMPLIFY_VIDEO becomes PREROLL account media', source: 'spec 3.3' },
    ],
    answer: { resource: 'mediaLibraryObject', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.update', method: 'PUT', host: 'ads', path: `${account}/media_library/:media_key`, auth: 'user', body: 'form',
    parameters: [accountId, path('media_key'), ...libraryTexts],
    rules: [{ kind: 'other', text: 'description, poster_media_key and title are for video only', source: 'spec 4.4' }],
    answer: { resource: 'mediaLibraryObject', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'mediaLibrary.delete', method: 'DELETE', host: 'ads', path: `${account}/media_library/:media_key`, auth: 'user', body: 'none',
    parameters: [accountId, path('media_key')],
    answer: { resource: 'mediaLibraryObject', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'pollCards.list', method: 'GET', host: 'ads', path: `${account}/cards/poll`, auth: 'user', body: 'none',
    parameters: specialCardList,
    list: list200, answer: { resource: 'pollCard', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'pollCards.get', method: 'GET', host: 'ads', path: `${account}/cards/poll/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id'), withDeleted],
    answer: { resource: 'pollCard', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'pollCards.create', method: 'POST', host: 'ads', path: `${account}/cards/poll`, auth: 'user', body: 'form',
    parameters: [accountId, ...pollFields],
    rules: [
      { kind: 'required-if', names: ['third_choice'], when: { name: 'fourth_choice', present: true }, source: 'spec 4.4' },
      { kind: 'other', text: 'the image behind media_key is at least 800 px wide, aspect ratio 1.91:1', source: 'spec 4.4' },
    ],
    answer: { resource: 'pollCard', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.4; spec 3.3',
  },
  {
    name: 'pollCards.delete', method: 'DELETE', host: 'ads', path: `${account}/cards/poll/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id')],
    answer: { resource: 'pollCard', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 Cards',
  },
  {
    name: 'videoConversationCards.list', method: 'GET', host: 'ads', path: `${account}/cards/video_conversation`, auth: 'user', body: 'none',
    parameters: specialCardList,
    list: list200, answer: { resource: 'videoConversationCard', many: true }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'videoConversationCards.get', method: 'GET', host: 'ads', path: `${account}/cards/video_conversation/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id'), withDeleted],
    answer: { resource: 'videoConversationCard', many: false }, limit: 'account_reads', repeatable: true, source: 'spec 4.4',
  },
  {
    name: 'videoConversationCards.create', method: 'POST', host: 'ads', path: `${account}/cards/video_conversation`, auth: 'user', body: 'form',
    parameters: [
      accountId, query('first_cta', 'string', { required: true, ...cta }), query('first_cta_tweet', 'string', { required: true, ...ctaTweet }),
      query('media_key', 'string', { required: true, source: 'spec 4.4: library video, 16:9' }), query('name', 'string', { required: true, ...cardName }),
      query('thank_you_text', 'string', { required: true, maxLength: 23, source: 'spec 8' }), ...conversationOptional,
    ],
    rules: [
      { kind: 'one-of', names: ['title', 'second_cta'], source: 'spec 4.4' },
      { kind: 'required-if', names: ['second_cta_tweet'], when: { name: 'second_cta', present: true }, source: 'spec 4.4' },
      { kind: 'required-if', names: ['third_cta_tweet'], when: { name: 'third_cta', present: true }, source: 'spec 4.4' },
      { kind: 'required-if', names: ['fourth_cta_tweet'], when: { name: 'fourth_cta', present: true }, source: 'spec 4.4' },
    ],
    answer: { resource: 'videoConversationCard', many: false }, limit: 'ads_writes', repeatable: false, source: 'spec 4.4',
  },
  {
    name: 'videoConversationCards.update', method: 'PUT', host: 'ads', path: `${account}/cards/video_conversation/:card_id`, auth: 'user', body: 'form',
    parameters: [
      accountId, path('card_id'), query('first_cta', 'string', cta), query('first_cta_tweet', 'string', ctaTweet), query('media_key', 'string', { source: 'spec 4.4' }),
      query('name', 'string', cardName), query('thank_you_text', 'string', { maxLength: 23, source: 'spec 8' }), ...conversationOptional,
    ],
    rules: [{ kind: 'other', text: 'the rules of creation hold for the card as it would become', source: 'spec 4.4' }],
    answer: { resource: 'videoConversationCard', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 Cards',
  },
  {
    name: 'videoConversationCards.delete', method: 'DELETE', host: 'ads', path: `${account}/cards/video_conversation/:card_id`, auth: 'user', body: 'none',
    parameters: [accountId, path('card_id')],
    answer: { resource: 'videoConversationCard', many: false }, limit: 'ads_writes', repeatable: true, source: 'spec/gaps.md 8 Cards',
  },
  ...advertiserPostEndpoints,
] as const satisfies readonly Endpoint[]
