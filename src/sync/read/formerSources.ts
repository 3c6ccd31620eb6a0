import { matchesGlob, resolve } from 'node:path'
import type { SourceFacts } from '../../formats/rows.ts'
import { localPath } from '../../sources/file/localFile.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'

/**
 * Returns for each source its facts from an earlier read; undefined if it was not read then. `uris`: addresses of the sources now.
 * `before`: facts of the earlier read. `patterns`: addresses in the pipeline, which may be patterns of file names.
 *
 * Sources are matched by address, because they may be added and removed. Two steps match further sources:
 * - A pattern may select another file in each read. Its source gets the only unmatched earlier file that matches the pattern.
 * - If as many sources as earlier ones are still without a match (renamed files, sheets of a workbook), they are matched in their order.
 *
 * A wrong match may withhold a run. Without a match, a fall of the source's opt-outs would not be noticed.
 */
export function formerSources(
  uris: readonly string[],
  before: readonly SourceFacts[],
  patterns: readonly string[] = [],
): readonly (SourceFacts | undefined)[] {
  const now = uris.map(addressKey)
  const then = before.map(({ uri }) => addressKey(uri))
  const byAddress = now.map((key) => (isOnlyOne(now, key) && isOnlyOne(then, key) ? then.indexOf(key) : -1))
  const byPattern = byAddress.map((place, index) => (place < 0 ? placeOfPattern(patterns[index], then, byAddress) : place))
  const others = before.filter((_, place) => !byPattern.includes(place))
  const inOrder = others.length === byPattern.filter((place) => place < 0).length
  return byPattern.map((place) => {
    if (place < 0) return inOrder ? others.shift() : undefined
    // If two patterns match the same earlier file, it is not known which of them selected it.
    return byPattern.indexOf(place) === byPattern.lastIndexOf(place) ? before[place] : undefined
  })
}

const isOnlyOne = (keys: readonly string[], key: string): boolean => keys.filter((other) => other === key).length === 1

/** Returns the place of the only address that matches the pattern and is not in `used`, the places of matched addresses; else -1. */
function placeOfPattern(pattern: string | undefined, addresses: readonly string[], used: readonly number[]): number {
  if (pattern === undefined || !/[*?[{]/.test(pattern)) return -1
  const key = isLocalFile(pattern) ? resolve(localPath(pattern)) : addressKey(pattern)
  const matches = [...addresses.keys()].filter((place) => !used.includes(place) && matchesGlob(addresses[place] ?? '', key))
  return matches.length === 1 ? (matches[0] ?? -1) : -1
}

/** Normalizes an address, because facts and pipelines may write it differently. Removes user, password and query; keeps a path as it is. */
function addressKey(uri: string): string {
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(uri) || !URL.canParse(uri)) return uri
  const { protocol, host, pathname } = new URL(uri)
  return `${protocol === 'postgresql:' ? 'postgres:' : protocol}//${host.toLowerCase()}${pathname}`
}
