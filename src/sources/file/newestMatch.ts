/** Chooses the newest finished file that matches a pattern. If two have the same time, the one with the later name. */

export interface Match {
  readonly name: string
  /** Time of change, in one unit for all matches. */
  readonly at: number | bigint
}

/** Endings that uploaders, browsers and editors give to unfinished files. */
const unfinished = /(\.(part|partial|filepart|tmp|temp|crdownload|download|uploading|swp|lock)|~)$/i

/** Endings of files beside a file: done markers and sums. */
const beside = /\.(done|ok|ready|md5|sha1|sha256|sha512)$/i

/**
 * Returns the newer of the two. Ignores a file with the ending of an unfinished file or a marker, unless the pattern has that
 * ending.
 */
export function newerMatch<T extends Match>(best: T | undefined, match: T, pattern: string): T | undefined {
  const ending = unfinished.exec(match.name)?.[0] ?? beside.exec(match.name)?.[0]
  if (ending !== undefined && !pattern.toLowerCase().endsWith(ending.toLowerCase())) return best
  if (best === undefined || match.at > best.at || (match.at === best.at && match.name > best.name)) return match
  return best
}
