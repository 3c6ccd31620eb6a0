/**
 * Removes user name, password and query from an address, because shown texts may be stored and logged. A file path is returned unchanged.
 * An address that cannot be parsed keeps only its scheme.
 */
export function shownAddress(source: string): string {
  return withoutSecrets(source, (url) => {
    url.username = ''
  })
}

/**
 * Removes password and query, which may contain secrets, from an address that is stored with a run. The user name stays, so that a rerun
 * can read the same source. A removed query is replaced by `?…`.
 */
export function storedAddress(source: string): string {
  return withoutSecrets(source)
}

/** Returns true if `storedAddress` removed the query, so that the source cannot be read again. */
export function isQueryRemoved(stored: string): boolean {
  return stored.endsWith(removedQuery)
}

const removedQuery = '?…'

/** Removes password and query from an address. `change`: makes further changes. */
function withoutSecrets(source: string, change?: (url: URL) => void): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(source)) return source
  if (isQueryRemoved(source)) return withoutSecrets(source.slice(0, -removedQuery.length), change) + removedQuery
  if (!URL.canParse(source)) return `${source.slice(0, source.indexOf(':') + 1)}…`
  const url = new URL(source)
  const before = url.href
  const hadQuery = url.search !== ''
  url.password = ''
  url.search = ''
  change?.(url)
  // An address without password and query is returned as it was written: `href` may differ from it, for example in its percent-encoding.
  return url.href === before ? source : `${url.href}${hadQuery ? removedQuery : ''}`
}
