import type { Dispatcher } from 'undici'

/** Reads facts about a body from the head of its response. Pure. */

/**
 * Content codings that the readers cannot decompress. Any other value is accepted, because some servers write `utf-8` or `none` in this
 * header.
 */
const unreadableCodings = /\b(br|deflate|(x-)?compress|dcb|dcz)\b/i

/** Returns false if the value of `Content-Encoding` names a coding that the readers cannot decompress. */
export function isReadableCoding(coding: string): boolean {
  return !unreadableCodings.test(coding)
}

/** Returns the value of a header by its name in lower case; of a repeated header, the first value. Undefined if it is missing. */
export function header(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Returns the headers, with names in lower case as undici provides them. Of a repeated header, returns the first value. */
export function firstHeaders(answer: Dispatcher.ResponseData): Record<string, string> {
  return Object.fromEntries(Object.keys(answer.headers).map((name) => [name, header(answer, name) ?? '']))
}

/** Returns the declared length of the body in bytes; undefined if it is missing or not a number. */
export function declaredLength(answer: Dispatcher.ResponseData): number | undefined {
  const length = header(answer, 'content-length')
  return length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined
}

/**
 * Returns true if `chunked` is the last transfer coding, so that the last chunk marks the end of the body. Source: RFC 9112 section 6.3.
 */
export function isChunked(answer: Dispatcher.ResponseData): boolean {
  return /(^|[,\s])chunked\s*$/i.test([answer.headers['transfer-encoding'] ?? ''].flat().join(','))
}

/** Returns the first byte of a part, and the length of the whole if the server declares it. Undefined without a valid Content-Range. */
export function contentRange(answer: Dispatcher.ResponseData): { readonly from: number; readonly total: number | undefined } | undefined {
  const [, from, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header(answer, 'content-range') ?? '') ?? []
  return from === undefined ? undefined : { from: Number(from), total: total === '*' ? undefined : Number(total) }
}

/**
 * Returns a validator that guarantees the same bytes, so that a later part can be appended (RFC 9110 sections 13.1.5, 8.8.2.2):
 * - with an ETag: the ETag, if it is strong
 * - without an ETag: Last-Modified, if it is at least one second before the response. The header has whole seconds,
 *   so two changes within one second have the same time.
 *
 * Returns undefined if there is no such validator.
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
 * Returns true if two responses have different lengths or ETags; without ETags, different times of change. A value that only one response
 * has is not compared. A time of change less than two seconds before the second response is ignored, because some servers generate it for
 * each response.
 */
export function isAnotherVersion(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  if (hasAnotherLength(one, other)) return true
  const [tag, otherTag] = [header(one, 'etag'), header(other, 'etag')]
  if (tag !== undefined && otherTag !== undefined) return tag.replace(/^W\//, '') !== otherTag.replace(/^W\//, '')
  const [time, otherTime] = [header(one, 'last-modified'), header(other, 'last-modified')]
  if (time === undefined || otherTime === undefined || time === otherTime) return false
  return Date.parse(header(other, 'date') ?? '') - Date.parse(otherTime) >= 2_000
}

/**
 * Returns true if two responses have different lengths. A length of 0 is ignored, because some servers send it in every response to
 * HEAD.
 */
export function hasAnotherLength(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  const [length, otherLength] = [declaredLength(one) || undefined, declaredLength(other) || undefined]
  return length !== undefined && otherLength !== undefined && length !== otherLength
}

/** Returns true if `other` is a web page and `one` is not. */
export function isPageInstead(one: Dispatcher.ResponseData, other: Dispatcher.ResponseData): boolean {
  const isPage = (answer: Dispatcher.ResponseData) => /html/i.test(header(answer, 'content-type') ?? '')
  return !isPage(one) && isPage(other)
}

/** Digest of the whole feed that a server declared. */
export interface DeclaredDigest {
  readonly algorithm: 'sha256' | 'sha512' | 'md5'
  readonly expected: Buffer
}

const digestBytes = { sha256: 32, sha512: 64, md5: 16 } as const

/**
 * Returns the digests of the whole feed: Repr-Digest (RFC 9530), Content-Digest of a whole response, the older Digest, Content-MD5.
 * Ignores digests of a wrong length.
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
