/** Bytes of an answer → a value. Whole numbers beyond 2^53 become bigint, never rounded (docs/spec-notes.md#echoes-and-cursors 'int64'). */
import { decodePairs } from './encode.ts'
import type { Answer } from './exchange.ts'
import type { Spelling } from './names.ts'

export type Decoded =
  | { readonly kind: 'json'; readonly value: unknown }
  /** A page of a gateway; statuses decide what it means. */
  | { readonly kind: 'html' }
  /** Form-encoded answers of the sign-in endpoints, plain texts, and nothing. */
  | { readonly kind: 'text'; readonly value: string }

export function decodeAnswer(answer: Answer, spelling?: Spelling): Decoded {
  const text = answer.body.toString('utf8').replace(/^\uFEFF/, '')
  const start = text.trimStart()
  if (/^<(?:!doctype|html|head|body|\?xml)/i.test(start)) return { kind: 'html' }
  // By its first character, not by its type: real answers come as text/plain too, and pages come as JSON's type never.
  if (!/^[[{"\dtfn-]/.test(start)) return { kind: 'text', value: text }
  try {
    const value = parseExact(text)
    return { kind: 'json', value: spelling?.active === true ? renameKeys(value, spelling) : value }
  } catch {
    return { kind: 'text', value: text }
  }
}

/** `JSON.parse`, exact for whole numbers of any size. Throws SyntaxError as it does. */
export function parseExact(text: string): unknown {
  // A number that a double cannot hold has 16 digits or more; without such a run the plain parser is exact and faster.
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown
  return JSON.parse(text, exactNumber as (key: string, value: unknown) => unknown) as unknown
}

/** `JSON.stringify` that prints bigint as the digits it has. */
export function stringifyExact(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? rawJson(item) : item))
}

/** Fields of a form-encoded answer (`oauth_token=…&oauth_token_secret=…`). */
export function decodeForm(text: string): Record<string, string> {
  return Object.fromEntries(decodePairs(text.trim()))
}

/** The third argument is the source text (ECMAScript proposal-json-parse-with-source, in V8 since 11.4). */
function exactNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context.source === undefined) return value
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value
}

function rawJson(value: bigint): unknown {
  // In V8 since 11.4; TypeScript's library does not name it yet.
  return (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(value.toString())
}

function renameKeys(value: unknown, spelling: Spelling): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => renameKeys(item, spelling))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [spelling.in(key), renameKeys(item, spelling)]))
}
