import type { SourceFacts } from '../../formats/rows.ts'

/**
 * Returns for each source its facts from an earlier read; undefined if it was not read then. `uris`: addresses of the sources now. `before`:
 * facts of the earlier read.
 *
 * Sources are matched by address, because they may be added and removed. Some addresses are not found exactly once: a pattern selects another
 * file in each read, and sheets of a workbook share an address. Such sources are matched in their order, with the earlier sources that no
 * address matches. A wrong match may withhold a run; without a match, a fall of its opt-outs would not be noticed.
 */
export function formerSources(uris: readonly string[], before: readonly SourceFacts[]): readonly (SourceFacts | undefined)[] {
  const now = uris.map(addressKey)
  const then = before.map(({ uri }) => addressKey(uri))
  const places = now.map((key) => (isOnlyOne(now, key) && isOnlyOne(then, key) ? then.indexOf(key) : -1))
  const others = before.filter((_, place) => !places.includes(place))
  return places.map((place) => (place < 0 ? others.shift() : before[place]))
}

const isOnlyOne = (keys: readonly string[], key: string): boolean => keys.filter((other) => other === key).length === 1

/** Returns an address in one form, without user, password and query: facts have another form than a pipeline. A path is unchanged. */
function addressKey(uri: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(uri) || !URL.canParse(uri)) return uri
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol === 'postgresql:' ? 'postgres:' : protocol}//${host.toLowerCase()}${pathname}`
}
