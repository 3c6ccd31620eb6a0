/** Columns that may say who has left, and that no setting reads: unread, these people would be sent (bad-inputs 201). */
import { isLeftWord, tellsConsent } from '../consentColumns.ts'
import { hideStray } from '../mask.ts'
import type { Mapped, Row, Warning } from '../record.ts'
import { trimText } from '../text.ts'

/** By their names. */
export function consentColumns(columns: readonly string[], used: ReadonlySet<number>): Warning[] {
  return columns.flatMap((column, index) =>
    !used.has(index) && tellsConsent(column)
      ? [
          {
            line: 1,
            code: 'CONSENT_UNMAPPED',
            field: column,
            message: `the column "${hideStray(column)}" seems to say who may be reached, and consent: does not read it`,
          },
        ]
      : [],
  )
}

/** Rows looked at: a column of states shows itself soon, and the rows behind cost nothing. */
const rowsLooked = 2000

/** Columns nobody reads and whose name tells nothing: `status`, `state`, `list`. */
export function leftColumns(columns: readonly string[], used: ReadonlySet<number>): number[] {
  return columns.flatMap((column, index) => (used.has(index) || tellsConsent(column) ? [] : [index]))
}

/** Says of rows that their cells tell who left, where the column's name does not: of the first rows, each. */
export function lookingForLeft(indexes: readonly number[], map: (row: Row) => Mapped): (row: Row) => Mapped {
  let left = rowsLooked
  return (row) => {
    const mapped = map(row)
    if (left <= 0) return mapped
    left -= 1
    const found: Warning[] = []
    for (const index of indexes) {
      const cell = row.cells[index]
      if (typeof cell !== 'string' || !isLeftWord(cell)) continue
      const field = row.columns[index] ?? ''
      found.push({
        line: row.line,
        code: 'LEFT_UNMAPPED',
        field,
        message: `the column "${hideStray(field)}" holds "${trimText(cell)}", and consent: does not read it`,
      })
    }
    return found.length === 0 ? mapped : { ...mapped, warnings: [...mapped.warnings, ...found] }
  }
}
