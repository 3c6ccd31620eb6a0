/** Parses responses of the service strictly: whole, exact, without duplicate keys. */
import { isInteger, parse as parseLossless } from 'lossless-json'

/** Maximum size of a response. The largest expected response (2,500 results and their echo) is under 1 MB. */
export const maxAnswerBytes = 8 * 1024 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Number that `JSON.parse` may round. */
const longNumber = /[:,[-]\d{16}/

export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined }
export type JsonObject = { readonly [key: string]: Json | undefined }

/**
 * Parses a body. Returns undefined for a body that is no evidence: not UTF-8, a byte order mark, not one JSON value, a duplicate
 * key, a `__proto__`, too deep, too large. Integers beyond 2^53 are bigint, never rounded (docs/spec-notes.md#echoes-and-cursors).
 * `JSON.parse` reads texts without long numbers that `JSON.stringify` writes back unchanged, so no key is repeated. A slower, exact parser
 * reads the others (7 ms instead of 2 ms for 2,500 results with their echo).
 */
export function parseAnswer(body: Uint8Array): Json | undefined {
  if (body.length === 0 || body.length > maxAnswerBytes) return undefined
  try {
    const text = utf8.decode(body)
    if (text.includes('__proto__')) return undefined
    const value = JSON.parse(text) as Json // all that JSON.parse makes
    if (!longNumber.test(text) && JSON.stringify(value) === text) return value
    return parseLossless(text, undefined, exactNumber) as Json // numbers by exactNumber, so no class of the library
  } catch {
    // Any error of the parser (syntax, depth, duplicate key) means no evidence.
    return undefined
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** Returns an id, key or cursor as text: every digit of a number. Undefined for the empty text, which means unset, and other values. */
export function readId(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : undefined
}

/**
 * Returns the cursor of the next page of a listing; null on the last page, also if that page has no cursor or an empty one. Returns
 * undefined for any other value, because such a page does not prove that it is the last one.
 */
export function readCursor(body: JsonObject): string | null | undefined {
  const cursor = body['next_cursor'] ?? null
  return cursor === null || cursor === '' ? null : readId(cursor)
}

/**
 * Returns an integer ≥ 0 that is written as a JSON number. Returns undefined for other values: texts, null and fractions are not counts
 * (docs/guarantees.md#counts-are-evidence).
 */
export function asCount(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function exactNumber(text: string): number | bigint {
  const number = Number(text)
  return isInteger(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
}
