/** Decodes answers. Whole numbers beyond 2^53 become bigint (docs/spec-notes.md#echoes-and-cursors). */
import { gunzipSync } from 'node:zlib'
import { decodePairs } from './encode.ts'
import type { Answer } from './exchange.ts'
import type { Spelling } from './spelling.ts'

/** Decoded body of an answer. */
export type Decoded =
  | { readonly kind: 'json'; readonly value: unknown }
  /** HTML or XML page, probably of a gateway. */
  | { readonly kind: 'html' }
  /** Form-encoded answer of a sign-in endpoint, plain text, invalid JSON, or an empty body. */
  | { readonly kind: 'text'; readonly value: string }

/** Decodes the body of an answer by its content. `spelling`: renames the keys to neutral words. */
export function decodeAnswer(answer: Answer, spelling?: Spelling): Decoded {
  const text = answer.body.toString('utf8').replace(/^\uFEFF/, '')
  const start = text.trimStart()
  if (/^<(?:!doctype|html|head|body|\?xml)/i.test(start)) return { kind: 'html' }
  // The first character decides, because the service also sends JSON as text/plain.
  if (!/^[[{"\dtfn-]/.test(start)) return { kind: 'text', value: text }
  try {
    const value = parseExact(text)
    return { kind: 'json', value: spelling?.changesNames === true ? renameKeys(value, spelling) : value }
  } catch {
    return { kind: 'text', value: text }
  }
}

/** Largest content of a gzip file, in bytes, so that a small answer cannot fill the memory. */
const maxContentBytes = 128 * 1024 * 1024

/**
 * Returns the answer with the content of its gzip file. Returns it unchanged if the body is not a gzip file or its content is too large.
 */
export function decompress(answer: Answer): Answer {
  try {
    return { ...answer, body: gunzipSync(answer.body, { maxOutputLength: maxContentBytes }) }
  } catch {
    return answer
  }
}

/** Parses JSON as `JSON.parse` does, but whole numbers beyond 2^53 become bigint. @throws {SyntaxError} */
export function parseExact(text: string): unknown {
  // Only numbers of 16 digits or more can need bigint. Texts without such a number are parsed faster without a reviver.
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  return JSON.parse(text, exactNumber)
}

/**
 * Converts a value to JSON as `JSON.stringify` does, but writes bigint with exact digits. `convert` returns the value to write for a key
 * and its given value. `plain` is the result of the value's `toJSON` if it has that method, else the value.
 */
export function stringifyExact(value: unknown, convert?: (key: string, given: unknown, plain: unknown) => unknown): string {
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, plain: unknown) {
    const item = convert === undefined ? plain : convert(key, this[key], plain)
    return typeof item === 'bigint' ? JSON.rawJSON(String(item)) : item
  })
}

/** Decodes the fields of a form-encoded answer (`oauth_token=…&oauth_token_secret=…`). */
export function decodeForm(text: string): Record<string, string> {
  return Object.fromEntries(decodePairs(text.trim()))
}

/** Reviver that returns bigint for unsafe integers. `context.source`: text of the number. */
function exactNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context.source === undefined) return value
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value
}

/** Returns the value with neutral words as keys, at any depth. */
function renameKeys(value: unknown, spelling: Spelling): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => renameKeys(item, spelling))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spelling.toNeutral(key), renameKeys(item, spelling)]))
}
