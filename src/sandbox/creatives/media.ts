/** Handles the endpoints of account media and the media library (spec 2.4, 4.4, 3.3). */
import { findRecord, markDeleted, recordHandlers, recordsOf } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { listReply, matchesTerms } from '../lists.ts'
import { isProcessed } from '../processing.ts'
import { adsRefusal, adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { newMediaObject } from './mediaKeys.ts'
import type { CreativesState, MediaObject } from './state.ts'

/** Parameters that are refused for images and GIFs. */
const VIDEO_ONLY = ['description', 'poster_media_key', 'title'] as const

export const mediaHandlers: Readonly<Record<string, Handler<CreativesState>>> = {
  ...recordHandlers('accountMedia', {
    table: (state: CreativesState) => state.accountMedia,
    idParameter: 'account_media_id',
    notFoundCode: 'ACCOUNT_MEDIA_NOT_FOUND',
    filters: { account_media_ids: 'id', creative_types: 'creative_type' },
  }),

  'mediaLibrary.list': (call) => {
    const type = call.params['media_type']
    const objects = [...recordsOf(call, call.state.media).values()].filter(
      (media) =>
        (type === undefined || media.media_type === type) &&
        matchesTerms([media.name, media.title, media.file_name, media.description], call.params['q']),
    )
    return listReply(call, objects, { idOf: (media) => media.media_key, render: (media) => mediaWire(call, media) })
  },
  'mediaLibrary.get': (call) => ok(mediaWire(call, findRecord(call, call.state.media, 'media_key', 'MEDIA_NOT_FOUND'))),
  'mediaLibrary.create': (call) => {
    const key = String(call.params['media_key'])
    const library = recordsOf(call, call.state.media)
    if (library.get(key)?.deleted === false) throw adsRefusals([invalidParameter('media_key', 'media that is not in the library yet', key)])
    const media = newMediaObject(key, isoSeconds(call.now))
    if (media === undefined)
      throw adsRefusals([
        { ...invalidParameter('media_key', 'a media key of an upload with a media category', key), code: 'INVALID_MEDIA_ID' },
      ])
    changeMedia(call, media)
    library.set(key, media)
    if (media.media_category === 'AMPLIFY_VIDEO') addPreroll(call, media)
    return ok(mediaWire(call, media))
  },
  'mediaLibrary.update': (call) => {
    const media = findRecord(call, call.state.media, 'media_key', 'MEDIA_NOT_FOUND')
    changeMedia(call, media)
    media.updated_at = isoSeconds(call.now)
    return ok(mediaWire(call, media))
  },
  'mediaLibrary.delete': (call) => {
    const media = markDeleted(call, findRecord(call, call.state.media, 'media_key', 'MEDIA_NOT_FOUND'))
    return ok(mediaWire(call, media))
  },
}

/** Returns the media in wire form. Until the media is processed, its status is `TRANSCODE_IN_PROGRESS` (assumed). */
function mediaWire(call: Call<CreativesState>, media: MediaObject): MediaObject {
  return isProcessed(call.world, 'media', Date.parse(media.created_at)) ? media : { ...media, media_status: 'TRANSCODE_IN_PROGRESS' }
}

/** Returns the media with a key from the account's library; undefined if the library does not contain it, or it is deleted. */
function libraryMedia(call: Call<CreativesState>, mediaKey: string): MediaObject | undefined {
  const media = recordsOf(call, call.state.media).get(mediaKey)
  return media?.deleted === false ? media : undefined
}

/** Returns the media with a key from the account's library. `parameter`: place of the key in the request. @throws {Refusal} 404 */
export function existingMedia(call: Call<CreativesState>, mediaKey: string, parameter: string): MediaObject {
  const media = libraryMedia(call, mediaKey)
  if (media !== undefined) return media
  throw adsRefusal('MEDIA_NOT_FOUND', `media ${mediaKey} is not in the media library`, { parameter, value: mediaKey })
}

/** Returns the image that `poster_media_key` names. @throws {Refusal} if the account's library does not contain such an image */
export function posterImage(call: Call<CreativesState>, mediaKey: string): MediaObject {
  const image = libraryMedia(call, mediaKey)
  if (image?.media_type === 'IMAGE') return image
  throw adsRefusal('INVALID_IMAGE', `Expected an image of the media library, got "${mediaKey}" for poster_media_key`, {
    parameter: 'poster_media_key',
    value: mediaKey,
  })
}

/** Writes the given parameters into the media. @throws {Refusal} before it changes anything */
function changeMedia(call: Call<CreativesState>, media: MediaObject): void {
  if (media.media_type !== 'VIDEO') {
    const wrong = VIDEO_ONLY.filter((name) => typeof call.params[name] === 'string')
    if (wrong.length > 0)
      throw adsRefusals(wrong.map((name) => invalidParameter(name, 'no value: it is for video only', call.params[name], 'video only')))
  }
  const poster = call.params['poster_media_key']
  if (typeof poster === 'string') {
    media.poster_media_url = posterImage(call, poster).media_url
    media.poster_media_key = poster
  } else if (poster === null && media.media_type !== 'IMAGE') {
    media.poster_media_key = null
    media.poster_media_url = `https://media.example.com/${media.media_key}-poster.png`
  }
  for (const name of ['description', 'file_name', 'name', 'title'] as const) {
    const value = call.params[name]
    if (typeof value === 'string' || value === null) media[name] = value
  }
}

/** Adds a library video to the account media as PREROLL (spec 3.3). Does not add it twice. */
function addPreroll(call: Call<CreativesState>, media: MediaObject): void {
  const accountMedia = recordsOf(call, call.state.accountMedia)
  if ([...accountMedia.values()].some((one) => one.video_id === media.media_key && !one.deleted)) return
  const id = call.world.newShortId()
  accountMedia.set(id, {
    id,
    video_id: media.media_key,
    media_url: media.media_url,
    creative_type: 'PREROLL',
    created_at: media.created_at,
    updated_at: media.updated_at,
    deleted: false,
  })
}
