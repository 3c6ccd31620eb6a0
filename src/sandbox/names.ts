/**
 * The service's own spelling of the neutral words (`SLUICE_SERVICE_NAMES`), so that clients that know only it are served too:
 * parameter names and JSON keys come in by either spelling, headers go out by the service's own.
 */

export interface Names {
  /** False: every word stays as it is. */
  readonly active: boolean
  /** The neutral word for a name that a caller sent; any other name as it is. */
  readonly neutral: (name: string) => string
  /** The service's spelling of a neutral word. */
  readonly own: (name: string) => string
  /** A parsed body with neutral keys; the same object where nothing is to be renamed. */
  readonly neutralBody: (body: unknown) => unknown
}

/** `spelling`: neutral word to the service's own. */
export function namesOf(spelling: Readonly<Record<string, string>> = {}): Names {
  const pairs = Object.entries(spelling).filter(([neutral, own]) => neutral !== own)
  if (pairs.length === 0) return { active: false, neutral: (name) => name, own: (name) => name, neutralBody: (body) => body }
  const inward = new Map(pairs.map(([neutral, own]) => [own, neutral]))
  const outward = new Map(pairs)
  const neutral = (name: string): string => inward.get(name) ?? name
  const neutralBody = (body: unknown): unknown => {
    if (Array.isArray(body)) return body.map(neutralBody)
    if (typeof body !== 'object' || body === null) return body
    return Object.fromEntries(Object.entries(body).map(([key, value]) => [neutral(key), neutralBody(value)]))
  }
  return { active: true, neutral, own: (name) => outward.get(name) ?? name, neutralBody }
}
