import { matchesGlob, resolve } from 'node:path'
import type { SourceFacts } from '../../formats/rows.ts'
import { localPath } from '../../sources/file/localFile.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'

/**
 * Returns for each source its facts from an earlier read; undefined if it was not read then. `uris`: addresses of the sources now.
 * `before`: facts of the earlier read. `patterns`: addresses of the sources in the pipeline, which may be patterns of file names.
 *
 * Sources are matched by address, because they may be added and removed. Two steps match further sources:
 * - A pattern may select another file in each read. Its source gets the only unmatched earlier file that matches the pattern.
 * - If the remaining sources and the remaining earlier ones are equally many, they are matched in their order. Examples are renamed files
 *   and the sheets of a workbook.
 *
 * A wrong match may stop a run. Without a match, a guard would not notice that the opt-outs of a source fell.
 */
export function formerSources(
  uris: readonly string[],
  before: readonly SourceFacts[],
  patterns: readonly string[] = [],
): readonly (SourceFacts | undefined)[] {
  const nowKeys = uris.map(addressKey)
  const beforeKeys = before.map(({ uri }) => addressKey(uri))
  // For each source, the place of its match in `before`; -1 without a match.
  const byAddress = nowKeys.map((key) => (isUnique(nowKeys, key) && isUnique(beforeKeys, key) ? beforeKeys.indexOf(key) : -1))
  const places = byAddress.map((place, index) => (place < 0 ? placeOfPattern(patterns[index], beforeKeys, byAddress) : place))
  const unmatchedBefore = before.filter((_, place) => !places.includes(place))
  const matchInOrder = unmatchedBefore.length === places.filter((place) => place < 0).length
  return places.map((place) => {
    if (place < 0) return matchInOrder ? unmatchedBefore.shift() : undefined
    // If two patterns match the same earlier file, it is not known which of them selected it.
    return places.indexOf(place) === places.lastIndexOf(place) ? before[place] : undefined
  })
}

const isUnique = (keys: readonly string[], key: string): boolean => keys.filter((other) => other === key).length === 1

/**
 * Returns the place of the only unmatched address that the pattern selects; -1 if there is none, or several. `matched`: places of the
 * matched addresses.
 */
function placeOfPattern(pattern: string | undefined, addresses: readonly string[], matched: readonly number[]): number {
  if (pattern === undefined || !/[*?[{]/.test(pattern)) return -1
  const key = isLocalFile(pattern) ? resolve(localPath(pattern)) : addressKey(pattern)
  const places = [...addresses.keys()].filter((place) => !matched.includes(place) && matchesGlob(addresses[place] ?? '', key))
  const [place = -1] = places
  return places.length === 1 ? place : -1
}

/**
 * Returns the form of an address that is compared: a URL without user, password and query; a path as it is. Facts and pipelines may write
 * the same URL differently.
 */
function addressKey(uri: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(uri) || !URL.canParse(uri)) return uri
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol === 'postgresql:' ? 'postgres:' : protocol}//${host.toLowerCase()}${pathname}`
}
