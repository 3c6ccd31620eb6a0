/** Records below `/12/accounts/:account_id/…`: found, marked as deleted and stamped the same way in every area. */
import type { Call } from './area.ts'
import { notFound } from './refusal.ts'
import { isoSeconds } from './timestamps.ts'
import { accountOf } from './area.ts'

/** Fields of nearly every advertising record (spec, Conventions). */
export interface AccountRecord {
  readonly id: string
  created_at: string
  updated_at: string
  deleted: boolean
}

/** Records by account id, then by their own id, in the order of their creation. */
export type Table<T> = Map<string, Map<string, T>>

/** The records of the call's account. */
export function recordsOf<T>(call: Call<unknown>, table: Table<T>): Map<string, T> {
  // Every endpoint that gets here has `:account_id` in its path, and the server resolved it.
  return recordsOfAccount(table, accountOf(call).id)
}

export function recordsOfAccount<T>(table: Table<T>, accountId: string): Map<string, T> {
  let records = table.get(accountId)
  if (records === undefined) table.set(accountId, (records = new Map()))
  return records
}

/**
 * The record that a path parameter names. Deleted ones are found only with `with_deleted=true`, so a write or a second
 * DELETE answers 404 (spec 7, docs/spec-notes.md#errors).
 */
export function findRecord<T extends { readonly deleted: boolean }>(
  call: Call<unknown>,
  table: Table<T>,
  parameter: string,
  code: string,
): T {
  const id = String(call.params[parameter])
  const record = recordsOf(call, table).get(id)
  if (record === undefined || (record.deleted && call.params['with_deleted'] !== true)) throw notFound(code, parameter, id)
  return record
}

/** Marks the record as deleted and hands it back (spec 3.3). */
export function deleteRecord<T extends AccountRecord>(call: Call<unknown>, table: Table<T>, parameter: string, code: string): T {
  const record = findRecord(call, table, parameter, code)
  record.deleted = true
  record.updated_at = isoSeconds(call.now)
  return record
}

/** A new record's common fields at the call's time. */
export function stamp(call: Call<unknown>): Pick<AccountRecord, 'created_at' | 'updated_at' | 'deleted'> {
  const at = isoSeconds(call.now)
  return { created_at: at, updated_at: at, deleted: false }
}
