/** Versions and hosts of request paths. The older version serves the same resources, with a warning. */
export const CURRENT_VERSION = '12'
export const OLDER_VERSION = '11'

/** Returns true for a path of the core host. All other paths belong to the advertising host or its sandbox host. */
export function isCorePath(rawPath: string): boolean {
  return /^\/(?:oauth2?|1\.1|2)(?:\/|$)/.test(rawPath)
}
