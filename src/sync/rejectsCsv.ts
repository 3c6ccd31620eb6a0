/** Rejected rows as a table of the merchant's own columns and the reasons: the same for `rejects --csv` and the dashboard. */
import type { Database } from '../db/database.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { Outer, Row } from '../db/row.ts'
import { decodeSources } from '../db/snapshots.ts'
import { loadRejects, loadRun, runNumber, type StoredReject } from './history.ts'

/**
 * Yields the header, then every rejected row. Personal cells are masked, because they are not stored: the person who corrects the file
 * fills them in again.
 */
export async function* rejectRows(db: Database, runId: string): AsyncGenerator<readonly string[]> {
  const { columns } = await loadRun(db, runId)
  const { facts } = await loadReading(db, runId)
  const table = rejectsTable(columns, facts)
  yield [...table.columns, ...reasonColumns(table.columns)]
  for await (const reject of loadRejects(db, runId))
    yield [...table.places(reject.source).map((at) => reject.cells[at] ?? ''), ...reasonCells(reject)]
}

/** Returns the lines of the CSV, safe to open in a spreadsheet. */
export async function rejectLines(db: Database, runId: string): Promise<AsyncIterable<string>> {
  // Checked before the first line, so that an unknown run is an error and not a broken file.
  await loadRun(db, runId)
  return linesOf(rejectRows(db, runId))
}

async function* linesOf(rows: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const cells of rows) yield csvLine(cells)
}

/** Sources of a run: facts about each, and the backfill source if there is one. */
export interface Reading {
  readonly facts: readonly SourceFacts[]
  readonly source: string | undefined
}

export async function loadReading(db: Database, runId: string): Promise<Reading> {
  const [row] = await db.query<Outer<Row<'snapshot', 'id' | 'sources'>> & { source: string | null }>(
    `select s.id, s.sources, q.options->>'source' as source
     from run r left join snapshot s on s.id = r.snapshot_id left join run q on q.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.id == null ? [] : decodeSources(row.sources, row.id), source: row?.source ?? undefined }
}

/** Header of a rejects file, and the positions of each source's columns in it. */
export interface RejectsTable {
  readonly columns: readonly string[]
  /** Returns, for a source, the position of each table column in its rows; -1 if it has none. */
  readonly places: (source: number) => readonly number[]
}

/**
 * Returns the columns of all sources, those of the first source first. `first` has the columns of the first row only: later rows of
 * JSON and XML may have more, and other sources have their own.
 */
export function rejectsTable(first: readonly string[], facts: readonly Pick<SourceFacts, 'columns'>[]): RejectsTable {
  const known = facts.length === 0 ? [first] : facts.map(({ columns }) => columns)
  const columns = [...new Set(known.flat())]
  return {
    columns,
    places: (source) => {
      const own = known[source] ?? first
      return columns.map((column) => own.indexOf(column))
    },
  }
}

const reasons = ['line', 'code', 'field', 'message', 'hint'] as const

/**
 * Returns names of the reason columns that do not collide with the merchant's, because the corrected file is read again and needs
 * unique names.
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
 * Writes one line of CSV. A spreadsheet could take a cell for a formula if it begins with `=`, `+`, `-`, `@`, TAB, CR or NUL, or
 * with the full-width forms of the four signs, also behind spaces. Such a cell gets a leading apostrophe. It is also quoted: some programs
 * split cells at `;` or TAB, and a formula could begin behind one.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

const formula = /^[ \u00a0\u3000]*[=+\-@\t\r\u0000＝＋－＠]/

function csvCell(text: string): string {
  const harmless = formula.test(text) ? `'${text}` : text
  return harmless !== text || /[",;\t\r\n\u0000]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
