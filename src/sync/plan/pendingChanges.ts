/**
 * Selects the pending changes: keys that are out of sync and may be sent now. Keys with an unresolved older operation wait
 * (docs/guarantees.md#key-order) and count as deferred. Set-based, on the connection of the plan's transaction.
 */
import type pg from 'pg'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { entryOutcome, keysOf } from '../../db/entries/read.ts'
import { decodeResync } from '../../db/plans.ts'
import type { Row } from '../../db/row.ts'
import type { FirstLoad } from './firstLoad.ts'
import type { PlannedOperation } from './operations.ts'
import { fillTable } from './planTables.ts'

export interface PendingContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly full: boolean
  readonly changed: ChangedKeys
  readonly planId: string
  /** Selects only keys that this run left refused, ambiguous or pending. */
  readonly onlyFailedOf: number | undefined
  /** True if the table `resync` has outstanding keys of an earlier full refresh. */
  readonly hasResync: boolean
}

/** Pending changes of one type of key: products (`pendingProducts.ts`), or groups of identifiers (`pendingGroups.ts`). */
export interface PendingChanges {
  /** Fills the table of pending changes. Returns the number of deferred keys. */
  readonly collect: () => Promise<number>
  /** Counts the deletes that a guard may withhold. `suppressedBy`: do-not-reach lists, whose removals no guard withholds. */
  readonly countGuardedDeletes: (suppressedBy: readonly number[]) => Promise<GuardedDeletes>
  /** Returns the first remaining rows that lose identifiers: line, first digits of the row key's digest, masked identifiers. */
  readonly replacedIdentifiers: () => Promise<string[]>
  /** Removes the deletes from this plan, except exempt ones and, with `sendCleared`, those that an earlier plan cleared. */
  readonly withholdDeletes: (sendCleared: boolean) => Promise<void>
  /** Gives all identifiers of a changed group one common desired content. Groups with deletes get theirs when the plan is applied. */
  readonly unifyGroups: () => Promise<void>
  /** Counts the products that this plan puts once more so that the next one can delete them. */
  readonly countKeyLookups: () => Promise<number>
  /** Yields the operations of the plan, in sending order. `first`: result of a first load. */
  readonly operations: (first: FirstLoad | undefined) => AsyncIterable<readonly PlannedOperation[]>
}

export interface GuardedDeletes {
  /** All deletes, except those of people on the do-not-reach list, which are always sent (docs/guarantees.md#suppression-wins). */
  readonly all: number
  /**
   * Number of these that passed the guard or were approved in an earlier plan, but are not confirmed. After a crash, a pause or a
   * refusal they need no second approval.
   */
  readonly cleared: number
  /** Number of the others whose row is still in the source, without some of the synced identifiers. */
  readonly replaced: number
}

/** Returns SQL of the keys with an unresolved older operation, or whose late request may still be applied. */
export const unresolvedKeys = (destinationId: number): string =>
  `select distinct e.key
   from batch b cross join ${keysOf('b.id')} e
   where b.destination_id = ${destinationId} and e.outcome in ('pending', 'ambiguous')
     and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))
   union
   select key from remote where destination_id = ${destinationId} and late_until > statement_timestamp()`

export async function collectUnresolved(client: pg.PoolClient, destinationId: number): Promise<void> {
  await fillTable(client, 'unresolved', unresolvedKeys(destinationId))
  await client.query('analyze unresolved')
}

/** SQL of the plans of a destination, except those of `sluice plan` that wait for `apply`. */
export const begunPlans = (destinationId: number) => `plan p join run u on u.id = p.run_id
     where p.destination_id = ${destinationId} and (p.status <> 'ready' or u.trigger <> 'plan')`
/** SQL behind `begunPlans`: only the last one. */
export const lastBegun = 'order by coalesce(p.applied_at, p.created_at) desc limit 1'

/**
 * Fills `resync` with the unconfirmed keys of interrupted full refreshes. Returns the plans of these; if there are none, makes no
 * table.
 */
export async function collectResync(client: pg.PoolClient, destinationId: number): Promise<readonly string[]> {
  const { rows } = await client.query<Row<'plan', 'id' | 'review'>>(`select p.id, p.review from ${begunPlans(destinationId)} ${lastBegun}`)
  const plans = rows.flatMap(({ id, review }) => decodeResync(review, id).resync)
  if (plans.length === 0) return []
  const filled = await fillTable(
    client,
    'resync',
    `select distinct e.key from batch b cross join ${keysOf('b.id')} e
     where b.plan_id = any($1) and b.operation = 'upsert' and ${entryOutcome} <> 'confirmed'`,
    [plans],
  )
  return filled === 0 ? [] : plans
}

/** SQL condition on key `m` for `rerun --failed`: only keys of the open operations of that run. Empty without the option. */
export function onlyFailed({ onlyFailedOf }: PendingContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select e.key from run r join batch b on b.plan_id = r.plan_id cross join ${keysOf('b.id')} e
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

/** Counts the rows of a query without columns. */
export async function count(client: pg.PoolClient, query: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(`select count(*) as n from (${query}) c`)
  return Number(rows[0]?.n)
}
