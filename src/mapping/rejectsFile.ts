/**
 * Recognizes a corrected file of `sluice rejects --csv` that is read as a source, and restores its cells. It has the columns of the
 * merchant's file, then five columns with the reasons of the rejects. The reasons are ignored.
 */
import type { Cell, SourceRow } from '../model/record.ts'

const reasonColumns = ['line', 'code', 'field', 'message', 'hint']
/** Matches a cell that a spreadsheet may read as a formula, also with apostrophes before it. */
const formula = /^'*[ \u00a0\u3000]*[=+\-@\t\r\u0000＝＋－＠]/

/**
 * Returns the indexes of the reason columns, the last ones of the table. There are five for each time that the rows were rejected. Empty if
 * the table is not a rejects file. If the table had a column of the same name, a reason column has the prefix `reject_`, once or several
 * times.
 */
export function reasonIndexes(columns: readonly string[]): number[] {
  let from = columns.length
  while (from > reasonColumns.length && endsWithReasons(columns.slice(0, from))) from -= reasonColumns.length
  return columns.slice(from).map((_, i) => from + i)
}

function endsWithReasons(columns: readonly string[]): boolean {
  const last = columns.slice(-reasonColumns.length)
  return reasonColumns.every((name, i) => last[i]?.replace(/^(?:reject_)+/, '') === name)
}

/** Returns true for the first line of a rejects file, also if a spreadsheet changed its delimiter. */
export function isRejectsHeader(line: string): boolean {
  return [',', ';', '\t'].some(
    (delimiter) => reasonIndexes(line.split(delimiter).map((cell) => cell.trim().replace(/^"(.*)"$/s, '$1'))).length > 0,
  )
}

/**
 * Returns a cell as one text; `''` for a missing cell. Several texts become a JSON array. A text that is itself such an array is put
 * into an array too, so that `originalCell` restores every cell.
 */
export function cellText(cell: Cell | undefined): string {
  const texts = typeof cell === 'string' ? [cell] : (cell ?? [])
  if (texts.length > 1) return JSON.stringify(texts)
  const [text = ''] = texts
  return parseTexts(text) === undefined ? text : JSON.stringify([text])
}

/** Returns a cell as `sluice rejects` writes it: with one more apostrophe before a text that a spreadsheet may read as a formula. */
export function spreadsheetCell(text: string): string {
  return formula.test(text) ? `'${text}` : text
}

/** Returns a row of a rejects file as in the merchant's file, and a row of any other file unchanged. */
export function originalRow(row: SourceRow): SourceRow {
  return reasonIndexes(row.columns).length === 0 ? row : withOriginalCells(row)
}

/** Returns the row as in the merchant's file: without the added apostrophes, and with the separate texts of `cellText`. */
export function withOriginalCells(row: SourceRow): SourceRow {
  return row.cells.some((cell) => typeof cell === 'string' && originalCell(cell) !== cell)
    ? { ...row, cells: row.cells.map((cell) => (typeof cell === 'string' ? originalCell(cell) : cell)) }
    : row
}

function originalCell(cell: string): Cell {
  if (cell.startsWith("'") && formula.test(cell)) return cell.slice(1)
  const texts = parseTexts(cell) ?? [cell]
  return texts.length === 1 ? (texts[0] ?? '') : texts
}

/** Returns the texts of a JSON array of texts; undefined for any other cell. */
function parseTexts(cell: string): readonly string[] | undefined {
  if (!cell.startsWith('["') || !cell.endsWith('"]')) return undefined
  try {
    const list: unknown = JSON.parse(cell)
    return Array.isArray(list) && list.every((text): text is string => typeof text === 'string') ? list : undefined
  } catch {
    return undefined
  }
}
