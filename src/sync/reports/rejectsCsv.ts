/** Formats rejected rows as a table for `rejects --csv` and the dashboard: the columns of the sources, then the reasons. */
import type { Database } from '../../db/database.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Outer, DbRow } from '../../db/row.ts'
import { decodeSources } from '../../db/snapshots.ts'
import { spreadsheetCell } from '../../mapping/rejectsFile.ts'
import { loadRejects, loadRun, runNumber, type StoredReject } from './history.ts'

/**
 * Yields the header, then every rejected row. Personal cells are masked: their values are not stored, so the user must enter them again.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function* rejectRows(db: Database, runId: string): AsyncGenerator<readonly string[]> {
  const { columns } = await loadRun(db, runId)
  const { facts } = await loadRunSources(db, runId)
  const table = rejectsTable(columns, facts)
  yield [...table.columns, ...reasonColumns(table.columns)]
  for await (const reject of loadRejects(db, runId))
    yield [...table.positions(reject.source).map((at) => reject.cells[at] ?? ''), ...reasonCells(reject)]
}

/** Returns the lines of the CSV, safe to open in a spreadsheet. @throws {UsageError} `UNKNOWN_RUN` */
export async function rejectLines(db: Database, runId: string): Promise<AsyncIterable<string>> {
  // Throws before the first line, so that an unknown run does not produce an incomplete file.
  await loadRun(db, runId)
  return linesOf(rejectRows(db, runId))
}

async function* linesOf(rows: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const cells of rows) yield csvLine(cells)
}

export interface RunSources {
  /** Facts about each source; empty if the run has no snapshot. */
  readonly facts: readonly SourceFacts[]
  /** Address of the backfill source; undefined if the run read the pipeline's own sources. */
  readonly source: string | undefined
}

/**
 * Loads the sources of the snapshot of a run; none for an unknown run.
 * @throws {UsageError} `UNKNOWN_RUN` if `runId` is not of the form `r_81` or `81`
 */
export async function loadRunSources(db: Database, runId: string): Promise<RunSources> {
  const [row] = await db.query<Outer<DbRow<'snapshot', 'id' | 'sources'>> & { source: string | null }>(
    `select s.id, s.sources, reading.options->>'source' as source
     from run r left join snapshot s on s.id = r.snapshot_id left join run reading on reading.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.id == null ? [] : decodeSources(row.sources, row.id), source: row?.source ?? undefined }
}

/** Columns of all sources in a rejects file. */
export interface RejectsTable {
  readonly columns: readonly string[]
  /** Returns the position of each column in the rows of a source; -1 if the source lacks the column. `source`: its number. */
  readonly positions: (source: number) => readonly number[]
}

/**
 * Returns a function from the number of a source to its columns. `firstRowColumns`: columns of the first row of the run, used for a source
 * without facts.
 */
export function columnsBySource(
  firstRowColumns: readonly string[],
  facts: readonly Pick<SourceFacts, 'columns'>[],
): (source: number) => readonly string[] {
  return (source) => facts[source]?.columns ?? firstRowColumns
}

/** Returns the table for these sources. The columns are in the order of the sources. `firstRowColumns`: as for `columnsBySource`. */
export function rejectsTable(firstRowColumns: readonly string[], facts: readonly Pick<SourceFacts, 'columns'>[]): RejectsTable {
  const columnsOf = columnsBySource(firstRowColumns, facts)
  const columns = [...new Set(facts.length === 0 ? firstRowColumns : facts.flatMap((_, source) => columnsOf(source)))]
  return {
    columns,
    positions: (source) => {
      const ownColumns = columnsOf(source)
      return columns.map((column) => ownColumns.indexOf(column))
    },
  }
}

const reasonNames = ['line', 'code', 'field', 'message', 'hint'] as const

/**
 * Returns the names of the reason columns. If `columns` has a name already, the name gets the prefix `reject_`, as often as needed. The
 * corrected file is read as a source, so its column names must be unique.
 */
export function reasonColumns(columns: readonly string[]): readonly string[] {
  const usedNames = new Set(columns.map((column) => column.toLowerCase()))
  const free = (name: string): string => (usedNames.has(name) ? free(`reject_${name}`) : name)
  return reasonNames.map(free)
}

/** Returns the cells of the reason columns. Joins all faults of the row, because the corrected file is read as a source. */
export function reasonCells({ line, more, ...first }: Pick<StoredReject, (typeof reasonNames)[number] | 'more'>): readonly string[] {
  const faults = [first, ...more]
  const joined = (texts: readonly string[]) => [...new Set(texts)].join('; ')
  return [
    String(line),
    joined(faults.map(({ code }) => code)),
    joined(faults.map(({ field }) => field)),
    joined(faults.map(({ message }) => message)),
    joined(faults.map(({ hint }) => hint)),
  ]
}

/**
 * Returns one line of CSV, in which no cell is a formula for a spreadsheet:
 *
 * - A formula begins, also after apostrophes or spaces, with `=`, `+`, `-`, `@`, their full-width forms, TAB, CR or NUL. Such a cell gets an
 *   apostrophe and quotes.
 * - A cell with `;` or TAB gets quotes: some programs split cells there, and a formula could begin after the split.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(text: string): string {
  const harmless = spreadsheetCell(text)
  return harmless !== text || /[",;\t\r\n\u0000]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
