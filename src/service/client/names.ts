/**
 * The neutral words of the specification and the service's own spelling of them (`SLUICE_SERVICE_NAMES`).
 * Applied at the edge only: to parameter names, header names and JSON keys. Values are never touched.
 */

export type Names = Readonly<Record<string, string>>

export interface Spelling {
  /** A parameter or header name, on its way out. */
  readonly out: (name: string) => string
  /** Keys of a JSON text on its way out; the same bytes where nothing is to be spelled otherwise. */
  readonly bodyOut: (body: Uint8Array) => Uint8Array
  /** A header or key name, on its way in. */
  readonly in: (name: string) => string
  /** False: every word stays as it is. */
  readonly active: boolean
}

export function createSpelling(names: Names = {}): Spelling {
  const pairs = Object.entries(names).filter(([neutral, real]) => neutral !== real)
  if (pairs.length === 0) return { out: (name) => name, bodyOut: (body) => body, in: (name) => name, active: false }
  const outward = new Map(pairs)
  const inward = new Map(pairs.map(([neutral, real]) => [real, neutral]))
  const keys = pairs.map(([neutral]) => neutral.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')
  // A quote inside a text is written \", so a bare quoted word before a colon is a key and nothing else.
  const key = new RegExp(String.raw`(?<!\\)"(${keys})"(?=\s*:)`, 'g')
  return {
    out: (name) => outward.get(name) ?? name,
    in: (name) => inward.get(name) ?? name,
    bodyOut(body) {
      // latin1 keeps every byte: UTF-8 beyond ASCII passes through untouched.
      const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
      const spelled = text.replace(key, (_match, word: string) => JSON.stringify(outward.get(word)))
      return spelled === text ? body : Buffer.from(spelled, 'latin1')
    },
    active: true,
  }
}
