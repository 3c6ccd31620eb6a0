/** Handles the endpoints of poll cards and video conversation cards (spec 4.4). Poll cards cannot be changed (spec 3.3). */
import { endpointOf } from '../../service/contract/index.ts'
import { findRecord, recordHandlers, recordsOf, creationFields } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { hasFeature } from '../campaigns/features.ts'
import { givenFields, textParam } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter, missingParameter, ok, type AdsError } from '../refusal.ts'
import { countCodePoints } from '../text.ts'
import { isoSeconds } from '../timestamps.ts'
import { checkRules } from '../verify/rules.ts'
import { existingMedia, posterImage } from './media.ts'
import type { CreativesState, SpecialCard } from './state.ts'

/** Fields with the choices of a conversation card. Each choice also has a field `…_tweet` with the text of its post. */
const CTAS = ['first_cta', 'second_cta', 'third_cta', 'fourth_cta'] as const

/** Options of `recordHandlers` for both types of cards. */
const shared = { idParameter: 'card_id', notFoundCode: 'CARD_NOT_FOUND', filters: { card_ids: 'id' } } as const

export const specialCardHandlers: Readonly<Record<string, Handler<CreativesState>>> = {
  ...recordHandlers('pollCards', { ...shared, table: (state: CreativesState) => state.polls }),
  'pollCards.create': (call) => ok(createPoll(call)),
  ...recordHandlers('videoConversationCards', { ...shared, table: (state: CreativesState) => state.conversations }),
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
  const { media_key: mediaKey, ...fields } = givenFields(call)
  const image = typeof mediaKey === 'string' ? pollImage(call, mediaKey) : undefined
  const id = call.world.newId()
  const start = isoSeconds(call.now)
  const card: SpecialCard = {
    id,
    name: '',
    card_uri: `card://${id}`,
    card_type: image === undefined ? 'TEXT_POLLS' : 'IMAGE_POLLS',
    ...fields,
    start_time: start,
    end_time: isoSeconds(Date.parse(start) + Number(fields['duration_in_minutes']) * 60_000),
    ...(image === undefined ? {} : { media_key: mediaKey, media_url: image.media_url }),
    ...creationFields(call),
  }
  recordsOf(call, call.state.polls).set(id, card)
  return card
}

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

/** Returns the image of a poll. @throws {Refusal} without the account feature, or for an unknown or unsuitable image */
function pollImage(call: Call<CreativesState>, mediaKey: string): { readonly media_url: string } {
  if (!hasFeature(call, 'PROMOTED_MEDIA_POLLS'))
    throw adsRefusal('FEATURE_NOT_AVAILABLE', 'media polls need the account feature PROMOTED_MEDIA_POLLS', { parameter: 'media_key' })
  const media = existingMedia(call, mediaKey, 'media_key')
  // The width is not checked, because media of the sandbox have no width.
  if (media.media_type !== 'IMAGE' || media.aspect_ratio !== '1.91:1')
    throw adsRefusals([
      { ...invalidParameter('media_key', 'an image at least 800 px wide with aspect ratio 1.91:1', mediaKey), code: 'INVALID_IMAGE' },
    ])
  return media
}

/** Writes the given parameters into a video conversation card. @throws {Refusal} before it changes anything */
function changeConversation(call: Call<CreativesState>, card: SpecialCard): void {
  // A card stores neither the key of its poster nor the keys of the media that a vote unlocks (spec 2.4, 4.4).
  const { poster_media_key: _poster, unlocked_image_media_key: _image, unlocked_video_media_key: _video, ...fields } = givenFields(call)
  const next: Record<string, unknown> = { ...card, ...fields }
  const fieldsWithText = new Set(Object.keys(next).filter((name) => typeof next[name] === 'string' && next[name] !== ''))
  const errors: AdsError[] = []
  for (const cta of CTAS) {
    if (fieldsWithText.has(cta) && countCodePoints(String(next[cta]).replaceAll('#', '')) > 20)
      errors.push(invalidParameter(cta, 'at most 20 characters, not counting `#`', next[cta]))
    if (fieldsWithText.has(`${cta}_tweet`) && !fieldsWithText.has(cta))
      errors.push({ code: 'INCLUSIVE_PARAMETERS', message: `"${cta}_tweet" is only allowed with "${cta}"`, parameter: `${cta}_tweet` })
  }
  // The contract lists the rules for a new card. A changed card must satisfy them too.
  const creation = endpointOf('videoConversationCards.create')
  for (const { name, required, in: place } of creation.parameters)
    if (required === true && place === 'query' && !fieldsWithText.has(name)) errors.push(missingParameter(name))
  checkRules(creation, next, fieldsWithText, errors)
  if (errors.length > 0) throw adsRefusals(errors)
  // The URLs depend on the video and the poster. An update with neither a new video nor a poster keeps them.
  if (next['media_key'] !== card['media_key'] || call.givenNames.has('poster_media_key'))
    Object.assign(next, conversationMedia(call, String(next['media_key'])))
  Object.assign(card, next)
}

/** Returns the fields that a conversation card derives from its video and poster. @throws {Refusal} */
function conversationMedia(call: Call<CreativesState>, mediaKey: string): Record<string, string | null> {
  const media = existingMedia(call, mediaKey, 'media_key')
  if (media.media_type !== 'VIDEO' || media.aspect_ratio !== '16:9')
    throw adsRefusals([{ ...invalidParameter('media_key', 'a library video with aspect ratio 16:9', mediaKey), code: 'INVALID_MEDIA' }])
  const posterKey = textParam(call, 'poster_media_key')
  return {
    media_url: media.media_url,
    poster_media_url: posterKey === null ? media.poster_media_url : posterImage(call, posterKey).media_url,
    video_height: '720',
    video_width: '1280',
  }
}
