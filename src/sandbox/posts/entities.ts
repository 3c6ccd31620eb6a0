/** Finds links, mentions, hashtags and annotations in the text of a post (spec 2.6). Pure. */
import { countCodePoints } from '../text.ts'
import { annotationsOf, type Annotation } from './annotations.ts'

/** Position in code points. `end` is exclusive. */
interface TextRange {
  readonly start: number
  readonly end: number
}

/** Entities of a post, as v2 shows them. */
export interface Entities {
  readonly urls?: readonly (TextRange & { readonly url: string; readonly expanded_url: string; readonly display_url: string })[]
  readonly mentions?: readonly (TextRange & { readonly username: string })[]
  readonly hashtags?: readonly (TextRange & { readonly tag: string })[]
  readonly annotations?: readonly Annotation[]
}

const LINK = /https?:\/\/\S+/g

/** Returns the entities of a text. A type without entities is absent. */
export function entitiesOf(text: string): Entities {
  const urls = findAll(text, LINK).map(({ value, start, end }) => ({
    start,
    end,
    url: value,
    expanded_url: value,
    display_url: value.replace(/^https?:\/\//, ''),
  }))
  // Replaces links by spaces, so that no mention or hashtag is found in them. One space for each code point keeps the positions.
  const plain = text.replaceAll(LINK, (url) => ' '.repeat(countCodePoints(url)))
  const mentions = findAll(plain, /(?<![\w@])@\w{1,15}/g).map(({ value, start, end }) => ({ start, end, username: value.slice(1) }))
  const hashtags = findAll(plain, /(?<![\w#&])#[\p{L}\p{N}_]+/gu).map(({ value, start, end }) => ({ start, end, tag: value.slice(1) }))
  const annotations = annotationsOf(text)
  return {
    ...(urls.length > 0 ? { urls } : {}),
    ...(mentions.length > 0 ? { mentions } : {}),
    ...(hashtags.length > 0 ? { hashtags } : {}),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

/** Returns true if the text mentions `@username`, ignoring case. */
export function mentionsUser(text: string, username: string): boolean {
  return (entitiesOf(text).mentions ?? []).some((mention) => mention.username.toLowerCase() === username.toLowerCase())
}

function findAll(text: string, pattern: RegExp): (TextRange & { readonly value: string })[] {
  return Array.from(text.matchAll(pattern), (match) => {
    const start = countCodePoints(text.slice(0, match.index))
    return { value: match[0], start, end: start + countCodePoints(match[0]) }
  })
}
