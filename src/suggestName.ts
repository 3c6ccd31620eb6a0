/** Suggests the name that a user probably meant: of commands, flags, pipelines, settings, columns. */
import { distance } from 'fastest-levenshtein'

/** Maximum length of a name that is compared, because users do not type longer names by hand. */
const maxLength = 64
/** Minimum length of a name that is compared as a beginning. Too many names begin with a shorter text. */
const minBeginning = 3

/**
 * Returns the candidate that differs from `name` in the fewest letters, ignoring case. At most a third of the letters of `name` may differ,
 * or two if that is more, but never all. A candidate that begins with `name` counts as half a letter, if `name` has three letters or more.
 * Undefined if no candidate is that similar, or if `name` is too long.
 */
export function suggestName(name: string, candidates: Iterable<string>): string | undefined {
  const typed = name.toLowerCase()
  if (typed.length > maxLength) return undefined
  const maxLetters = Math.min(typed.length - 1, Math.max(2, Math.floor(typed.length / 3)))
  let best: string | undefined
  let fewest = maxLetters + 1
  for (const candidate of candidates) {
    const letters = lettersBetween(typed, candidate.toLowerCase(), fewest)
    if (letters >= fewest) continue
    best = candidate
    fewest = letters
  }
  return best
}

/**
 * Returns the number of different letters; 0.5 if `candidate` begins with `typed`. Returns `fewest` without a comparison if the lengths
 * differ by at least this number.
 */
function lettersBetween(typed: string, candidate: string, fewest: number): number {
  if (typed.length >= minBeginning && candidate.startsWith(typed)) return candidate === typed ? 0 : 0.5
  return Math.abs(candidate.length - typed.length) >= fewest ? fewest : distance(typed, candidate)
}
