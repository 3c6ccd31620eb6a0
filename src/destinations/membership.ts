/** Settings of all destinations with memberships: end, renewal, required identifiers. */
import type { Duration } from '../model/pipeline.ts'
import { identifierTypes } from '../model/record.ts'
import { atMost, atMostHalf } from '../settings/duration.ts'
import { duration } from '../settings/values.ts'
import type { MapProblem } from './destination.ts'

/** Schema of the settings in a pipeline file. */
export const membershipSettings = { expires_in: duration.optional(), renew_before: duration.optional() }

/**
 * Returns the times of memberships. Defaults: 13 months, renewed 30 days before the end. `expiresIn` is at most `longest`, and
 * `renewBefore` at most half of `expiresIn`.
 */
export function membershipTimes(
  given: { readonly expires_in?: Duration | undefined; readonly renew_before?: Duration | undefined },
  longest?: Duration,
): {
  readonly expiresIn: Duration
  readonly renewBefore: Duration
} {
  const expiresIn = atMost(given.expires_in ?? { months: 13 }, longest)
  return { expiresIn, renewBefore: atMostHalf(given.renew_before ?? { ms: 30 * 86_400_000 }, expiresIn) }
}

/** Returns a problem if no field of `map` is an identifier. `accepted`: identifiers of the destination, for the message. */
export function identifierProblems(fields: readonly string[], accepted: readonly string[]): readonly MapProblem[] {
  if (fields.some((field) => identifierTypes.some((type) => type === field))) return []
  return [{ setting: 'map', message: `needs at least one of ${accepted.join(', ')}` }]
}
