/** Defines the first records of the creatives area (docs/sandbox.md#initial-data). */
import { recordsOfAccount, type AccountRecord } from '../accountRecords.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_USER } from '../firstIds.ts'
import { isoSeconds } from '../timestamps.ts'
import { mediaObject } from './mediaKeys.ts'
import type { Component, CreativesState } from './state.ts'

/**
 * Creates the first state: media library, account media, a card of each component type, a legacy card, two polls, a video conversation
 * card.
 */
export function createCreatives(): CreativesState {
  const state: CreativesState = {
    accountMedia: new Map(),
    cards: new Map(),
    legacyCards: new Map(),
    polls: new Map(),
    conversations: new Map(),
    media: new Map(),
    widths: new Map(),
  }
  const at = FIRST_DAY
  const stamps = { created_at: at, updated_at: at, deleted: false }
  addMedia(state, at)
  const accountMedia = recordsOfAccount(state.accountMedia, FIXED_ACCOUNT)
  accountMedia.set('amed1', {
    id: 'amed1',
    video_id: '13_1146655105555005441',
    media_url: 'https://media.example.com/13_1146655105555005441.mp4',
    creative_type: 'PREROLL',
    ...stamps,
  })
  accountMedia.set('amed2', {
    id: 'amed2',
    video_id: null,
    media_url: 'https://media.example.com/banner.png',
    creative_type: 'BANNER',
    ...stamps,
  })
  addCards(state, stamps)
  addSpecialCards(state, at, stamps)
  return state
}

function addMedia(state: CreativesState, at: string): void {
  const media = recordsOfAccount(state.media, FIXED_ACCOUNT)
  const named: readonly (readonly [string, string])[] = [
    ['3_1146654567674912769', 'Spring sale'],
    ['3_1146654567674912770', 'Square logo'],
    ['16_1146654567674912771', 'Spinning mug'],
    ['7_1146654567674912772', 'Mug in use'],
    ['13_1146655105555005441', 'Spring film'],
  ]
  for (const [key, name] of named) {
    const object = mediaObject(key, at)
    if (object !== undefined)
      media.set(key, {
        ...object,
        name,
        file_name: `${name.toLowerCase().replaceAll(' ', '-')}.${object.media_type === 'IMAGE' ? 'png' : 'mp4'}`,
      })
    state.widths.set(key, 1200)
  }
  const square = media.get('3_1146654567674912770')
  if (square !== undefined) square.aspect_ratio = '1:1'
}

const image = { type: 'MEDIA', media_key: '3_1146654567674912769' }
const video = { type: 'MEDIA', media_key: '7_1146654567674912772' }
const details = { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example/mugs' } }
const button = {
  type: 'BUTTON',
  label: { type: 'ENUM', value: 'INSTALL' },
  destination: { type: 'APP', country_code: 'US', googleplay_app_id: 'com.example.mugs' },
}
const swipe = (...keys: readonly string[]) => ({ type: 'SWIPEABLE_MEDIA', media_keys: keys })
const [imageKey, squareKey, videoKey, filmKey] = [
  '3_1146654567674912769',
  '3_1146654567674912770',
  '7_1146654567674912772',
  '13_1146655105555005441',
] as const

function addCards(state: CreativesState, stamps: Omit<AccountRecord, 'id'>): void {
  const cards = recordsOfAccount(state.cards, FIXED_ACCOUNT)
  const made: readonly (readonly [string, readonly Component[], (readonly (readonly Component[])[])?])[] = [
    ['IMAGE_WEBSITE', [image, details]],
    ['VIDEO_WEBSITE', [video, details]],
    ['IMAGE_APP', [image, button]],
    ['VIDEO_APP', [video, button]],
    ['IMAGE_CAROUSEL_WEBSITE', [swipe(imageKey, squareKey), details]],
    ['VIDEO_CAROUSEL_WEBSITE', [swipe(videoKey, filmKey), details]],
    ['MIXED_MEDIA_SINGLE_DEST_CAROUSEL_WEBSITE', [swipe(imageKey, videoKey), details]],
    ['IMAGE_CAROUSEL_APP', [swipe(imageKey, squareKey), button]],
    ['VIDEO_CAROUSEL_APP', [swipe(videoKey, filmKey), button]],
    ['MIXED_MEDIA_SINGLE_DEST_CAROUSEL_APP', [swipe(imageKey, videoKey), button]],
    [
      'IMAGE_MULTI_DEST_CAROUSEL_WEBSITE',
      [],
      [
        [image, details],
        [image, details],
      ],
    ],
    [
      'VIDEO_MULTI_DEST_CAROUSEL_WEBSITE',
      [],
      [
        [video, details],
        [video, details],
      ],
    ],
    [
      'MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE',
      [],
      [
        [image, details],
        [video, details],
      ],
    ],
  ]
  made.forEach(([type, components, slides], index) => {
    const id = String(1_503_831_318_555_086_849n + BigInt(index))
    cards.set(id, {
      id,
      name: `${type.toLowerCase().replaceAll('_', ' ')} card`,
      card_uri: `card://${id}`,
      card_type: type,
      components,
      ...(slides === undefined ? {} : { slides }),
      ...stamps,
    })
  })
  const legacyId = '1503831318555086800'
  recordsOfAccount(state.legacyCards, FIXED_ACCOUNT).set(legacyId, {
    id: legacyId,
    name: 'legacy conversation card',
    card_uri: `card://${legacyId}`,
    card_type: 'IMAGE_CONVERSATION',
    components: [],
    ...stamps,
  })
}

function addSpecialCards(state: CreativesState, at: string, stamps: Omit<AccountRecord, 'id'>): void {
  const polls = recordsOfAccount(state.polls, FIXED_ACCOUNT)
  const end = isoSeconds(Date.parse(at) + 1440 * 60_000)
  const poll = { first_choice: 'Coffee', second_choice: 'Tea', start_time: at, end_time: end, duration_in_minutes: 1440, ...stamps }
  polls.set('1503831318555086900', {
    id: '1503831318555086900',
    name: 'breakfast poll',
    card_uri: 'card://1503831318555086900',
    card_type: 'TEXT_POLLS',
    ...poll,
  })
  polls.set('1503831318555086901', {
    id: '1503831318555086901',
    name: 'film poll',
    card_uri: 'card://1503831318555086901',
    card_type: 'VIDEO_POLLS',
    ...poll,
    content_duration_seconds: '20',
    video_url: `https://media.example.com/${filmKey}.mp4`,
    video_content_id: filmKey,
    video_height: '720',
    video_width: '1280',
    video_poster_url: `https://media.example.com/${filmKey}-poster.png`,
    video_poster_height: '720',
    video_poster_width: '1280',
  })
  recordsOfAccount(state.conversations, FIXED_ACCOUNT).set('1503831318555087000', {
    id: '1503831318555087000',
    name: 'film conversation',
    card_uri: 'card://1503831318555087000',
    card_type: 'VIDEO_CONVERSATION',
    title: 'Which mug?',
    first_cta: '#BlueMug',
    first_cta_tweet: 'I take the blue mug',
    second_cta: '#RedMug',
    second_cta_tweet: 'I take the red mug',
    third_cta: null,
    third_cta_tweet: null,
    fourth_cta: null,
    fourth_cta_tweet: null,
    thank_you_text: 'Thank you',
    thank_you_url: 'https://shop.example/thanks',
    media_key: filmKey,
    media_url: `https://media.example.com/${filmKey}.mp4`,
    poster_media_url: `https://media.example.com/${filmKey}-poster.png`,
    video_height: '720',
    video_width: '1280',
    video_owner_id: FIXED_USER,
    ...stamps,
  })
}
