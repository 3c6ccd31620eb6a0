/**
 * Removes user name, password and query from an address, because shown texts may be stored and logged. A file path is returned unchanged;
 * of an address that cannot be parsed, only the scheme is kept.
 */
export function shownAddress(source: string): string {
  return reduced(source, (url) => {
    url.username = ''
  })
}

/**
 * Removes password and query from an address, which may contain a secret: the form of the address that is stored with a run. The user name
 * stays, so that a rerun can read the same source. A removed query is replaced by `?…`.
 */
export function storedAddress(source: string): string {
  return reduced(source)
}

/** Returns true if `storedAddress` removed the query, so that the source cannot be read again. */
export function isQueryRemoved(stored: string): boolean {
  return stored.endsWith(removedQuery)
}

const removedQuery = '?…'

function reduced(source: string, change?: (url: URL) => void): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(source)) return source
  if (isQueryRemoved(source)) return reduced(source.slice(0, -removedQuery.length), change) + removedQuery
  if (!URL.canParse(source)) return `${source.slice(0, source.indexOf(':') + 1)}…`
  const url = new URL(source)
  const before = url.href
  const hadQuery = url.search !== ''
  url.password = ''
  url.search = ''
  change?.(url)
  // The normal form of URL may differ from the text, for example in its percent-encoding.
  return url.href === before ? source : `${url.href}${hadQuery ? removedQuery : ''}`
}
