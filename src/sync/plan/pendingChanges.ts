/**
 * Selects the pending changes. A key is a product id, or an identifier of a person. Its change is pending if it is out of sync, due for
 * renewal, or sent again by a full refresh. If a key has an unresolved request, its change waits for a later plan
 * (docs/guarantees.md#key-order), and counts as deferred.
 */
import type { Transaction } from '../../db/database.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { isUnresolved } from '../../db/batches/states.ts'
import { entryOutcome, keysOf } from '../../db/entries/read.ts'
import { decodeResync, lastPlanOf } from '../../db/plans.ts'
import type { DbRow } from '../../db/row.ts'
import type { FirstLoad } from './firstLoad.ts'
import type { PlannedOperation } from './plannedOperation.ts'
import { analyzeWithSmallSample, fillTable, recordChangeSql } from './planTables.ts'

export interface PendingContext {
  readonly tx: Transaction
  readonly destinationId: number
  /** True for a full refresh, which selects all desired keys, also those in sync. */
  readonly isFullRefresh: boolean
  readonly changed: ChangedKeys
  readonly planId: string
  /** Run that `rerun --failed` repeats. Only keys with an unconfirmed operation of this run are selected. Undefined for other runs. */
  readonly onlyFailedOf: number | undefined
  /** True if the table `resync` has keys of an earlier full refresh that it did not confirm. */
  readonly hasResync: boolean
}

/** Steps on the pending changes: of products (`pendingProducts.ts`), or of people (`pendingGroups.ts`). */
export interface PendingChanges {
  /** Fills the table of pending changes, without the deferred ones. Returns the numbers of deferred products or people. */
  readonly collect: () => Promise<Deferred>
  /**
   * Counts the deletes that a guard may withhold. Fills two tables for `withholdDeletes`: `allowed_delete` (deletes that an earlier plan
   * was allowed to send) and `exempt` (deletes of suppressed people). `suppressedBy`: ids of the do-not-reach lists whose people are
   * suppressed.
   */
  readonly markAndCountDeletes: (suppressedBy: readonly number[]) => Promise<GuardedDeletes>
  /**
   * Returns texts, with masked identifiers, of the first five rows that lose identifiers and are still in the source. None for products.
   */
  readonly describeRowsLosingIdentifiers: () => Promise<string[]>
  /** Removes the deletes from this plan, except those in `exempt` and, with `sendAllowedBefore`, those in `allowed_delete`. */
  readonly withholdDeletes: (options: { readonly sendAllowedBefore: boolean }) => Promise<void>
  /**
   * If the plan writes new content (`PlanWork.writesContent`), gives all identifiers of a changed user one desired content. Does nothing
   * for products.
   */
  readonly unifyGroups: () => Promise<void>
  /** Counts the people that this plan sends and of whom the service has nothing; 0 for products. */
  readonly countNewPeople: () => Promise<number>
  /** Counts the products that this plan puts only to look their product_key up. The next plan deletes them. 0 for people. */
  readonly countKeyLookups: () => Promise<number>
  /** Counts the products or people that this plan sends although their row is rejected or missing. */
  readonly countWithoutValidRow: () => Promise<number>
  /** Yields the operations of the plan, in sending order. `firstLoad`: undefined if the plan is not a first load. */
  readonly operations: (firstLoad: FirstLoad | undefined) => AsyncIterable<readonly PlannedOperation[]>
}

/** Numbers of products or groups that wait for unresolved requests. */
export interface Deferred {
  readonly all: number
  /** Only products or people to send that have a valid row in the source. */
  readonly valid: number
}

export const noneDeferred: Deferred = { all: 0, valid: 0 }

/**
 * Deletes the deferred rows from the table of pending changes, and returns their numbers. `deleting`: SQL that deletes them and returns
 * `key`, and `desired` (false for deletes).
 */
export async function removeDeferred(tx: Transaction, destinationId: number, deleting: string): Promise<Deferred> {
  const [counts] = await tx.query<Record<'all' | 'desired' | 'without_row', string>>(
    `with deferred as (${deleting})
     select count(*) as all, count(*) filter (where desired) as desired,
       (select count(*) from deferred where desired and key in (${recordsWithoutValidRow(destinationId)})) as without_row
     from deferred`,
  )
  return { all: Number(counts?.all), valid: Number(counts?.desired) - Number(counts?.without_row) }
}

/** Numbers of deletes that a guard may withhold. */
export interface GuardedDeletes {
  /** All deletes except those of suppressed people (docs/architecture.md#deletes-need-proof). */
  readonly guardedDeletes: number
  /**
   * Deletes that an earlier plan was allowed to send, and that are not confirmed. They need no second approval. A delete counts
   * too if that plan only looked its product_key up (docs/decisions/lost-delete-answers.md).
   */
  readonly allowedBefore: number
  /** Deletes that only remove identifiers from people whose row is still in the source. Without those in `allowedBefore`. */
  readonly identifierOnlyDeletes: number
}

/** Returns SQL of the keys with a request that is unresolved, or that may still be applied late. */
export const unresolvedKeys = (destinationId: number): string =>
  `select distinct e.key
   from batch b cross join ${keysOf('b.id')} e
   where b.destination_id = ${destinationId} and ${isUnresolved}
   union
   select key from remote where destination_id = ${destinationId} and late_until > statement_timestamp()`

/** Fills the table `unresolved` with `unresolvedKeys`. */
export async function collectUnresolved(tx: Transaction, destinationId: number): Promise<void> {
  await fillTable(tx, 'unresolved', unresolvedKeys(destinationId))
  await analyzeWithSmallSample(tx, 'unresolved')
}

/**
 * Fills the table `resync` with the unconfirmed keys of interrupted full refreshes. Returns the ids of their plans. If there are no such
 * keys, returns no id, and the table may not exist.
 */
export async function collectResync(tx: Transaction, destinationId: number): Promise<readonly string[]> {
  const rows = await tx.query<DbRow<'plan', 'id' | 'review'>>(lastPlanOf(destinationId))
  const plans = rows.flatMap(({ id, review }) => decodeResync(review, id).resync)
  if (plans.length === 0) return []
  const keyCount = await fillTable(
    tx,
    'resync',
    // Leaves out a key that one of these plans confirmed, although another did not.
    `select e.key from batch b cross join ${keysOf('b.id')} e
     where b.plan_id = any($1) and b.operation = 'upsert' group by e.key having not bool_or(${entryOutcome} = 'confirmed')`,
    [plans],
  )
  return keyCount === 0 ? [] : plans
}

/** Returns the SQL condition ` and …` of `rerun --failed` for key `m`; '' for other runs. */
export function andOnlyFailed({ onlyFailedOf }: PendingContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select e.key from run r join batch b on b.plan_id = r.plan_id cross join ${keysOf('b.id')} e
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

/** Returns SQL of the records whose row is rejected or missing. */
export const recordsWithoutValidRow = (destinationId: number): string =>
  `select r.key from record r where r.destination_id = ${destinationId} and r.status <> 'live'
   union select c.key from change c where c.effect = ${recordChangeSql.missing}`
