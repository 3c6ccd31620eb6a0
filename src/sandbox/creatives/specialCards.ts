/** Handles the endpoints of poll cards and video conversation cards (spec 4.4). Poll cards cannot be changed (spec 3.3). */
import { findRecord, recordHandlers, recordsOf, creationFields } from '../accountRecords.ts'
import { accountOf, type Call, type Handler } from '../area.ts'
import { hasFeature } from '../campaigns/features.ts'
import { textParam } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter, missingParameter, ok, type AdsError } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { libraryMedia } from './media.ts'
import type { CreativesState, SpecialCard } from './state.ts'

const CTAS = ['first_cta', 'second_cta', 'third_cta', 'fourth_cta'] as const

const card = { id: 'card_id', missing: 'CARD_NOT_FOUND', filters: { card_ids: 'id' } } as const

export const specialCardHandlers: Readonly<Record<string, Handler<CreativesState>>> = {
  ...recordHandlers('pollCards', { ...card, table: (state: CreativesState) => state.polls }),
  'pollCards.create': (call) => ok(createPoll(call)),
  ...recordHandlers('videoConversationCards', { ...card, table: (state: CreativesState) => state.conversations }),
  'videoConversationCards.create': (call) => ok(createConversation(call)),
  'videoConversationCards.update': (call) => {
    const card = findRecord(call, call.state.conversations, 'card_id', 'CARD_NOT_FOUND')
    changeConversation(call, card)
    card.updated_at = isoSeconds(call.now)
    return ok(card)
  },
}

/** Creates a poll. Its duration begins now, not when a post uses the poll (spec 3.3). @throws {Refusal} */
function createPoll(call: Call<CreativesState>): SpecialCard {
  const minutes = Number(call.params['duration_in_minutes'])
  const mediaKey = textParam(call, 'media_key')
  const image = mediaKey === null ? undefined : pollImage(call, mediaKey)
  const id = call.world.newId()
  const start = isoSeconds(call.now)
  const card: SpecialCard = {
    id,
    name: String(call.params['name']),
    card_uri: `card://${id}`,
    card_type: image === undefined ? 'TEXT_POLLS' : 'IMAGE_POLLS',
    first_choice: call.params['first_choice'],
    second_choice: call.params['second_choice'],
    ...(textParam(call, 'third_choice') === null ? {} : { third_choice: textParam(call, 'third_choice') }),
    ...(textParam(call, 'fourth_choice') === null ? {} : { fourth_choice: textParam(call, 'fourth_choice') }),
    start_time: start,
    end_time: isoSeconds(Date.parse(start) + minutes * 60_000),
    duration_in_minutes: minutes,
    ...(image === undefined ? {} : { media_key: mediaKey, media_url: image.media_url }),
    ...creationFields(call),
  }
  recordsOf(call, call.state.polls).set(id, card)
  return card
}

/** Creates a video conversation card from the parameters of the call. @throws {Refusal} */
function createConversation(call: Call<CreativesState>): SpecialCard {
  const id = call.world.newId()
  const fields = [...CTAS.flatMap((cta) => [cta, `${cta}_tweet`]), 'title', 'thank_you_url']
  const card: SpecialCard = {
    id,
    name: '',
    card_uri: `card://${id}`,
    card_type: 'VIDEO_CONVERSATION',
    ...Object.fromEntries(fields.map((name) => [name, null])),
    video_owner_id: call.user?.id ?? null,
    ...creationFields(call),
  }
  changeConversation(call, card)
  recordsOf(call, call.state.conversations).set(id, card)
  return card
}

/** Returns the image of a poll. @throws {Refusal} without the feature, or for a missing or unsuitable image */
function pollImage(call: Call<CreativesState>, mediaKey: string): { readonly media_url: string } {
  if (!hasFeature(call, 'PROMOTED_MEDIA_POLLS'))
    throw adsRefusal('FEATURE_NOT_AVAILABLE', 'media polls need the account feature PROMOTED_MEDIA_POLLS', { parameter: 'media_key' })
  const media = libraryMedia(call.state, accountOf(call).id, mediaKey)
  if (media === undefined) throw adsRefusal('MEDIA_NOT_FOUND', `media ${mediaKey} is not in the media library`, { parameter: 'media_key' })
  const wide = (call.state.widths.get(mediaKey) ?? 0) >= 800
  if (media.media_type !== 'IMAGE' || !wide || media.aspect_ratio !== '1.91:1')
    throw adsRefusals([
      { ...invalidParameter('media_key', 'an image at least 800 px wide with aspect ratio 1.91:1', mediaKey), code: 'INVALID_IMAGE' },
    ])
  return media
}

/** Writes the given parameters into a video conversation card. @throws {Refusal} before it changes anything */
function changeConversation(call: Call<CreativesState>, card: SpecialCard): void {
  const next: Record<string, unknown> = { ...card }
  for (const name of call.given) {
    const value = call.params[name]
    // Parameters of the path, and parameters that the card does not show (spec 2.4, 4.4).
    if (['account_id', 'card_id', 'unlocked_image_media_key', 'unlocked_video_media_key', 'poster_media_key'].includes(name)) continue
    if (value !== undefined) next[name] = value
  }
  const errors: AdsError[] = []
  const has = (name: string) => typeof next[name] === 'string' && next[name] !== ''
  for (const cta of CTAS) {
    if (has(cta) && [...String(next[cta]).replace('#', '')].length > 20)
      errors.push(invalidParameter(cta, 'at most 20 characters, not counting `#`', next[cta]))
    if (has(cta) && !has(`${cta}_tweet`)) errors.push(missingParameter(`${cta}_tweet`))
    if (has(`${cta}_tweet`) && !has(cta))
      errors.push({ code: 'INCLUSIVE_PARAMETERS', message: `"${cta}_tweet" is only allowed with "${cta}"`, parameter: `${cta}_tweet` })
  }
  for (const name of ['first_cta', 'thank_you_text', 'name', 'media_key']) if (!has(name)) errors.push(missingParameter(name))
  if (!has('title') && !has('second_cta'))
    errors.push({ ...missingParameter('title'), message: 'one of "title", "second_cta" is required' })
  if (errors.length > 0) throw adsRefusals(errors)
  // The card does not store the key of its poster, so an update without a new video or poster must keep the URLs.
  if (next['media_key'] !== card['media_key'] || call.given.has('poster_media_key'))
    Object.assign(next, conversationMedia(call, String(next['media_key'])))
  Object.assign(card, next)
}

/** Returns the fields that a conversation card derives from its video and poster. @throws {Refusal} */
function conversationMedia(call: Call<CreativesState>, mediaKey: string): Record<string, string | null> {
  const account = accountOf(call).id
  const media = libraryMedia(call.state, account, mediaKey)
  if (media === undefined) throw adsRefusal('MEDIA_NOT_FOUND', `media ${mediaKey} is not in the media library`, { parameter: 'media_key' })
  if (media.media_type !== 'VIDEO' || media.aspect_ratio !== '16:9')
    throw adsRefusals([{ ...invalidParameter('media_key', 'a library video with aspect ratio 16:9', mediaKey), code: 'INVALID_MEDIA' }])
  const posterKey = textParam(call, 'poster_media_key')
  const poster = posterKey === null ? undefined : libraryMedia(call.state, account, posterKey)
  if (posterKey !== null && poster?.media_type !== 'IMAGE')
    throw adsRefusal('INVALID_IMAGE', `Expected an image of the media library, got "${posterKey}" for poster_media_key`, {
      parameter: 'poster_media_key',
    })
  return {
    media_url: media.media_url,
    poster_media_url: poster?.media_url ?? media.poster_media_url,
    video_height: '720',
    video_width: '1280',
  }
}
