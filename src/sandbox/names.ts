/**
 * Translates between the neutral words of the specification and the service's own names (`SLUICE_SERVICE_NAMES`). The sandbox accepts
 * parameter names and JSON keys in both forms. The header with the signature of webhook events has the service's own name.
 */

/** Translation in both directions. */
export interface Names {
  /** True if at least one word has another name at the service. */
  readonly active: boolean
  /** Returns the neutral word for a name of the service. Returns any other name unchanged. */
  readonly neutral: (name: string) => string
  /** Returns the service's own name for a neutral word. Returns any other name unchanged. */
  readonly own: (name: string) => string
  /** Returns a copy of a parsed body with neutral keys. If `active` is false, returns the body itself. */
  readonly neutralBody: (body: unknown) => unknown
}

/** Creates the translation. `ownNames`: the service's own name of each neutral word. */
export function namesOf(ownNames: Readonly<Record<string, string>> = {}): Names {
  const pairs = Object.entries(ownNames).filter(([neutral, own]) => neutral !== own)
  if (pairs.length === 0) return { active: false, neutral: (name) => name, own: (name) => name, neutralBody: (body) => body }
  const neutralByOwn = new Map(pairs.map(([neutral, own]) => [own, neutral]))
  const ownByNeutral = new Map(pairs)
  const neutral = (name: string): string => neutralByOwn.get(name) ?? name
  const neutralBody = (body: unknown): unknown => {
    if (Array.isArray(body)) return body.map(neutralBody)
    if (typeof body !== 'object' || body === null) return body
    return Object.fromEntries(Object.entries(body).map(([key, value]) => [neutral(key), neutralBody(value)]))
  }
  return { active: true, neutral, own: (name) => ownByNeutral.get(name) ?? name, neutralBody }
}
