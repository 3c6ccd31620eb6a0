/** Stores the records of accounts (`/12/accounts/:account_id/…`), and creates handlers that list, return and delete them. */
import { recordOf } from '../unknownValue.ts'
import { accountOf, type Call, type Handler } from './area.ts'
import { listReply, matchesPrefix } from './lists.ts'
import { listParam, passesFilter, recordOfParam } from './params.ts'
import { notFound, ok } from './refusal.ts'
import { isoSeconds } from './timestamps.ts'

/** Fields of most records of the advertising host (spec Conventions). */
export interface AccountRecord {
  readonly id: string
  created_at: string
  updated_at: string
  deleted: boolean
}

/** Records by account id, then by record id. The records of an account are in the order of creation. */
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

export function addRecords<T extends { readonly id: string }>(table: Table<T>, accountId: string, records: readonly T[]): void {
  const stored = recordsOfAccount(table, accountId)
  for (const record of records) stored.set(record.id, record)
}

/**
 * Returns the record of the call's account whose id is in the path parameter `parameter`. Finds a deleted record only if the call has
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
  const showsDeleted = call.params['with_deleted'] === true
  return recordOfParam(call, parameter, recordsOf(call, table), code, (record) => !record.deleted || showsDeleted)
}

/** Marks a record as deleted now, and returns it (spec 3.3). */
export function markDeleted<T extends Pick<AccountRecord, 'updated_at' | 'deleted'>>(call: Call<unknown>, record: T): T {
  record.deleted = true
  record.updated_at = isoSeconds(call.now)
  return record
}

/** Returns the fields of `AccountRecord` except `id`, for a record that the call creates. */
export function creationFields(call: Call<unknown>): Pick<AccountRecord, 'created_at' | 'updated_at' | 'deleted'> {
  const at = isoSeconds(call.now)
  return { created_at: at, updated_at: at, deleted: false }
}

/** Properties of a resource for `recordHandlers`. `S`: state of the area. `T`: record of the resource. */
interface Resource<S, T> {
  readonly table: (state: S) => Table<T>
  /** Name of the path parameter with the id of a record. */
  readonly idParameter: string
  /** Error code of the 404 for a record that is not found. */
  readonly notFoundCode: string
  /** Field that each list parameter compares: `{ campaign_ids: 'id' }` selects the records whose `id` is in `campaign_ids`. */
  readonly filters: Readonly<Record<string, keyof T>>
  /** Attributes that `sort_by` may name. Default: as in `listReply`. */
  readonly sortable?: readonly string[]
  /** Returns false to hide a record: the list omits it, and get and delete answer 404. Default: always true. */
  readonly isVisible?: (call: Call<S>, record: T) => boolean
  /** Converts a record to its wire form. Default: the record itself. */
  readonly toWire?: (call: Call<S>, record: T) => unknown
  /** Called after a record was marked as deleted. */
  readonly onDeleted?: (call: Call<S>, record: T) => void
}

/**
 * Returns the handlers `NAME.list`, `NAME.get` and `NAME.delete` of a resource. The parameter `q` of a list selects records whose `name`
 * begins with `q`, ignoring case. To replace one of these handlers, an area lists its own handler with the same name after them.
 */
export function recordHandlers<S, T extends AccountRecord>(name: string, resource: Resource<S, T>): Readonly<Record<string, Handler<S>>> {
  const {
    table,
    idParameter,
    notFoundCode,
    filters,
    sortable,
    isVisible = () => true,
    toWire = (_, record) => record,
    onDeleted,
  } = resource
  const find = (call: Call<S>): T => {
    const record = findRecord(call, table(call.state), idParameter, notFoundCode)
    if (isVisible(call, record)) return record
    throw notFound(notFoundCode, idParameter, record.id)
  }
  return {
    [`${name}.list`]: (call) => {
      const filterValues = Object.entries(filters).map(([parameter, field]) => [listParam(call, parameter), field] as const)
      const selected = [...recordsOf(call, table(call.state)).values()].filter(
        (record) =>
          filterValues.every(([values, field]) => passesFilter(values, String(record[field]))) &&
          isVisible(call, record) &&
          matchesPrefix(String(recordOf(record)['name'] ?? ''), call.params['q']),
      )
      return listReply(call, selected, { ...(sortable === undefined ? {} : { sortable }), render: (record) => toWire(call, record) })
    },
    [`${name}.get`]: (call) => ok(toWire(call, find(call))),
    [`${name}.delete`]: (call) => {
      const record = markDeleted(call, find(call))
      onDeleted?.(call, record)
      return ok(toWire(call, record))
    },
  }
}
