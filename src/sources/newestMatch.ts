/** Which of the files that match a pattern is read: the newest that is finished; of two of the same time the later name. */

export interface Match {
  readonly name: string
  /** Time of change, in whatever unit all matches have. */
  readonly at: number | bigint
}

/** Endings that uploaders, browsers and editors give to what is not whole yet. */
const unfinished = /(\.(part|partial|filepart|tmp|temp|crdownload|download|uploading|swp|lock)|~)$/i

/** Endings of what lies beside a file: done markers and sums. */
const beside = /\.(done|ok|ready|md5|sha1|sha256|sha512)$/i

/** The newer of both. A file whose ending says that it holds no whole export counts only where the pattern names it. */
export function newerMatch<T extends Match>(best: T | undefined, match: T, pattern: string): T | undefined {
  const ending = unfinished.exec(match.name)?.[0] ?? beside.exec(match.name)?.[0]
  if (ending !== undefined && !pattern.toLowerCase().endsWith(ending.toLowerCase())) return best
  if (best === undefined || match.at > best.at || (match.at === best.at && match.name > best.name)) return match
  return best
}
