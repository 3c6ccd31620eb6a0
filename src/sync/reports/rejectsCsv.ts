/** Formats rejected rows as a table of the source's columns and the reasons, for `rejects --csv` and the dashboard. */
import type { Database } from '../../db/database.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Outer, Row } from '../../db/row.ts'
import { decodeSources } from '../../db/snapshots.ts'
import { spreadsheetCell } from '../../mapping/rejectsFile.ts'
import { loadRejects, loadRun, runNumber, type StoredReject } from './history.ts'

/**
 * Yields the header, then every rejected row. Personal cells are masked, because their values are not stored. The user who corrects the
 * file enters them again.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function* rejectRows(db: Database, runId: string): AsyncGenerator<readonly string[]> {
  const { columns } = await loadRun(db, runId)
  const { facts } = await loadRunSources(db, runId)
  const table = rejectsTable(columns, facts)
  yield [...table.columns, ...reasonColumns(table.columns)]
  for await (const reject of loadRejects(db, runId))
    yield [...table.places(reject.source).map((at) => reject.cells[at] ?? ''), ...reasonCells(reject)]
}

/** Returns the lines of the CSV, safe to open in a spreadsheet. @throws {UsageError} `UNKNOWN_RUN`, before the first line */
export async function rejectLines(db: Database, runId: string): Promise<AsyncIterable<string>> {
  // An unknown run is an error before the first line, and not an incomplete file.
  await loadRun(db, runId)
  return linesOf(rejectRows(db, runId))
}

async function* linesOf(rows: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const cells of rows) yield csvLine(cells)
}

/** Sources of a run. */
export interface RunSources {
  /** Facts about each source; empty if the run has no snapshot. */
  readonly facts: readonly SourceFacts[]
  /** Address of the backfill source; undefined for the pipeline's own sources. */
  readonly source: string | undefined
}

/**
 * Loads the sources of the snapshot of a run; none for an unknown run.
 * @throws {UsageError} `UNKNOWN_RUN` if `runId` is not of the form `r_81` or `81`
 */
export async function loadRunSources(db: Database, runId: string): Promise<RunSources> {
  const [row] = await db.query<Outer<Row<'snapshot', 'id' | 'sources'>> & { source: string | null }>(
    `select s.id, s.sources, q.options->>'source' as source
     from run r left join snapshot s on s.id = r.snapshot_id left join run q on q.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.id == null ? [] : decodeSources(row.sources, row.id), source: row?.source ?? undefined }
}

/** Columns of the sources in a rejects file, and the positions of these columns in the rows of each source. */
export interface RejectsTable {
  readonly columns: readonly string[]
  /** Returns, for the number of a source, the position of each table column in the rows of this source; -1 if it lacks the column. */
  readonly places: (source: number) => readonly number[]
}

/**
 * Returns a function that returns the columns of a source by its number. `first`: columns of the first row of the run, for a source without
 * facts. The facts are better: later rows of JSON and XML may have more columns, and other sources have their own.
 */
export function columnsBySource(
  first: readonly string[],
  facts: readonly Pick<SourceFacts, 'columns'>[],
): (source: number) => readonly string[] {
  return (source) => facts[source]?.columns ?? first
}

/** Returns the table with the columns of all sources, in the order of the sources. `first`: as for `columnsBySource`. */
export function rejectsTable(first: readonly string[], facts: readonly Pick<SourceFacts, 'columns'>[]): RejectsTable {
  const columnsOf = columnsBySource(first, facts)
  const columns = [...new Set(facts.length === 0 ? first : facts.flatMap((_, source) => columnsOf(source)))]
  return {
    columns,
    places: (source) => {
      const own = columnsOf(source)
      return columns.map((column) => own.indexOf(column))
    },
  }
}

const reasons = ['line', 'code', 'field', 'message', 'hint'] as const

/**
 * Returns the names of the reason columns. A name that `columns` has gets the prefix `reject_`, because the corrected file is read again
 * and needs unique names.
 */
export function reasonColumns(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns.map((column) => column.toLowerCase()))
  return reasons.map((name) => (taken.has(name) ? `reject_${name}` : name))
}

/**
 * Returns the cells of the reason columns, with all faults of the row joined: the file has one line per row, because the corrected
 * file is sent again.
 */
export function reasonCells({ line, more, ...first }: Pick<StoredReject, (typeof reasons)[number] | 'more'>): readonly string[] {
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
 * Returns one line of CSV. A spreadsheet may treat a cell as a formula if it begins with `=`, `+`, `-`, `@`, their full-width forms,
 * TAB, CR or NUL, even after spaces. A cell with such a beginning gets a leading apostrophe and quotes. Cells with `;` or TAB get quotes
 * too, because some programs split cells there, and a formula could begin after the split.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

function csvCell(text: string): string {
  const harmless = spreadsheetCell(text)
  return harmless !== text || /[",;\t\r\n\u0000]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
