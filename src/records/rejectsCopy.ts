/**
 * A corrected copy of `sluice rejects --csv` read back as a source: its five reasons are no columns of the merchant's, and
 * the apostrophes that kept its cells from being formulas are not part of them.
 */
import type { Cell, Row } from './record.ts'

const reasons = ['line', 'code', 'field', 'message', 'mend']
// oxlint-disable-next-line no-control-regex -- TAB, CR and NUL start formulas too
const guarded = /^'(?=[ \u00a0\u3000]*[=+\-@\t\r\u0000＝＋－＠])/

/** Indexes of the reasons, which stand last; empty where the table is no such copy. */
export function reasonIndexes(columns: readonly string[]): number[] {
  const from = columns.length - reasons.length
  if (from < 1 || !reasons.every((name, i) => [name, `reject_${name}`].includes(columns[from + i] ?? ''))) return []
  return reasons.map((_, i) => from + i)
}

/** True for the first line of such a copy, whatever separates its cells since a spreadsheet saved it. */
export function isRejectsHeader(line: string): boolean {
  return [',', ';', '\t'].some(
    (delimiter) => reasonIndexes(line.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/s, '$1'))).length > 0,
  )
}

/** The row as the merchant's own file had it. */
export function withoutGuards(row: Row): Row {
  return row.cells.some((cell) => typeof cell === 'string' && guarded.test(cell)) ? { ...row, cells: row.cells.map(unguarded) } : row
}

function unguarded(cell: Cell | undefined): Cell | undefined {
  return typeof cell === 'string' ? cell.replace(guarded, '') : cell
}
