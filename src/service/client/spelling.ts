/**
 * Translates names of parameters, headers and JSON keys between the neutral words of the specification and the service's own spelling
 * (`SLUICE_SERVICE_NAMES`). Values are not changed.
 */

/** The service's names of parameters, headers and JSON keys, by the neutral word of the specification. */
export type Names = Readonly<Record<string, string>>

/** Translation of words in both directions. */
export interface Spelling {
  /** Returns the service's spelling of a parameter or header name; any other name unchanged. */
  readonly toService: (name: string) => string
  /** Returns a JSON text with the service's spelling of its keys; `body` itself if nothing changes. */
  readonly bodyToService: (body: Uint8Array) => Uint8Array
  /** Returns the neutral word for a header name or key of the service; any other name unchanged. */
  readonly toNeutral: (name: string) => string
  /** False if no word is spelled differently. */
  readonly changesNames: boolean
}

/** Creates the translation. Without names it changes nothing. */
export function createSpelling(names: Names = {}): Spelling {
  const pairs = Object.entries(names).filter(([neutral, serviceName]) => neutral !== serviceName)
  if (pairs.length === 0)
    return { toService: (name) => name, bodyToService: (body) => body, toNeutral: (name) => name, changesNames: false }
  const serviceNames = new Map(pairs)
  const neutralWords = new Map(pairs.map(([neutral, serviceName]) => [serviceName, neutral]))
  const neutralPattern = pairs.map(([neutral]) => neutral.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')
  // JSON escapes quotes inside a text. So a quoted word before a colon is a key, unless a backslash escapes its first quote.
  const keyPattern = new RegExp(String.raw`(?<!\\)"(${neutralPattern})"(?=\s*:)`, 'g')
  return {
    toService: (name) => serviceNames.get(name) ?? name,
    toNeutral: (name) => neutralWords.get(name) ?? name,
    bodyToService(body) {
      // latin1 maps each byte to one character, so bytes beyond ASCII do not change.
      const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
      const spelled = text.replace(keyPattern, (_match, word: string) => JSON.stringify(serviceNames.get(word)))
      return spelled === text ? body : Buffer.from(spelled, 'latin1')
    },
    changesNames: true,
  }
}
