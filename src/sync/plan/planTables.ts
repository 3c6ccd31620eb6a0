/**
 * Declares the temporary tables of a plan. `readAndPlan.ts` and `auditPipeline.ts` drop them. An erasure drops the table `removal`. `stage`
 * and `opted_out` are declared in `sync/read`, `unseen_key` in `db/digests.ts`.
 */
import type pg from 'pg'
import type { Transaction } from '../../db/database.ts'

/** Effects of a read on a record: values of `change.what`, as SQL. */
export const recordChange = sqlLiterals('create', 'update', 'stale', 'missing', 'opted_out', 'suppressed')
/** Effect of a read on a record. */
export type RecordChange = keyof typeof recordChange

/**
 * Pending operation on a product: values of `pending_product.what`, as SQL. `lookup`: the product is put once more, because its delete
 * needs the product_key of the answer. The next plan deletes it.
 */
export const productChange = sqlLiterals('upsert', 'delete', 'lookup')

/** Returns the SQL literal of each name. */
function sqlLiterals<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, `'${name}'`])) as Record<Name, string> // has every name
}

/** Type of a column. */
type ColumnType = 'bytea' | 'bytea[]' | 'text' | 'integer' | 'boolean' | 'bigint' | 'tid' | 'timestamp with time zone'

const times = { effective_at: 'timestamp with time zone', expires_at: 'timestamp with time zone' } as const
const key = { key: 'bytea' } as const

/** Temporary tables of a plan, with the columns in their order. */
export const planTables = {
  /**
   * Records that the read changes. `what`: `recordChange`. `place`: `ctid` of a stored record, so that its update need not search it; null
   * if unknown. `identifiers`, the times and `load_id` are those of the stored record before this read:
   *
   * - After a gated read they are filled for staged records, which are few (`read/snapshot.ts`).
   * - After a whole read they are null, because copying them for each update is slow. The table `former` has them for updated people.
   */
  change: { ...key, what: 'text', identifiers: 'bytea[]', ...times, load_id: 'bigint', place: 'tid' },
  /** Identifiers, times and `load_id` of updated people before this read. */
  former: { ...key, identifiers: 'bytea[]', ...times, load_id: 'bigint' },
  /** Net change of the reference count of each identifier, and the row under which a new identifier is sent. */
  delta: { identifier: 'bytea', difference: 'integer', group_key: 'bytea' },
  /** First load: identifiers that several staged rows have. */
  shared_identifier: { identifier: 'bytea' },
  /** Identifiers with several rows in `delta`. */
  repeated_in_delta: { identifier: 'bytea' },
  /**
   * Records whose keys need rows in `remote`, because another row has or gains one of their identifiers. Keys of other records may be
   * implied (docs/decisions/implied-keys.md).
   */
  sharing_record: key,
  /** Updated people whose times changed. `desired_times`: the new desired content of their identifiers. */
  changed_times: { ...key, desired_times: 'bytea' },
  /** First load: number of rows with each shared identifier, and the row under which the identifier is sent. */
  shared_identifier_group: { identifier: 'bytea', row_count: 'integer', group_key: 'bytea' },
  /** First load: identifiers of a row that are sent under another row. */
  omitted: { ...key, identifiers: 'bytea[]' },
  /** Records to remove from the desired state, with the cause. */
  removal: { ...key, cause: 'text' },
  /** Keys with an unresolved older operation, or whose late request may still be applied. */
  unresolved: key,
  /** Outstanding keys of earlier full refreshes. */
  resync: key,
  /** Identifiers that several rows have, or that are sent under another row. The times are computed from all rows of the identifier. */
  own_end: { ...key, ...times },
  /**
   * Products that are out of sync, or sent again for a full refresh or a changed id (`keepRenamed`). `what`: `productChange`. `deferred`:
   * the product has an unresolved operation, so it is removed from the plan.
   */
  pending_product: { ...key, what: 'text', deferred: 'boolean' },
  /**
   * Groups with at least one pending identifier. An identifier is pending if one of these is true:
   *
   * - It is out of sync.
   * - It is due for renewal.
   * - A full refresh sends it again.
   * - The end of its rows is not the confirmed end.
   */
  pending_group: {
    group_key: 'bytea',
    /** An identifier is to be deleted. */
    deletes: 'boolean',
    /** An identifier is to be deleted because the end of its rows has passed. */
    overdue: 'boolean',
    /** An identifier is to be deleted because its person is suppressed. */
    suppressed: 'boolean',
    /** The content or the end of an identifier is not the desired one. */
    out_of_sync: 'boolean',
    /** The pending identifiers are only due for renewal. */
    renewal: 'boolean',
    /** A pending identifier stays and is to be sent. */
    desired: 'boolean',
    /** The service has none of the identifiers. */
    created: 'boolean',
    /** New common content of the identifiers; null if they keep theirs. */
    content_version: 'bytea',
    /** Keys to delete, except the overdue ones, in hex and joined by commas. Null if there are none, and for `rerun --failed`. */
    keys_to_delete: 'text',
  },
  /** Deletes that an earlier plan was allowed to send, and that are not confirmed. */
  cleared: key,
  /** Groups of suppressed people, whose deletes no guard withholds. */
  exempt: { group_key: 'bytea' },
} satisfies Record<string, Readonly<Record<string, ColumnType>>>

type PlanTableName = keyof typeof planTables

/**
 * Creates a table from the rows of `query`, trusted SQL whose columns have the declared order. Replaces an existing table. Returns the
 * number of rows.
 */
export async function fillTable(tx: Transaction, name: PlanTableName, query: string, values: readonly unknown[] = []): Promise<number> {
  const drop = `drop table if exists ${name}`
  const columns = Object.entries<string>(planTables[name])
  const names = columns.map(([column]) => column).join(', ')
  const typed = columns.map(([column, type]) => `${column}::${type}`).join(', ')
  const create = `create temp table ${name} (${names}) as select ${typed} from (${query}) q (${names})`
  if (values.length > 0) {
    await tx.query(drop)
    return tx.execute(create, values)
  }
  // Both statements are one message. This saves a round trip for each of about ten tables of a plan. The driver returns a result for each
  // statement.
  const results = (await tx.client.query(`${drop}; ${create}`)) as unknown as readonly pg.QueryResult[]
  return results.at(-1)?.rowCount ?? 0
}

/**
 * Analyzes a table with a tenth of the usual sample. Queries need the number of its rows, and how often the few values of a column occur.
 * `columns`: SQL of the analyzed columns, default all.
 */
export async function analyzeTable(tx: Transaction, name: PlanTableName | 'record', columns = ''): Promise<void> {
  await tx.query(`set local default_statistics_target = 10; analyze ${name} ${columns}; set local default_statistics_target to default`)
}

/** Creates an empty table, or replaces an existing table by an empty one. */
export async function createTable(tx: Transaction, name: PlanTableName): Promise<void> {
  const columns = Object.entries<string>(planTables[name]).map(([column, type]) => `${column} ${type}`)
  await tx.query(`drop table if exists ${name}; create temp table ${name} (${columns.join(', ')})`)
}
