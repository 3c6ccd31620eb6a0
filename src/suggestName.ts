/** Suggests the name that a user probably meant: of commands, flags, pipelines, settings, columns. */
import { distance } from 'fastest-levenshtein'

/** Maximum length of a name that is compared, because users do not type longer names by hand. */
const maxLength = 64
/** Minimum length of a name that is compared as a beginning. Too many names begin with a shorter text. */
const minBeginning = 3

/**
 * Returns the candidate that differs from `name` in the fewest letters, ignoring case. A candidate may differ in a third of the letters
 * of `name`, but at least in two and never in all. A candidate that begins with `name` counts as different in half a letter. Undefined
 * if every candidate differs in more.
 */
export function suggestName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase()
  if (wanted.length > maxLength) return undefined
  const most = Math.min(wanted.length - 1, Math.max(2, Math.floor(wanted.length / 3)))
  let best: string | undefined
  let fewest = most + 1
  for (const candidate of candidates) {
    const letters = lettersBetween(wanted, candidate.toLowerCase(), fewest)
    if (letters >= fewest) continue
    best = candidate
    fewest = letters
  }
  return best
}

/** Returns the number of different letters, or `fewest` if a comparison of the lengths shows that there are as many or more. */
function lettersBetween(wanted: string, candidate: string, fewest: number): number {
  if (wanted.length >= minBeginning && candidate.startsWith(wanted)) return candidate === wanted ? 0 : 0.5
  return Math.abs(candidate.length - wanted.length) >= fewest ? fewest : distance(wanted, candidate)
}
