/**
 * Translates between the neutral words of the specification and the service's own names (`SLUICE_SERVICE_NAMES`). The sandbox accepts
 * parameter names and JSON keys in both forms. The header with the signature of webhook events has the service's own name.
 */

/** Translation in both directions. */
export interface Names {
  /** True if at least one word has another name at the service. */
  readonly isActive: boolean
  /** Returns the neutral word for a name of the service. Returns any other name unchanged. */
  readonly toNeutral: (name: string) => string
  /** Returns the service's own name for a neutral word. Returns any other name unchanged. */
  readonly toOwn: (name: string) => string
  /** Returns a copy of a parsed body with neutral keys. If `isActive` is false, returns the body itself. */
  readonly withNeutralKeys: (body: unknown) => unknown
}

/** Creates the translation. `ownNames`: the service's own name of each neutral word. */
export function namesOf(ownNames: Readonly<Record<string, string>> = {}): Names {
  const pairs = Object.entries(ownNames).filter(([neutral, own]) => neutral !== own)
  if (pairs.length === 0) return { isActive: false, toNeutral: (name) => name, toOwn: (name) => name, withNeutralKeys: (body) => body }
  const neutralByOwn = new Map(pairs.map(([neutral, own]) => [own, neutral]))
  const ownByNeutral = new Map(pairs)
  const toNeutral = (name: string): string => neutralByOwn.get(name) ?? name
  const withNeutralKeys = (body: unknown): unknown => {
    if (Array.isArray(body)) return body.map(withNeutralKeys)
    if (typeof body !== 'object' || body === null) return body
    return Object.fromEntries(Object.entries(body).map(([key, value]) => [toNeutral(key), withNeutralKeys(value)]))
  }
  return { isActive: true, toNeutral, toOwn: (name) => ownByNeutral.get(name) ?? name, withNeutralKeys }
}
