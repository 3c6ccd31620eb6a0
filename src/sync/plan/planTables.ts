/**
 * Temporary tables of a plan. Each is filled by one step and read by the ones behind it, on the plan's own connection; they go with
 * it. `stage` and `left_key` are filled before, by the reading (`read/stageTable.ts`, `db/digests.ts`).
 */
import type pg from 'pg'

interface PlanTable {
  readonly columns: Readonly<Record<string, 'bytea' | 'bytea[]' | 'text' | 'integer' | 'boolean' | 'timestamp with time zone'>>
  readonly filledBy: string
  readonly readBy: readonly string[]
}

const times = { effective_at: 'timestamp with time zone', expires_at: 'timestamp with time zone' } as const
const key = { key: 'bytea' } as const

export const planTables = {
  /** Records that the reading changes: create, update, stale, absent, leaving, suppressed. */
  change: { columns: { ...key, what: 'text' }, filledBy: 'diff', readBy: ['desired', 'changes', 'qualityGuard', 'brake'] },
  /** Updated records as they were. */
  former: { columns: { ...key, identifiers: 'bytea[]', ...times }, filledBy: 'desired', readBy: ['desired'] },
  /** Net change of the reference count of each identifier, and the row under which a new one is sent. */
  delta: { columns: { identifier: 'bytea', d: 'integer', group_key: 'bytea' }, filledBy: 'desired', readBy: ['desired'] },
  /** Identifiers that stand in several rows, or moved from one to another. */
  shared: { columns: { identifier: 'bytea' }, filledBy: 'desired, firstLoad', readBy: ['desired', 'firstLoad'] },
  /** Rows with other times than before, and the content that their identifiers should have. */
  retimed: { columns: { ...key, times: 'bytea' }, filledBy: 'desired', readBy: ['desired'] },
  /** First load: how many rows have a shared identifier, and the one under which it is sent. */
  holder: { columns: { identifier: 'bytea', n: 'integer', group_key: 'bytea' }, filledBy: 'firstLoad', readBy: ['firstLoad'] },
  /** First load: identifiers of a row that are sent under another one. */
  lost: { columns: { ...key, identifiers: 'bytea[]' }, filledBy: 'firstLoad', readBy: ['operations'] },
  /** Records that leave the desired state, and why. */
  removal: { columns: { ...key, cause: 'text' }, filledBy: 'desired, brake', readBy: ['desired'] },
  /** Keys that an older operation has not settled, or whose late bytes may still land. */
  unsettled: { columns: key, filledBy: 'todo', readBy: ['todo', 'desired'] },
  /** Keys that a full refresh before this plan still owes. */
  resync: { columns: key, filledBy: 'todo', readBy: ['todo'] },
  /** Times of identifiers that are not simply those of the row they are sent under. */
  own_end: { columns: { ...key, ...times }, filledBy: 'ownEnds', readBy: ['ownEnds', 'todo', 'operations'] },
  /** Products that are out of sync: upsert, delete, or learn (put once more, to be deleted by the next plan). */
  product_todo: { columns: { ...key, what: 'text', deferred: 'boolean' }, filledBy: 'todo', readBy: ['todo', 'operations'] },
  /** Groups of identifiers with any that is out of sync, or due for renewal. */
  group_todo: {
    columns: {
      group_key: 'bytea',
      deletes: 'boolean',
      overdue: 'boolean',
      dirty: 'boolean',
      renewal: 'boolean',
      created: 'boolean',
      deferred: 'boolean',
      stamp: 'bytea',
    },
    filledBy: 'todo',
    readBy: ['todo', 'operations'],
  },
  /** Deletes that passed the guards in an earlier plan. */
  judged: { columns: key, filledBy: 'todo', readBy: ['todo'] },
  /** Groups whose deletes no guard withholds: erasures. */
  exempt: { columns: { group_key: 'bytea' }, filledBy: 'todo', readBy: ['todo'] },
} satisfies Record<string, PlanTable>

type PlanTableName = keyof typeof planTables

/** Makes a table of what `query` (SQL of ours) returns, in the order of the declared columns. Returns how many rows it has. */
export async function fillTable(
  client: pg.PoolClient,
  name: PlanTableName,
  query: string,
  values: readonly unknown[] = [],
): Promise<number> {
  await client.query(`drop table if exists ${name}`)
  const filled = await client.query(`create temp table ${name} (${Object.keys(planTables[name].columns).join(', ')}) as ${query}`, [
    ...values,
  ])
  return filled.rowCount ?? 0
}

/** Makes an empty table. */
export async function createTable(client: pg.PoolClient, name: PlanTableName): Promise<void> {
  const columns = Object.entries(planTables[name].columns).map(([column, type]) => `null::${type} as ${column}`)
  await fillTable(client, name, `select ${columns.join(', ')} limit 0`)
}
