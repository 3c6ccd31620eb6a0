/** Lists, reads and deletes records below an account (`/12/accounts/:account_id/…`), for the audiences, campaigns and creatives areas. */
import { recordOf } from '../unknownValue.ts'
import { accountOf, type Call, type Handler } from './area.ts'
import { listReply, matchesPrefix } from './lists.ts'
import { listParam, passesFilter } from './params.ts'
import { notFound, ok } from './refusal.ts'
import { isoSeconds } from './timestamps.ts'

/** Fields of most records of the advertising host (spec Conventions). */
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

/** Adds records to an account. */
export function addRecords<T extends { readonly id: string }>(table: Table<T>, accountId: string, records: readonly T[]): void {
  const stored = recordsOfAccount(table, accountId)
  for (const record of records) stored.set(record.id, record)
}

/**
 * Returns the record of the call's account that the path parameter `parameter` names. A deleted record is found only with
 * `with_deleted=true` (docs/spec-notes.md#errors).
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

/** Marks a record as deleted, and returns it (spec 3.3). */
export function markDeleted<T extends Pick<AccountRecord, 'updated_at' | 'deleted'>>(call: Call<unknown>, record: T): T {
  record.deleted = true
  record.updated_at = isoSeconds(call.now)
  return record
}

/** Returns the common fields of a record that the call creates. */
export function creationFields(call: Call<unknown>): Pick<AccountRecord, 'created_at' | 'updated_at' | 'deleted'> {
  const at = isoSeconds(call.now)
  return { created_at: at, updated_at: at, deleted: false }
}

/** Description of a type of record, from which `recordHandlers` creates the handlers. */
interface Resource<S, T> {
  readonly table: (state: S) => Table<T>
  /** Path parameter with the record's id. */
  readonly id: string
  /** Error code of the 404. */
  readonly missing: string
  /** Filtered field of the record, by list parameter. */
  readonly filters: Readonly<Record<string, keyof T>>
  /** Attributes that `sort_by` may name. Default: those of `listReply`. */
  readonly sortable?: readonly string[]
  /** Returns false for a record that the list omits, and for which get and delete answer 404. */
  readonly isVisible?: (call: Call<S>, record: T) => boolean
  /** Converts a record to its wire form. Default: the record itself. */
  readonly toWire?: (call: Call<S>, record: T) => unknown
}

/**
 * Returns the handlers `NAME.list`, `NAME.get` and `NAME.delete` of a resource. The parameter `q` of a list selects records whose `name`
 * begins with `q`, ignoring case. An area replaces one of the handlers by listing another one of the same name after them.
 */
export function recordHandlers<S, T extends AccountRecord>(name: string, resource: Resource<S, T>): Readonly<Record<string, Handler<S>>> {
  const { table, id, missing, filters, sortable, isVisible = () => true, toWire = (_, record) => record } = resource
  const find = (call: Call<S>): T => {
    const record = findRecord(call, table(call.state), id, missing)
    if (isVisible(call, record)) return record
    throw notFound(missing, id, record.id)
  }
  return {
    [`${name}.list`]: (call) => {
      const given = Object.entries(filters).map(([parameter, field]) => [listParam(call, parameter), field] as const)
      const found = [...recordsOf(call, table(call.state)).values()].filter(
        (record) =>
          given.every(([values, field]) => passesFilter(values, String(record[field]))) &&
          isVisible(call, record) &&
          matchesPrefix(String(recordOf(record)['name'] ?? ''), call.params['q']),
      )
      return listReply(call, found, { ...(sortable === undefined ? {} : { sortable }), render: (record) => toWire(call, record) })
    },
    [`${name}.get`]: (call) => ok(toWire(call, find(call))),
    [`${name}.delete`]: (call) => ok(toWire(call, markDeleted(call, find(call)))),
  }
}
