/** Versions of the advertising host, and the host of a path. */

/** Version of most paths. Only the paths of permissions have version 5 (spec 4.3). */
export const CURRENT_VERSION = '12'
/** Earlier version. The sandbox serves it like the current version, with a warning in a header. */
export const OLDER_VERSION = '11'

/** Returns true for a path of the core host. All other paths belong to the advertising host. */
export function isCorePath(rawPath: string): boolean {
  return /^\/(?:oauth2?|1\.1|2)(?:\/|$)/.test(rawPath)
}
