/** Decodes JSON columns, which another version or another program may have written. */
import type { z } from 'zod'
import { RunError } from '../errors.ts'
import type { ColumnName, TableName } from './row.ts'

/**
 * Returns the decoder of a JSON column. It leaves out keys that this version does not know.
 *
 * @throws {RunError} `DATABASE_VALUE_INVALID` with table, column and row, and never with the value
 */
export function jsonColumn<Name extends TableName, Value>(
  table: Name,
  column: ColumnName<Name>,
  schema: z.ZodType<Value>,
): (stored: unknown, row: number | string) => Value {
  return (stored, row) => {
    const decoded = schema.safeParse(stored)
    if (decoded.success) return decoded.data
    const [issue] = decoded.error.issues
    const path = issue === undefined || issue.path.length === 0 ? 'the value' : issue.path.join('.')
    throw new RunError('DATABASE_VALUE_INVALID', `${table}.${column} of row ${row}: ${path}: ${issue?.message ?? 'not readable'}`, {
      where: `${table}.${column}, row ${row}`,
      hint: 'upgrade Sluice if a newer version wrote it; else restore the row from a backup',
    })
  }
}
