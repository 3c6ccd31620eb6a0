import type { Dispatcher } from 'undici'

/** What the head of an answer says of its body. Pure; nothing is read. */

/** Codings that the readers behind do not unpack. A list of what is known: servers also write `utf-8` and `none` here. */
const unreadableCodings = /\b(br|deflate|(x-)?compress|dcb|dcz)\b/i

export function isReadableCoding(coding: string): boolean {
  return !unreadableCodings.test(coding)
}

export function header(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Declared length of the body in bytes; undefined where none is declared or it is no number. */
export function declaredLength(answer: Dispatcher.ResponseData): number | undefined {
  const length = header(answer, 'content-length')
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined
}

/**
 * Whether the end of the body is marked by its last chunk. Only where `chunked` is the last of all codings; else the body
 * ends with the connection, and has the chunks' own lines in it. Source: RFC 9112 section 6.3.
 */
export function isChunked(answer: Dispatcher.ResponseData): boolean {
  return /(^|[,\s])chunked\s*$/i.test([answer.headers['transfer-encoding'] ?? ''].flat().join(','))
}

/** Where a part begins, and how long the whole is if the server knows; undefined where the answer does not say. */
export function contentRange(answer: Dispatcher.ResponseData): { readonly from: number; readonly total: number | undefined } | undefined {
  const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(answer, 'content-range') ?? '') ?? []
  return from === undefined ? undefined : { from: Number(from), total: total === '*' ? undefined : Number(total) }
}

/**
 * What promises the same bytes, so that a later part may be joined to this one: a strong tag, or without any tag a
 * change at least a second before the answer, because times are whole seconds. Source: RFC 9110 sections 13.1.5, 8.8.2.2.
 */
export function strongValidator(
  answer: Dispatcher.ResponseData,
): { readonly header: 'etag' | 'last-modified'; readonly value: string } | undefined {
  const etag = header(answer, 'etag')
  if (etag !== undefined) return etag.startsWith('W/') ? undefined : { header: 'etag', value: etag }
  const value = header(answer, 'last-modified')
  if (value === undefined) return undefined
  const age = Date.parse(header(answer, 'date') ?? '') - Date.parse(value)
  return age >= 1_000 ? { header: 'last-modified', value } : undefined
}

/**
 * Whether two answers show different feeds: by length, tag or time of change, where both have one. A time that is that of
 * the answer itself is made up for each answer and shows nothing.
 */
export function showsAnother(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  if (showsAnotherLength(one, other)) return true
  const [tag, otherTag] = [header(one, 'etag'), header(other, 'etag')]
  if (tag !== undefined && otherTag !== undefined) return tag.replace(/^W\//, '') !== otherTag.replace(/^W\//, '')
  const [time, otherTime] = [header(one, 'last-modified'), header(other, 'last-modified')]
  if (time === undefined || otherTime === undefined || time === otherTime) return false
  return Date.parse(header(other, 'date') ?? '') - Date.parse(otherTime) >= 2_000
}

/** Whether two answers have two lengths. None is 0 for a head without a body, as some programs say of every one. */
export function showsAnotherLength(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  const [length, otherLength] = [declaredLength(one) || undefined, declaredLength(other) || undefined]
  return length !== undefined && otherLength !== undefined && length !== otherLength
}

/** Whether a web page is shown where something else was before. */
export function showsPage(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  const isPage = (answer: Dispatcher.ResponseData) => /html/i.test(header(answer, 'content-type') ?? '')
  return !isPage(one) && isPage(other)
}

export interface DeclaredDigest {
  readonly algorithm: 'sha256' | 'sha512' | 'md5'
  readonly expected: Buffer
}

const digestBytes = { sha256: 32, sha512: 64, md5: 16 } as const

/**
 * Whole-entity digests: Repr-Digest (RFC 9530), Content-Digest on a whole answer, the older Digest, Content-MD5. What has
 * not the length of its algorithm is no digest, and says nothing.
 */
export function declaredDigests(answer: Dispatcher.ResponseData): readonly DeclaredDigest[] {
  const found: DeclaredDigest[] = []
  const add = (algorithm: DeclaredDigest['algorithm'], base64: string | undefined) => {
    const expected = Buffer.from(base64 ?? '', 'base64')
    if (expected.length === digestBytes[algorithm]) found.push({ algorithm, expected })
  }
  for (const name of ['repr-digest', 'content-digest']) {
    for (const match of (header(answer, name) ?? '').matchAll(/(sha-256|sha-512)=:([A-Za-z0-9+/=]+):/g))
      add(match[1] === 'sha-256' ? 'sha256' : 'sha512', match[2])
  }
  for (const match of (header(answer, 'digest') ?? '').matchAll(/(sha-256|sha-512)=([A-Za-z0-9+/=]+)/gi))
    add(match[1]?.toLowerCase() === 'sha-256' ? 'sha256' : 'sha512', match[2])
  add('md5', header(answer, 'content-md5'))
  return found
}

/**
 * Wait that Retry-After asks for, in seconds or as a date, in milliseconds; undefined where it is missing or unreadable.
 * A date counts from the server's own clock where the answer names it. Source: RFC 9110 section 10.2.3.
 */
export function retryAfterMs(answer: Dispatcher.ResponseData, now: () => number = Date.now): number | undefined {
  const asked = header(answer, 'retry-after')
  if (asked === undefined) return undefined
  if (/^\d+$/.test(asked)) return Number(asked) * 1000
  const date = header(answer, 'date')
  const ms = Date.parse(asked) - (date === undefined ? now() : Date.parse(date))
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
