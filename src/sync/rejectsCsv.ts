/** Rejected rows as a table of the merchant's own columns and the reasons: the same for `rejects --csv` and the dashboard. */
import type { Database } from '../db/database.ts'
import { csvLine } from '../csv.ts'
import { loadRejects, loadRun } from './history.ts'
import { reasonCells, reasonColumns } from './reasonColumns.ts'
import { loadReading, rejectsTable } from './rejectsTable.ts'

/** Yields the header, then every rejected row; personal cells are masked. */
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
  // Before the answer begins: an unknown run is an error, not a broken file.
  await loadRun(db, runId)
  return linesOf(rejectRows(db, runId))
}

async function* linesOf(rows: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const cells of rows) yield csvLine(cells)
}
