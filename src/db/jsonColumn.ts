/** Decodes and encodes values of JSON columns. Another version or another program may have written the stored values. */
import type { z } from 'zod'
import { RunError } from '../errors.ts'
import { storableText } from '../storableText.ts'
import type { ColumnName, TableName } from './row.ts'

/**
 * Returns the decoder of a JSON column. The decoder gets the stored value and the id of its row, and leaves out keys that `schema` does not
 * have. For an invalid value it throws `DATABASE_VALUE_INVALID` with table, column and row, but without the value.
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

/** Returns the value as JSON that Postgres can store: `storableText` is applied to each of its texts. Null for null and undefined. */
export function jsonOrNull(value: object | null | undefined): string | null {
  return value == null ? null : JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? storableText(inner) : inner))
}
