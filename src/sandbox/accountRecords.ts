/** Finds, creates and deletes the records of an account (`/12/accounts/:account_id/…`), for all areas. */
import { accountOf, type Call } from './area.ts'
import { notFound } from './refusal.ts'
import { isoSeconds } from './timestamps.ts'

/** Fields of nearly every record of the advertising host (spec Conventions). */
export interface AccountRecord {
  readonly id: string
  created_at: string
  updated_at: string
  deleted: boolean
}

/** Records by account id, then by record id, in the order of creation. */
export type Table<T> = Map<string, Map<string, T>>

/** Returns the records of the call's account, by id. */
export function recordsOf<T>(call: Call<unknown>, table: Table<T>): Map<string, T> {
  return recordsOfAccount(table, accountOf(call).id)
}

/** Returns the records of an account, by id. Adds an empty map for an account without records. */
export function recordsOfAccount<T>(table: Table<T>, accountId: string): Map<string, T> {
  let records = table.get(accountId)
  if (records === undefined) table.set(accountId, (records = new Map()))
  return records
}

/**
 * Returns the record that a path parameter names. A deleted record is found only with `with_deleted=true` (docs/spec-notes.md#errors).
 *
 * @throws {Refusal} 404 with `code`
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

/** Marks the record that a path parameter names as deleted, and returns it (spec 3.3). @throws {Refusal} as `findRecord` */
export function deleteRecord<T extends AccountRecord>(call: Call<unknown>, table: Table<T>, parameter: string, code: string): T {
  const record = findRecord(call, table, parameter, code)
  record.deleted = true
  record.updated_at = isoSeconds(call.now)
  return record
}

/** Returns the common fields of a record that the call creates. */
export function creationFields(call: Call<unknown>): Pick<AccountRecord, 'created_at' | 'updated_at' | 'deleted'> {
  const at = isoSeconds(call.now)
  return { created_at: at, updated_at: at, deleted: false }
}
