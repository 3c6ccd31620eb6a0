/** Parses responses of the service strictly, and reads ids, cursors and counts from them. */
import { createRequire } from 'node:module'
import type * as losslessJson from 'lossless-json'

/** Maximum size of a response. The largest expected response (2,500 results and an echo of the request) is under 1 MB. */
export const maxAnswerBytes = 8 * 1024 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Finds numbers of 16 digits or more, which `JSON.parse` may round. */
const longNumber = /[:,[-]\d{16}/

let library: typeof losslessJson | undefined

/** Returns the exact parser. Loaded at the first call, because few answers need it. */
function losslessParser(): typeof losslessJson {
  return (library ??= createRequire(import.meta.url)('lossless-json') as typeof losslessJson)
}

/** JSON value, with integers beyond 2^53 as bigint. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined }
export type JsonObject = { readonly [key: string]: Json | undefined }

/**
 * Parses a body. Integers beyond 2^53 are bigint, never rounded (docs/spec-notes.md#echoes-and-cursors). Returns undefined for a body that
 * is no evidence:
 * - empty, or larger than `maxAnswerBytes`
 * - not UTF-8, or with a byte order mark
 * - not one JSON value, or too deep
 * - with a duplicate key, or with `__proto__`
 *
 * The result of `JSON.parse` is returned if the text has no long numbers, and `JSON.stringify` returns the same text. Such a text has no
 * duplicate key. A slower, exact parser reads all other texts (7 ms instead of 2 ms for 2,500 results with an echo of the request).
 */
export function parseAnswer(body: Uint8Array): Json | undefined {
  if (body.length === 0 || body.length > maxAnswerBytes) return undefined
  let text: string
  try {
    text = utf8.decode(body)
    if (text.includes('__proto__')) return undefined
    const value = JSON.parse(text) as Json
    if (!longNumber.test(text) && JSON.stringify(value) === text) return value
  } catch {
    return undefined
  }
  const { parse } = losslessParser()
  try {
    return parse(text, undefined, exactNumber) as Json
  } catch {
    // Syntax, depth or duplicate key.
    return undefined
  }
}

/** Returns true for an object that is not a list. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/**
 * Returns an id, key or cursor as text, with all digits of a number. Returns undefined for
 * - the empty text, which means unset
 * - a text that Postgres cannot store unchanged: with the character 0, or half of a surrogate pair
 * - a value that is not a text or an integer
 */
export function readId(value: Json | undefined): string | undefined {
  if (typeof value === 'string') return value === '' || value.includes('\0') || !value.isWellFormed() ? undefined : value
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : undefined
}

/**
 * Returns the cursor of the next page of a listing:
 * - null for the last page: `next_cursor` is missing, null or an empty text.
 * - undefined for any other value that is not a cursor, because it does not prove that the page is the last one.
 */
export function readCursor(body: JsonObject): string | null | undefined {
  const cursor = body['next_cursor'] ?? null
  return cursor === null || cursor === '' ? null : readId(cursor)
}

/**
 * Returns an integer ≥ 0 that is written as a JSON number. Returns undefined for other values: texts, null and fractions are not counts
 * (docs/guarantees.md#counts-are-evidence).
 */
export function readCount(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** Returns a number, or a bigint for an integer that a number cannot represent exactly. */
function exactNumber(text: string): number | bigint {
  const number = Number(text)
  return losslessParser().isInteger(text) && !Number.isSafeInteger(number) ? BigInt(text) : number
}
