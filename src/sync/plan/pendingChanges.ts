/**
 * Selects the pending changes: keys that are out of sync, due for renewal, or sent again by a full refresh. Keys with an unresolved older
 * operation wait (docs/guarantees.md#key-order) and count as deferred.
 */
import type { Transaction } from '../../db/database.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { isUnresolved } from '../../db/batches/states.ts'
import { entryOutcome, keysOf } from '../../db/entries/read.ts'
import { decodeResync, lastPlanOf } from '../../db/plans.ts'
import type { Row } from '../../db/row.ts'
import type { FirstLoad } from './firstLoad.ts'
import type { PlannedOperation } from './plannedOperation.ts'
import { analyzeTable, fillTable, recordChange } from './planTables.ts'

/** Transaction, destination and plan whose changes are selected. */
export interface PendingContext {
  readonly tx: Transaction
  readonly destinationId: number
  /** True for a full refresh: all desired keys are selected, also those in sync. */
  readonly full: boolean
  /** Keys that may be out of sync. */
  readonly changed: ChangedKeys
  readonly planId: string
  /**
   * Run that `rerun --failed` repeats. Only keys with an operation that the repeated run did not confirm are selected. Undefined: all keys.
   */
  readonly onlyFailedOf: number | undefined
  /** True if the table `resync` has outstanding keys of an earlier full refresh. */
  readonly hasResync: boolean
}

/** Pending changes of one type of key: products (`pendingProducts.ts`), or groups of identifiers (`pendingGroups.ts`). */
export interface PendingChanges {
  /** Fills the table of pending changes. Returns the numbers of deferred products or groups. */
  readonly collect: () => Promise<Deferred>
  /**
   * Counts the deletes that a guard may withhold. Marks the deletes that `withholdDeletes` may leave in the plan: the cleared ones
   * (`GuardedDeletes.cleared`), and the exempt ones, of suppressed people. `suppressedBy`: ids of the do-not-reach lists whose people are
   * suppressed.
   */
  readonly markAndCountDeletes: (suppressedBy: readonly number[]) => Promise<GuardedDeletes>
  /**
   * Returns the first five rows that stay and lose identifiers; none for products. Each is a text with the line, the first digits of the
   * row key's digest, and the masked identifiers.
   */
  readonly rowsLosingIdentifiers: () => Promise<string[]>
  /** Removes the deletes from this plan, except the exempt ones and, with `sendCleared`, the cleared ones. */
  readonly withholdDeletes: (options: { readonly sendCleared: boolean }) => Promise<void>
  /**
   * Gives all identifiers of a changed group one common desired content. Does nothing for products, and if the plan does not write this
   * content (`PlanWork.writesContent`).
   */
  readonly unifyGroups: () => Promise<void>
  /** Counts the people to send of whom the service has nothing yet; 0 for products. */
  readonly countCreates: () => Promise<number>
  /** Counts the products that this plan puts once more so that the next plan can delete them; 0 for people. */
  readonly countKeyLookups: () => Promise<number>
  /** Counts the products or people that this plan sends although they have no valid row (`recordsWithoutValidRow`). */
  readonly countWithoutValidRow: () => Promise<number>
  /** Yields the operations of the plan, in sending order. `first`: result of a first load; undefined after a diff. */
  readonly operations: (first: FirstLoad | undefined) => AsyncIterable<readonly PlannedOperation[]>
}

/** Numbers of products or groups that wait for unresolved requests. */
export interface Deferred {
  readonly all: number
  /** Without deletes, and without records that have no valid row. */
  readonly valid: number
}

export const noneDeferred: Deferred = { all: 0, valid: 0 }

/**
 * Runs `deleting`, SQL that deletes the deferred rows, and returns their numbers. The SQL returns the columns `key`, and `desired`: false
 * for deletes.
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
  /** All deletes except those of suppressed people, to which no guard applies (docs/architecture.md#deletes-need-proof). */
  readonly all: number
  /**
   * Deletes that passed the guards or were approved in an earlier plan, but are not confirmed. After a crash, a pause or a refusal they
   * need no second approval. If the product_key of a product was unknown, the earlier plan may have only put the product to get this key
   * (docs/decisions/lost-delete-answers.md).
   */
  readonly cleared: number
  /** Other deletes that only remove identifiers: the row is still in the source, without some of the synced identifiers. */
  readonly identifierDeletes: number
}

/** Returns SQL of the keys that have an unresolved older operation, or of which a late request may still be applied. */
export const unresolvedKeys = (destinationId: number): string =>
  `-- keys of batches whose request is unresolved
   select distinct e.key
   from batch b cross join ${keysOf('b.id')} e
   where b.destination_id = ${destinationId} and ${isUnresolved}
   union
   -- keys for which a late request may still be applied
   select key from remote where destination_id = ${destinationId} and late_until > statement_timestamp()`

/** Fills the table `unresolved` with the keys of `unresolvedKeys`. */
export async function collectUnresolved(tx: Transaction, destinationId: number): Promise<void> {
  await fillTable(tx, 'unresolved', unresolvedKeys(destinationId))
  await analyzeTable(tx, 'unresolved')
}

/**
 * Fills the table `resync` with the unconfirmed keys of interrupted full refreshes. Returns the plans of these refreshes. If no such key is
 * left, returns no plan, and the table may not exist.
 */
export async function collectResync(tx: Transaction, destinationId: number): Promise<readonly string[]> {
  const rows = await tx.query<Row<'plan', 'id' | 'review'>>(lastPlanOf(destinationId))
  const plans = rows.flatMap(({ id, review }) => decodeResync(review, id).resync)
  if (plans.length === 0) return []
  const filled = await fillTable(
    tx,
    'resync',
    // One of these plans may have confirmed a key that an earlier one did not.
    `select e.key from batch b cross join ${keysOf('b.id')} e
     where b.plan_id = any($1) and b.operation = 'upsert' group by e.key having not bool_or(${entryOutcome} = 'confirmed')`,
    [plans],
  )
  return filled === 0 ? [] : plans
}

/**
 * Returns the SQL condition of `rerun --failed`, with a leading `and`: the repeated run did not confirm an operation of key `m`. Returns
 * '' for other runs.
 */
export function onlyFailed({ onlyFailedOf }: PendingContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select e.key from run r join batch b on b.plan_id = r.plan_id cross join ${keysOf('b.id')} e
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

/** Returns SQL of the records whose row is rejected or missing. Includes missing records whose delete a guard withholds. */
export const recordsWithoutValidRow = (destinationId: number): string =>
  `select r.key from record r where r.destination_id = ${destinationId} and r.status <> 'live'
   union select c.key from change c where c.what = ${recordChange.missing}`

/** Counts the rows of `query`, trusted SQL. */
export async function countRows(tx: Transaction, query: string): Promise<number> {
  const rows = await tx.query<{ n: string }>(`select count(*) as n from (${query}) c`)
  return Number(rows[0]?.n)
}
