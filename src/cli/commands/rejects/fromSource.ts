import { RunError } from '../../../errors.ts'
import { createMapper } from '../../../destinations/createMapper.ts'
import type { Mapped, SourceRow } from '../../../model/record.ts'
import { cellText, originalRow } from '../../../mapping/rejectsFile.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { openSource, type OpenedSource } from '../../../sources/openSource.ts'
import type { Store } from '../../../db/open.ts'
import { loadRejects, type StoredReject } from '../../../sync/reports/history.ts'
import { withBackfillSource } from '../../../sync/read/backfillSource.ts'
import type { Context } from '../../context.ts'
import { openCsv } from './csvFile.ts'
import { pipelineNamed } from '../../pipelines.ts'
import { loadRunSources, reasonCells, reasonColumns, rejectsTable } from '../../../sync/reports/rejectsCsv.ts'

/**
 * Reads the sources of the run again, and writes the rejected rows into `target.file` (mode 0600). The file has the raw values of the rows,
 * which Sluice does not store. Returns the number of rejects written.
 *
 * A changed source may have other line numbers, and the digest of a source is known only at its end. So the file gets its final name only
 * after the last source, and not after an error.
 *
 * @throws {RunError} `SOURCE_UNVERIFIED`, `SOURCE_CHANGED`, and as `openSource`
 * @throws {UsageError} `UNKNOWN_RUN`, and as `pipelineNamed` if the pipeline no longer has a file
 */
export async function writeUnmaskedRows(
  context: Context,
  store: Store,
  target: { readonly runId: string; readonly pipeline: string; readonly columns: readonly string[]; readonly file: string },
): Promise<number> {
  const pipeline = await pipelineNamed(context, target.pipeline)
  const { facts, source: backfillSource } = await loadRunSources(store.db, target.runId)
  const { sources: definitions } = backfillSource === undefined ? pipeline : await withBackfillSource(pipeline, backfillSource)
  for (const [index, { uri }] of definitions.entries()) if (facts[index] === undefined) throw sourceUnverifiedError(uri, target.runId)
  const rejects = Map.groupBy(await Array.fromAsync(loadRejects(store.db, target.runId)), ({ source, line }) => `${source} ${line}`)
  const mapper = createMapper(pipeline, new Date(context.clock.now()))
  const table = rejectsTable(target.columns, facts)
  const csv = openCsv(target.file, context.stdout, { private: true })
  let written = 0
  try {
    csv.write([...table.columns, ...reasonColumns(table.columns)])
    for (const [index, definition] of definitions.entries()) {
      const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
      try {
        for await (const { row, sharesLine } of rowsOfLines(source, (line) => rejects.has(`${index} ${line}`))) {
          const ofLine = rejects.get(`${index} ${row.line}`) ?? []
          // The only row of a line has all rejects of the line, so it is not mapped.
          const ofRow = sharesLine ? takeRejects(mapper.map(row), ofLine) : ofLine
          for (const reject of ofRow) csv.write([...cellsOf(originalRow(row), table.columns), ...reasonCells(reject)])
          written += ofRow.length
        }
        if (source.facts().sha256 !== facts[index]?.sha256) throw sourceChangedError(definition.uri, target.runId)
      } finally {
        await source.close()
      }
    }
    csv.finish()
  } catch (error) {
    csv.discard()
    throw error
  }
  return written
}

/**
 * Yields the rows of the lines that `isWanted` accepts. `sharesLine`: true if another row has the same line. Rows of a line are
 * consecutive, so each row is yielded when the next one is read.
 */
async function* rowsOfLines(
  { rows }: Pick<OpenedSource, 'rows'>,
  isWanted: (line: number) => boolean,
): AsyncGenerator<{ readonly row: SourceRow; readonly sharesLine: boolean }> {
  let previous: SourceRow | undefined
  let sharesWithEarlier = false
  for await (const batch of rows) {
    for (const row of batch) {
      if (!isWanted(row.line)) continue
      const isSameLine = previous?.line === row.line
      if (previous !== undefined) yield { row: previous, sharesLine: sharesWithEarlier || isSameLine }
      sharesWithEarlier = isSameLine
      previous = row
    }
  }
  if (previous !== undefined) yield { row: previous, sharesLine: sharesWithEarlier }
}

/**
 * Removes the first reject of this row from `ofLine` and returns it as a list; empty if the row has none. Several rows may share a line
 * (a feed without line ends), and only rejected rows may be written in clear.
 */
function takeRejects({ record, reject }: Mapped, ofLine: StoredReject[]): readonly StoredReject[] {
  const key = record?.key ?? reject?.key
  const hex = key === undefined ? null : Buffer.from(key).toString('hex')
  const at = ofLine.findIndex((stored) => stored.key === hex && (reject === undefined || stored.code === reject.code))
  return at < 0 ? [] : ofLine.splice(at, 1)
}

/** Returns the cells of the row in the order of the table's columns. A missing column gives an empty text. */
function cellsOf(row: SourceRow, columns: readonly string[]): readonly string[] {
  return columns.map((column) => cellText(row.cells[row.columns.indexOf(column)]))
}

function sourceUnverifiedError(uri: string, runId: string): RunError {
  const message = 'this run did not read its whole source, so it is unknown whether the source has changed since. Nothing was read.'
  return new RunError('SOURCE_UNVERIFIED', message, sourceAndHint(uri, runId))
}

function sourceChangedError(uri: string, runId: string): RunError {
  const message = 'the source has changed since this run, so its line numbers would be wrong. Nothing was written.'
  return new RunError('SOURCE_CHANGED', message, sourceAndHint(uri, runId))
}

/** Returns the place of an error, and the hint to write the masked rows instead. */
function sourceAndHint(uri: string, runId: string) {
  return { where: shownAddress(uri), hint: `sluice rejects ${runId} --csv ${runId}.csv   (the masked rows)` }
}
