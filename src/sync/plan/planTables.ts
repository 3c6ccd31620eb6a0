/**
 * Declares the temporary tables of a plan, which exist on its connection. `sync/read` and `db/digests.ts` declare `stage`, `opted_out`,
 * `staged_digest` and `unseen_key`.
 */
import type pg from 'pg'
import type { Connection, Transaction } from '../../db/database.ts'
import { keptTableSql } from '../../db/temporaryTables.ts'

/** SQL literals of `change.effect`: effects of a read on a record. */
export const recordChangeSql = sqlLiterals('create', 'update', 'stale', 'missing', 'opted_out', 'suppressed')
export type RecordChange = keyof typeof recordChangeSql

/**
 * SQL literals of `pending_product.operation`. `lookup`: the plan puts the product once more, because its delete needs the product_key in
 * the answer. The next plan deletes the product.
 */
export const productChangeSql = sqlLiterals('upsert', 'delete', 'lookup')

function sqlLiterals<Name extends string>(...names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries(names.map((name) => [name, `'${name}'`])) as Record<Name, string> // has every name
}

type ColumnType = 'bytea' | 'bytea[]' | 'text' | 'integer' | 'boolean' | 'bigint' | 'tid' | 'timestamp with time zone'

const times = { effective_at: 'timestamp with time zone', expires_at: 'timestamp with time zone' } as const
const key = { key: 'bytea' } as const

export const planTables = {
  /**
   * Records that the read changes. `effect`: `RecordChange`. `record_ctid`: `ctid` of the stored record, if known, so that the update need
   * not search for it. `identifiers`, times and `load_id`: columns of the stored record, set only after a gated read. `former` then copies
   * them from here; after a full read it reads them from `record`.
   */
  change: { ...key, effect: 'text', identifiers: 'bytea[]', ...times, load_id: 'bigint', record_ctid: 'tid' },
  /** Stored versions of updated people, before this read changes them. */
  former: { ...key, identifiers: 'bytea[]', ...times, load_id: 'bigint' },
  /** Change of the reference count (number of records) of each identifier, and the record under which a new identifier is sent. */
  delta: { identifier: 'bytea', difference: 'integer', group_key: 'bytea' },
  /** First load: identifiers that several staged rows have. */
  shared_identifier: { identifier: 'bytea' },
  /** Identifiers with several rows in `delta`. */
  repeated_in_delta: { identifier: 'bytea' },
  /**
   * Records that share an identifier with another row. Their keys cannot be implied, so they need rows in `remote`
   * (docs/decisions/implied-keys.md).
   */
  sharing_record: key,
  /** Updated people whose times changed. `desired_times`: the new desired content of their identifiers. */
  changed_times: { ...key, desired_times: 'bytea' },
  /** First load: number of rows with each shared identifier, and the row under which it is sent. */
  shared_identifier_group: { identifier: 'bytea', row_count: 'integer', group_key: 'bytea' },
  /** First load: identifiers of a row that are sent under another row. */
  omitted: { ...key, identifiers: 'bytea[]' },
  /** Records to remove from the desired state. `cause`: a `RecordChange`. */
  removal: { ...key, cause: 'text' },
  /** Keys with a request that is unresolved, or that may still be applied late. */
  unresolved: key,
  /** Unconfirmed keys of earlier full refreshes. */
  resync: key,
  /** Start and end, over all rows, of each identifier whose times may differ from those of its group's record. */
  own_times: { ...key, ...times },
  /** Products that are out of sync or sent again. `operation`: one of `productChangeSql`. `deferred`: waits for a later plan. */
  pending_product: { ...key, operation: 'text', deferred: 'boolean' },
  /** Groups (identifiers that are sent as one user) with an identifier that is out of sync, due for renewal, or sent again. */
  pending_group: {
    group_key: 'bytea',
    /** An identifier is to be deleted. */
    deletes: 'boolean',
    /** An identifier is to be deleted because the end that its rows set has passed. */
    overdue: 'boolean',
    /** An identifier is to be deleted because its person is suppressed. */
    suppressed: 'boolean',
    /** An identifier lacks the desired content or end. */
    out_of_sync: 'boolean',
    /** The pending identifiers are only due for renewal. */
    renewal: 'boolean',
    /** A pending identifier is to be sent, because a row has it. */
    desired: 'boolean',
    /** The service has none of the identifiers. */
    created: 'boolean',
    /** New common content of the identifiers; null if they keep theirs. */
    content_version: 'bytea',
    /** Keys to delete, except the overdue ones, in hex and joined by commas. Null if there are none, and for `rerun --failed`. */
    keys_to_delete: 'text',
  },
  /**
   * Unconfirmed deletes that an earlier plan was allowed to send. For people, only the last started plan counts. For products, every plan
   * counts that was made since the product has been missing. `key`: product id or group.
   */
  allowed_delete: key,
  /** Groups of suppressed people, whose deletes no guard withholds. */
  exempt: { group_key: 'bytea' },
} satisfies Record<string, Readonly<Record<string, ColumnType>>>

type PlanTableName = keyof typeof planTables

/**
 * Replaces the rows of a table by those of `query`: trusted SQL with the columns in the declared order. Returns the number of rows.
 */
export async function fillTable(tx: Connection, name: PlanTableName, query: string, values: readonly unknown[] = []): Promise<number> {
  const columns = Object.entries<string>(planTables[name])
  const names = columns.map(([column]) => column).join(', ')
  const typed = columns.map(([column, type]) => `${column}::${type}`).join(', ')
  const insert = `insert into ${name} (${names}) select ${typed} from (${query}) q (${names})`
  if (values.length > 0) {
    await createOrEmptyTable(tx, name)
    return tx.execute(insert, values)
  }
  // One message saves a round trip for each of about ten tables of a plan.
  const results = (await tx.client.query(`${createOrEmptyTableSql(name)}; ${insert}`)) as unknown as readonly pg.QueryResult[]
  return results.at(-1)?.rowCount ?? 0
}

/** Runs ANALYZE on a table with a tenth of the usual sample. `columns`: SQL such as `(key, effect)`; '' for all columns. */
export async function analyzeWithSmallSample(tx: Transaction, name: PlanTableName | 'record', columns = ''): Promise<void> {
  await tx.query(`set local default_statistics_target = 10; analyze ${name} ${columns}; set local default_statistics_target to default`)
}

/** Creates a table, or deletes its rows. */
export async function createOrEmptyTable(tx: Connection, name: PlanTableName): Promise<void> {
  await tx.query(createOrEmptyTableSql(name))
}

function createOrEmptyTableSql(name: PlanTableName): string {
  const columns = Object.entries<string>(planTables[name]).map(([column, type]) => `${column} ${type}`)
  return keptTableSql(name, columns.join(', '))
}
