/** Chooses the newest finished file that matches a pattern. If several files have the same time, chooses the last one by name. */

/** Matches the first character that makes a path a pattern. */
export const wildcard = /[*?[{]/

/** File that matches a pattern. */
export interface Match {
  readonly name: string
  /** Time of the last change, in the same unit for all matches. */
  readonly changedAt: number | bigint
}

/** Endings that uploaders, browsers and editors give to unfinished files. */
const unfinishedEnding = /(\.(part|partial|filepart|tmp|temp|crdownload|download|uploading|swp|lock)|~)$/i

/** Endings of files beside an export: completion markers and digests. */
const markerEnding = /\.(done|ok|ready|md5|sha1|sha256|sha512)$/i

/**
 * Returns the newer one of `best` and `match`. If `match` has the ending of an unfinished file or of a marker, and the pattern does not,
 * returns `best`.
 */
export function newerMatch<T extends Match>(best: T | undefined, match: T, pattern: string): T | undefined {
  const ending = unfinishedEnding.exec(match.name)?.[0] ?? markerEnding.exec(match.name)?.[0]
  if (ending !== undefined && !pattern.toLowerCase().endsWith(ending.toLowerCase())) return best
  if (best === undefined || match.changedAt > best.changedAt || (match.changedAt === best.changedAt && match.name > best.name)) return match
  return best
}
