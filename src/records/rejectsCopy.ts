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

/** A cell as one text of a table. Of several texts, addresses are joined by commas as feeds do it, others are a JSON array. */
export function cellText(cell: Cell | undefined): string {
  if (cell === undefined) return ''
  if (typeof cell === 'string') return cell
  if (cell.length < 2) return cell[0] ?? ''
  return cell.every((text) => /^https?:\/\/[^\s,]+$/i.test(text)) ? cell.join(',') : JSON.stringify(cell)
}

/** The row as the merchant's own file had it: no apostrophes, and several texts where `cellText` had made them one. */
export function withoutGuards(row: Row): Row {
  return row.cells.some((cell) => typeof cell === 'string' && unguarded(cell) !== cell)
    ? { ...row, cells: row.cells.map((cell) => (typeof cell === 'string' ? unguarded(cell) : cell)) }
    : row
}

function unguarded(cell: string): Cell {
  if (guarded.test(cell)) return cell.slice(1)
  if (/^https?:\/\/[^\s,]+(?:,https?:\/\/[^\s,]+)+$/i.test(cell)) return cell.split(',')
  return listOf(cell) ?? cell
}

function listOf(cell: string): readonly string[] | undefined {
  if (!cell.startsWith('["') || !cell.endsWith('"]')) return undefined
  try {
    const list: unknown = JSON.parse(cell)
    return Array.isArray(list) && list.length > 1 && list.every((text): text is string => typeof text === 'string') ? list : undefined
  } catch {
    return undefined
  }
}
