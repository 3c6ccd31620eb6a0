import { dropStagedDigests } from '../../db/digests.ts'
import { crashPoint } from '../crashPoint.ts'
import { suppressErased } from '../read/resolveStage.ts'
import { optOutByIdentifier, optOutByOtherRows, suppressErasedRecords, suppressByLists } from './desired.ts'
import { diffStage, type Diff } from './diff.ts'
import type { FirstLoad } from './firstLoad.ts'
import { createTable } from './planTables.ts'
import type { PlanWork } from './planWork.ts'
import { refreshStatistics } from './refreshStatistics.ts'
import { collectUnresolved } from './pendingChanges.ts'
import type { UpdatedField } from './updatedFields.ts'
import type { Missing } from '../../destinations/destination.ts'

/** Changes of a read, and their effect in this plan. */
export interface Changes {
  readonly diff: Diff
  readonly missingPolicy: Missing
  /** For the review of the plan; empty for people, and if there are too many updates. */
  readonly updateFields: readonly UpdatedField[]
  /** Result of a first load; undefined after a diff. */
  readonly firstLoad: FirstLoad | undefined
}

const noDiff: Diff = { creates: 0, updates: 0, stale: 0, missing: 0, optedOut: 0, suppressed: 0 }

/**
 * Writes creates and updates to the desired state. `removeOrWithhold` applies the removals later. In a first load with implied keys
 * (docs/decisions/implied-keys.md), writes only the records that share identifiers; `loadParts.ts` writes the others.
 */
export async function applyChanges(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, input } = work
  await refreshStatistics(tx, destinationId, input.previousValid ?? 0)
  if (mayHaveErasedPeople(work) && input.reading !== 'unchanged') await suppressErasedRows(work)
  return work.isFirstLoad ? applyFirstLoad(work) : applyDiff(work)
}

/** Marks as suppressed the staged rows of people who were erased after the rows were read. */
async function suppressErasedRows({ tx, destinationId, deps }: PlanWork): Promise<void> {
  const suppressedCount = await suppressErased(tx, { destinationId, service: deps.service.origin })
  // The staged digests must be those of valid rows only.
  if (suppressedCount > 0) await dropStagedDigests(tx)
}

/** Writes the desired state of a destination that has none. Every valid row is a create. */
async function applyFirstLoad(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, input } = work
  work.onIdle?.()
  await createTable(tx, 'change')
  crashPoint('plan.diffed')
  await work.desired.context.changed.addAll()
  const firstLoad = await work.desired.loadFirst({
    // A do-not-reach list has no implied keys, because every audience looks its keys up in `remote`.
    implyingRunId: work.type.suppresses ? undefined : work.run.id,
    valid: input.rows.valid,
    facts: input.identifiers,
  })
  // Otherwise `loadParts.ts` writes most records later, and refreshes the statistics.
  if (firstLoad.implyingRunId === undefined) await refreshStatistics(tx, destinationId, firstLoad.creates)
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)
  return { diff: { ...noDiff, creates: firstLoad.creates }, missingPolicy: 'ignore', updateFields: [], firstLoad }
}

/** Compares the read with the stored records, applies creates and updates, and collects the records to remove in the table `change`. */
async function applyDiff(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, desired, input } = work
  const { context } = desired
  const { removesBy } = work.type
  const { reading } = input
  const isUnchanged = reading === 'unchanged'
  // Without a diff `change` is empty, but later statements may add records.
  if (isUnchanged) await createTable(tx, 'change')
  const found = isUnchanged ? noDiff : await diffStage(tx, destinationId, reading, work.onIdle)
  // Each call marks or adds records in `change`. All but the first count them by the change that the diff found.
  const optedOutByIdentifier = removesBy === 'identifier' ? await optOutByIdentifier(context) : 0
  const erased = mayHaveErasedPeople(work) ? await suppressErasedRecords(context, work.deps.service.origin) : noDiff
  const onLists = await suppressByLists(context, input.suppressedBy)
  const optedOutByRows = work.type.reachesPeople && !isUnchanged ? await optOutByOtherRows(context) : noDiff
  crashPoint('plan.diffed')
  const missingPolicy = missingPolicyOf(work)
  await desired.warnOfDoubtfulChanges(
    { ...work, db: work.deps.db, isIncomplete: input.incomplete !== undefined },
    { ...found, missing: work.ignoresMissing ? 0 : found.missing },
  )
  const updateFields = await desired.updatedFields(found.updates)
  // An unchanged source has no creates or updates; this saves 20 ms.
  if (!isUnchanged) {
    await context.changed.expectChanges(found.creates + found.updates)
    await desired.applyUpserts()
    await refreshStatistics(tx, destinationId, input.rows.valid)
  }
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)

  const correction = await desired.correctMissing(missingPolicy)
  // A record that the calls above marked counts only as `optedOut` or `suppressed`, no longer by the change that the diff found.
  const diff: Diff = {
    ...found,
    updates: found.updates - erased.updates,
    optedOut: found.optedOut - erased.optedOut + optedOutByIdentifier + optedOutByRows.missing + optedOutByRows.stale,
    missing: found.missing - erased.missing - onLists.missing - optedOutByRows.missing + correction,
    stale: isUnchanged ? await countStale(work) : found.stale - erased.stale - onLists.stale - optedOutByRows.stale,
    suppressed: found.suppressed + onLists.missing + onLists.stale + erased.suppressed,
  }
  // For very many removals, this sets a flag that replaces the list of changed keys (`db/changedKeys.ts`). It must be set before the
  // savepoint of the guards, whose rollback would undo it.
  await context.changed.expectChanges(diff.optedOut + diff.suppressed + (missingPolicy === 'delete' ? diff.missing : 0))
  return { diff, missingPolicy, updateFields, firstLoad: undefined }
}

function mayHaveErasedPeople({ type, latestErasureId }: PlanWork): boolean {
  return type.reachesPeople && latestErasureId > 0
}

/** Returns the policy of the pipeline; `ignore` after an incomplete read, or if the run does not read the pipeline's own sources. */
function missingPolicyOf({ pipeline: { destination }, type, input, ignoresMissing }: PlanWork): Missing {
  return ignoresMissing || input.incomplete !== undefined ? 'ignore' : type.missing(destination)
}

/** Returns true if this plan changed the desired content. `missing`: as `GuardedChanges.missing`. */
export function isDesiredChanged({ diff }: Changes, missing: number): boolean {
  return diff.creates + diff.updates + diff.suppressed + diff.optedOut + missing > 0
}

/** Counts the records that an earlier read marked as stale, and that this plan does not remove. Returns 0 if the run is `readsNothing`. */
async function countStale({ tx, destinationId, readsNothing }: PlanWork): Promise<number> {
  if (readsNothing) return 0
  const rows = await tx.query<{ n: string }>(
    `select count(*) as n from record r
     where r.destination_id = $1 and r.status = 'stale' and not exists (select from change c where c.key = r.key)`,
    [destinationId],
  )
  return Number(rows[0]?.n)
}
