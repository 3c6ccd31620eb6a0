/** CSV that a spreadsheet may open: RFC 4180, CRLF, and no cell that a program would run as a formula. */

/**
 * One line of CSV. A cell that begins with `=`, `+`, `-`, `@`, TAB, CR or NUL, or with the full-width forms of the four
 * signs, gets a leading apostrophe, and is quoted, because some programs look behind a separator of their own. Blanks
 * before such a sign do not hide it.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}

const formula = /^[ \u00a0\u3000]*[=+\-@\t\r\u0000＝＋－＠]/

function csvCell(text: string): string {
  const harmless = formula.test(text) ? `'${text}` : text
  return harmless !== text || /[",;\t\r\n\u0000]|^\s|\s$/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
