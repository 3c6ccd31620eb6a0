import type { SourceFacts } from '../../formats/rows.ts'

/**
 * Returns the facts of the source `uris[index]` from an earlier read, whose facts are `before`; undefined if it was not read then. `uris`:
 * addresses of all sources now, as in their facts. A source is searched by its address, because sources may be added and removed. A pattern
 * may select a file of another name in each read, and sheets of one workbook have one address. So a source whose address is not found
 * exactly once is searched by its place, if the number of sources is the same.
 */
export function formerSource(uris: readonly string[], index: number, before: readonly SourceFacts[]): SourceFacts | undefined {
  const uri = uris[index]
  const found = before.filter((source) => source.uri === uri)
  if (found.length === 1 && uris.indexOf(uri ?? '') === uris.lastIndexOf(uri ?? '')) return found[0]
  const beside = before.length === uris.length ? before[index] : undefined
  return beside === undefined || (beside.uri !== uri && uris.includes(beside.uri)) ? undefined : beside
}
