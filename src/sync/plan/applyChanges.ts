import { deleteStagedDigests } from '../../db/digests.ts'
import { countRows } from '../../db/queryable.ts'
import { crashPoint } from '../crashPoint.ts'
import { suppressErasedRows } from '../read/resolveStage.ts'
import { optOutByIdentifier, optOutByOtherRows, suppressErasedRecords, suppressByLists } from './sharedDesiredSteps.ts'
import { diffStage, type ChangeCounts } from './diff.ts'
import type { FirstLoad } from './firstLoad.ts'
import { createOrEmptyTable } from './planTables.ts'
import type { PlanWork } from './planWork.ts'
import { refreshStatistics } from './refreshStatistics.ts'
import { collectUnresolved } from './pendingChanges.ts'
import type { UpdatedField } from './updatedFields.ts'
import type { Missing } from '../../destinations/destination.ts'

/** Changes that a read makes to the stored records, and data for the next steps of the plan. */
export interface Changes {
  readonly diff: ChangeCounts
  /** Number of missing products that are desired again, because their row is back, but rejected. */
  readonly desiredAgainCount: number
  readonly missingPolicy: Missing
  /** Changed fields of products, for the review of the plan. Empty for people, and if there are too many updates. */
  readonly updateFields: readonly UpdatedField[]
  /** Result of a first load; undefined if the read was compared with stored records. */
  readonly firstLoad: FirstLoad | undefined
}

const noDiff: ChangeCounts = { creates: 0, updates: 0, stale: 0, missing: 0, optedOut: 0, suppressed: 0 }

/**
 * Writes creates and updates to the desired state (`desiredState.ts`). `removeOrWithhold` applies the removals later. A first load of
 * people may imply keys, which get no row (docs/decisions/implied-keys.md). Then writes only the records that share identifiers;
 * `loadParts.ts` writes the others.
 */
export async function applyChanges(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, input } = work
  await refreshStatistics(tx, destinationId, input.previousValid ?? 0)
  if (mayHaveErasedPeople(work) && input.reading !== 'unchanged') await suppressRowsErasedSince(work)
  return work.isFirstLoad ? applyFirstLoad(work) : applyDiff(work)
}

/** If people were erased after the read, marks their staged rows as suppressed. */
export async function suppressRowsErasedSince({ tx, destinationId, deps }: PlanWork): Promise<void> {
  const suppressedCount = await suppressErasedRows(tx, { destinationId, service: deps.service.origin })
  // The staged digests must be those of valid rows only.
  if (suppressedCount > 0) await deleteStagedDigests(tx)
}

/** Writes the desired state of a destination that has none. Every valid row is a create. */
async function applyFirstLoad(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, input } = work
  work.onIdle?.()
  await createOrEmptyTable(tx, 'change')
  crashPoint('plan.diffed')
  await work.desired.context.changed.markAllChanged()
  const firstLoad = await work.desired.writeFirstLoad({
    // A do-not-reach list has no implied keys, because audiences look its keys up in `remote`.
    implyingRunId: work.type.suppresses ? undefined : work.run.id,
    validCount: input.rows.valid,
    facts: input.identifiers,
  })
  // With implied keys, `loadParts.ts` writes the records later, and refreshes the statistics then.
  if (firstLoad.implyingRunId === undefined) await refreshStatistics(tx, destinationId, firstLoad.creates)
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)
  return { diff: { ...noDiff, creates: firstLoad.creates }, desiredAgainCount: 0, missingPolicy: 'ignore', updateFields: [], firstLoad }
}

/** Compares the read with the stored records, and applies creates and updates. Leaves the records to remove in the table `change`. */
async function applyDiff(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, desired, input } = work
  const { context } = desired
  const { removesBy } = work.type
  const { reading } = input
  const isUnchanged = reading === 'unchanged'
  // If the source is unchanged, `change` is empty at first, but later statements may add records.
  if (isUnchanged) await createOrEmptyTable(tx, 'change')
  const initialDiff = isUnchanged ? noDiff : await diffStage(tx, destinationId, reading, work.onIdle)
  // Each call below marks or adds records in `change`. All but the first return their numbers by the change in `initialDiff`.
  const optedOutByIdentifier = removesBy === 'identifier' ? await optOutByIdentifier(context) : 0
  const erased = mayHaveErasedPeople(work) ? await suppressErasedRecords(context, work.deps.service.origin) : noDiff
  const onLists = await suppressByLists(context, input.suppressedBy)
  const optedOutByRows = work.type.reachesPeople && !isUnchanged ? await optOutByOtherRows(context) : noDiff
  crashPoint('plan.diffed')
  const missingPolicy = missingPolicyOf(work)
  await desired.warnOfDoubtfulChanges(
    { ...work, db: work.deps.db, isIncomplete: input.incompleteReason !== undefined },
    { ...initialDiff, missing: work.ignoresMissing ? 0 : initialDiff.missing },
  )
  const updateFields = await desired.updatedFields(initialDiff.updates)
  let desiredAgainCount = 0
  // An unchanged source has no creates or updates. To skip this saves 20 ms.
  if (!isUnchanged) {
    await context.changed.markAllIfMany(initialDiff.creates + initialDiff.updates)
    desiredAgainCount = await desired.applyUpserts()
    await refreshStatistics(tx, destinationId, input.rows.valid)
  }
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)

  const missingCorrection = await desired.adjustMissing(missingPolicy)
  // A record that the calls above marked counts only as `optedOut` or `suppressed`, and not by its change in `initialDiff`. Exception: on a
  // do-not-reach list, which ignores missing records, `optOutByIdentifier` may mark a record that also counts as missing.
  const diff: ChangeCounts = {
    ...initialDiff,
    updates: initialDiff.updates - erased.updates,
    optedOut: initialDiff.optedOut - erased.optedOut + optedOutByIdentifier + optedOutByRows.missing + optedOutByRows.stale,
    missing: initialDiff.missing - erased.missing - onLists.missing - optedOutByRows.missing + missingCorrection,
    stale: isUnchanged ? await countStale(work) : initialDiff.stale - erased.stale - onLists.stale - optedOutByRows.stale,
    suppressed: initialDiff.suppressed + onLists.missing + onLists.stale + erased.suppressed,
  }
  // Must run before the savepoint to which the guards may roll back, because the flag `all_changed` must stay set.
  await context.changed.markAllIfMany(diff.optedOut + diff.suppressed + (missingPolicy === 'delete' ? diff.missing : 0))
  return { diff, desiredAgainCount, missingPolicy, updateFields, firstLoad: undefined }
}

function mayHaveErasedPeople({ type, latestErasureId }: PlanWork): boolean {
  return type.reachesPeople && latestErasureId > 0
}

/**
 * Returns the pipeline's policy for missing records; `ignore` after an incomplete read, and if the run reads a backfill source or nothing.
 */
function missingPolicyOf({ pipeline: { destination }, type, input, ignoresMissing }: PlanWork): Missing {
  return ignoresMissing || input.incompleteReason !== undefined ? 'ignore' : type.missing(destination)
}

/** Returns true if this plan changed the desired content. `missing`: number of missing records that it removes or sets out of stock. */
export function changesDesiredContent({ diff, desiredAgainCount }: Changes, missing: number): boolean {
  return diff.creates + diff.updates + diff.suppressed + diff.optedOut + desiredAgainCount + missing > 0
}

/** Counts the stale records (their row was rejected) that this plan does not remove. Returns 0 if the run reads nothing. */
async function countStale({ tx, destinationId, readsNothing }: PlanWork): Promise<number> {
  if (readsNothing) return 0
  return countRows(
    tx,
    `select from record r where r.destination_id = $1 and r.status = 'stale' and not exists (select from change c where c.key = r.key)`,
    [destinationId],
  )
}
