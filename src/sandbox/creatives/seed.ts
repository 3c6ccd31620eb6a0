/** Defines the first records of the creatives area (docs/sandbox.md#initial-data). */
import { addRecords, recordsOfAccount } from '../accountRecords.ts'
import { FIRST_DAY, FIXED_ACCOUNT, FIXED_USER } from '../firstIds.ts'
import { isoSeconds } from '../timestamps.ts'
import { newMediaObject } from './mediaKeys.ts'
import type { Component, CreativesState } from './state.ts'

const created = { created_at: FIRST_DAY, updated_at: FIRST_DAY, deleted: false }
const [imageKey, squareKey, videoKey, filmKey] = [
  '3_1146654567674912769',
  '3_1146654567674912770',
  '7_1146654567674912772',
  '13_1146655105555005441',
] as const

/** Creates the first state of the area: a media library, account media, and at least one card of each type. */
export function createCreativesState(): CreativesState {
  const state: CreativesState = {
    accountMedia: new Map(),
    cards: new Map(),
    legacyCards: new Map(),
    polls: new Map(),
    conversations: new Map(),
    media: new Map(),
  }
  addMedia(state)
  addRecords(state.accountMedia, FIXED_ACCOUNT, [
    { id: 'amed1', video_id: filmKey, media_url: `https://media.example.com/${filmKey}.mp4`, creative_type: 'PREROLL', ...created },
    { id: 'amed2', video_id: null, media_url: 'https://media.example.com/banner.png', creative_type: 'BANNER', ...created },
  ])
  addCards(state)
  addSpecialCards(state)
  return state
}

function addMedia(state: CreativesState): void {
  const media = recordsOfAccount(state.media, FIXED_ACCOUNT)
  const named: readonly (readonly [string, string])[] = [
    [imageKey, 'Spring sale'],
    [squareKey, 'Square logo'],
    ['16_1146654567674912771', 'Spinning mug'],
    [videoKey, 'Mug in use'],
    [filmKey, 'Spring film'],
  ]
  for (const [key, name] of named) {
    const object = newMediaObject(key, FIRST_DAY)
    if (object !== undefined)
      media.set(key, {
        ...object,
        name,
        file_name: `${name.toLowerCase().replaceAll(' ', '-')}.${object.media_type === 'IMAGE' ? 'png' : 'mp4'}`,
      })
  }
  const square = media.get(squareKey)
  if (square !== undefined) square.aspect_ratio = '1:1'
}

const image = { type: 'MEDIA', media_key: imageKey }
const video = { type: 'MEDIA', media_key: videoKey }
const details = { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example/mugs' } }
const button = {
  type: 'BUTTON',
  label: { type: 'ENUM', value: 'INSTALL' },
  destination: { type: 'APP', country_code: 'US', googleplay_app_id: 'com.example.mugs' },
}
const slide = (media: Component) => [media, details]
const swipe = (...keys: readonly string[]) => ({ type: 'SWIPEABLE_MEDIA', media_keys: keys })

function addCards(state: CreativesState): void {
  const contents: readonly (readonly [string, readonly Component[], (readonly (readonly Component[])[])?])[] = [
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
    ['IMAGE_MULTI_DEST_CAROUSEL_WEBSITE', [], [slide(image), slide(image)]],
    ['VIDEO_MULTI_DEST_CAROUSEL_WEBSITE', [], [slide(video), slide(video)]],
    ['MIXED_MEDIA_MULTI_DEST_CAROUSEL_WEBSITE', [], [slide(image), slide(video)]],
  ]
  addRecords(
    state.cards,
    FIXED_ACCOUNT,
    contents.map(([type, components, slides], index) => {
      const name = `${type.toLowerCase().replaceAll('_', ' ')} card`
      const id = String(1_503_831_318_555_086_849n + BigInt(index))
      return { ...cardFields(id, name, type), components, ...(slides === undefined ? {} : { slides }) }
    }),
  )
  addRecords(state.legacyCards, FIXED_ACCOUNT, [
    { ...cardFields('1503831318555086800', 'legacy conversation card', 'IMAGE_CONVERSATION'), components: [] },
  ])
}

function cardFields(id: string, name: string, type: string) {
  return { id, name, card_uri: `card://${id}`, card_type: type, ...created }
}

function addSpecialCards(state: CreativesState): void {
  const poll = {
    first_choice: 'Coffee',
    second_choice: 'Tea',
    start_time: FIRST_DAY,
    end_time: isoSeconds(Date.parse(FIRST_DAY) + 1440 * 60_000),
    duration_in_minutes: 1440,
  }
  addRecords(state.polls, FIXED_ACCOUNT, [
    { ...cardFields('1503831318555086900', 'breakfast poll', 'TEXT_POLLS'), ...poll },
    {
      ...cardFields('1503831318555086901', 'film poll', 'VIDEO_POLLS'),
      ...poll,
      content_duration_seconds: '20',
      video_url: `https://media.example.com/${filmKey}.mp4`,
      video_content_id: filmKey,
      video_height: '720',
      video_width: '1280',
      video_poster_url: `https://media.example.com/${filmKey}-poster.png`,
      video_poster_height: '720',
      video_poster_width: '1280',
    },
  ])
  addRecords(state.conversations, FIXED_ACCOUNT, [
    {
      ...cardFields('1503831318555087000', 'film conversation', 'VIDEO_CONVERSATION'),
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
    },
  ])
}
