/** Derives the type of media from their keys, and creates objects of the media library (spec 2.4, 4.4). */
import type { MediaObject } from './state.ts'

/** Properties of all media with the same key prefix. The sandbox has no uploads, so the prefix decides the properties. */
interface MediaKind {
  readonly type: MediaObject['media_type']
  readonly category: string
  readonly ratio: string
  /** Milliseconds; null for images. */
  readonly duration: number | null
}

/** Kinds by the part of a media key before `_`. */
const kindByPrefix: Readonly<Record<string, MediaKind>> = {
  3: { type: 'IMAGE', category: 'TWEET_IMAGE', ratio: '1.91:1', duration: null },
  16: { type: 'GIF', category: 'TWEET_GIF', ratio: '16:9', duration: 4000 },
  7: { type: 'VIDEO', category: 'TWEET_VIDEO', ratio: '16:9', duration: 15_000 },
  13: { type: 'VIDEO', category: 'AMPLIFY_VIDEO', ratio: '16:9', duration: 20_000 },
}

/** Returns the properties of media, by the prefix of the media key. Undefined for a text that is not a media key. */
export function mediaKind(mediaKey: string): MediaKind | undefined {
  const match = /^(\d{1,2})_\d{1,19}$/.exec(mediaKey)
  return match === null ? undefined : kindByPrefix[match[1] ?? '']
}

/**
 * Returns a new library object for a media key; undefined for a text that is not a media key. Every media key counts as uploaded. `at`:
 * time of creation, ISO 8601.
 */
export function newMediaObject(mediaKey: string, at: string): MediaObject | undefined {
  const kind = mediaKind(mediaKey)
  if (kind === undefined) return undefined
  const isMoving = kind.type !== 'IMAGE'
  return {
    media_key: mediaKey,
    media_type: kind.type,
    media_category: kind.category,
    media_status: 'TRANSCODE_COMPLETED',
    media_url: `https://media.example.com/${mediaKey}.${isMoving ? 'mp4' : 'png'}`,
    name: null,
    file_name: null,
    title: null,
    description: null,
    duration: kind.duration,
    poster_media_url: isMoving ? `https://media.example.com/${mediaKey}-poster.png` : null,
    poster_media_key: null,
    aspect_ratio: kind.ratio,
    tweeted: false,
    created_at: at,
    updated_at: at,
    deleted: false,
  }
}
