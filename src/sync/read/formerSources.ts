import { matchesGlob, resolve } from 'node:path'
import type { SourceFacts } from '../../formats/rows.ts'
import { localPath } from '../../sources/file/localFile.ts'
import { wildcard } from '../../sources/newestMatch.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'

/**
 * Returns for each source its facts from an earlier read; undefined without a match. `uris`: addresses of the sources now. `before`: facts
 * of the earlier read. `patterns`: addresses as the pipeline has them, which may be patterns of file names.
 *
 * Sources are matched in three steps:
 * 1. By address, if it is unique.
 * 2. By pattern: `feed-*.csv` gets the only unmatched earlier file that it selects.
 * 3. In their order, if as many sources are unmatched now as before. Examples are renamed files and the sheets of a workbook.
 *
 * A wrong match may stop a run. Without a match, a guard would not notice that the opt-outs of a source fell.
 */
export function formerSources(
  uris: readonly string[],
  before: readonly SourceFacts[],
  patterns: readonly string[] = [],
): readonly (SourceFacts | undefined)[] {
  const nowAddresses = uris.map(comparableAddress)
  const beforeAddresses = before.map(({ uri }) => comparableAddress(uri))
  // For each source, the index of its match in `before`; -1 without a match.
  const byAddress = nowAddresses.map((address) =>
    isUnique(nowAddresses, address) && isUnique(beforeAddresses, address) ? beforeAddresses.indexOf(address) : -1,
  )
  const places = byAddress.map((place, index) => (place < 0 ? placeOfPattern(patterns[index], beforeAddresses, byAddress) : place))
  const unmatchedBefore = before.filter((_, place) => !places.includes(place))
  const matchInOrder = unmatchedBefore.length === places.filter((place) => place < 0).length
  return places.map((place) => {
    if (place < 0) return matchInOrder ? unmatchedBefore.shift() : undefined
    // If two patterns match the same earlier file, it is not known which of them selected it.
    return places.indexOf(place) === places.lastIndexOf(place) ? before[place] : undefined
  })
}

const isUnique = (addresses: readonly string[], address: string): boolean => addresses.filter((other) => other === address).length === 1

/**
 * Returns the place of the only unmatched address that the pattern selects; -1 if there is none, or several. `matched`: places of the
 * matched addresses.
 */
function placeOfPattern(pattern: string | undefined, addresses: readonly string[], matched: readonly number[]): number {
  if (pattern === undefined || !wildcard.test(pattern)) return -1
  const comparable = isLocalFile(pattern) ? resolve(localPath(pattern)) : comparableAddress(pattern)
  const places = [...addresses.keys()].filter((place) => !matched.includes(place) && matchesGlob(addresses[place] ?? '', comparable))
  const [place = -1] = places
  return places.length === 1 ? place : -1
}

/** Returns an address in the form that is compared: a URL without user, password and query; a path as it is. */
function comparableAddress(uri: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(uri) || !URL.canParse(uri)) return uri
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol === 'postgresql:' ? 'postgres:' : protocol}//${host.toLowerCase()}${pathname}`
}
