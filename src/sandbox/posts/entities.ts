/** Mentions in a post's text, with places counted in code points (spec 2.6 entities). Pure. */

import { annotationsOf, type Annotation } from './annotations.ts'

interface Place {
  readonly start: number
  readonly end: number
}

export interface Entities {
  readonly urls?: readonly (Place & { readonly url: string; readonly expanded_url: string; readonly display_url: string })[]
  readonly mentions?: readonly (Place & { readonly username: string })[]
  readonly hashtags?: readonly (Place & { readonly tag: string })[]
  readonly annotations?: readonly Annotation[]
}

/** Kinds that do not occur are absent. */
export function entitiesOf(text: string): Entities {
  const urls = matches(text, /https?:\/\/\S+/g).map(({ value, start, end }) => ({
    start,
    end,
    url: value,
    expanded_url: value,
    display_url: value.replace(/^https?:\/\//, ''),
  }))
  const mentions = matches(text, /(?<![\w@])@\w{1,15}/g).map(({ value, start, end }) => ({ start, end, username: value.slice(1) }))
  const hashtags = matches(text, /(?<![\w#&])#[\p{L}\p{N}_]+/gu).map(({ value, start, end }) => ({ start, end, tag: value.slice(1) }))
  const annotations = annotationsOf(text)
  return {
    ...(urls.length > 0 ? { urls } : {}),
    ...(mentions.length > 0 ? { mentions } : {}),
    ...(hashtags.length > 0 ? { hashtags } : {}),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

/** Returns true if the text names the user, which summons a replier (spec 9). */
export function mentionsUser(text: string, username: string): boolean {
  return (entitiesOf(text).mentions ?? []).some((mention) => mention.username.toLowerCase() === username.toLowerCase())
}

function matches(text: string, pattern: RegExp): (Place & { readonly value: string })[] {
  return Array.from(text.matchAll(pattern), (match) => {
    const start = Array.from(text.slice(0, match.index)).length
    return { value: match[0], start, end: start + [...match[0]].length }
  })
}
