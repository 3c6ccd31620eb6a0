/** Applies the creates and updates of a read to the desired state, and computes figures for the review. */
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

/** Changes of a read. */
export interface Changes {
  readonly diff: Diff
  /** Effect on a record that is missing. */
  readonly missingPolicy: Missing
  /** Changed fields with their number of products; empty for people, and if there are too many updates (`updatedFields.ts`). */
  readonly updateFields: readonly UpdatedField[]
  /** Result of a first load; undefined after a diff. */
  readonly first: FirstLoad | undefined
}

const noDiff: Diff = { creates: 0, updates: 0, stale: 0, missing: 0, optedOut: 0, suppressed: 0 }

/**
 * Writes creates and updates to the desired state, and returns the changes. `removeOrWithhold` applies the removals later. Of a first load
 * whose keys are implied, writes only the records that share identifiers (`loadParts.ts` writes the others).
 */
export async function applyChanges(work: PlanWork): Promise<Changes> {
  const { tx, destinationId } = work
  await refreshStatistics(tx, destinationId, work.input.previousValid ?? 0)
  // A person may have been erased after the rows were read.
  const erasures = { destinationId, service: work.deps.service.origin }
  if (heedsErasures(work) && work.input.reading !== 'unchanged' && (await suppressErased(tx, erasures)) > 0) await dropStagedDigests(tx)
  if (!work.untouched) return applyDiff(work)
  await createTable(tx, 'change')
  crashPoint('plan.diffed')
  await work.desired.context.changed.addAll()
  const first = await work.desired.loadFirst({
    loadId: work.type.suppresses ? undefined : work.run.id,
    valid: work.input.rows.valid,
    facts: work.input.identifiers,
  })
  if (first.loadId === undefined) await refreshStatistics(tx, destinationId, first.creates)
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)
  return { diff: { ...noDiff, creates: first.creates }, missingPolicy: 'ignore', updateFields: [], first }
}

/** Compares the read with the stored records, and applies creates and updates. */
async function applyDiff(work: PlanWork): Promise<Changes> {
  const { tx, destinationId, desired, input } = work
  const { context } = desired
  const { removesBy } = work.type
  if (input.reading === 'unchanged') await createTable(tx, 'change')
  const found = input.reading === 'unchanged' ? noDiff : await diffStage(tx, destinationId, input.reading)
  const byIdentifier = removesBy === 'identifier' ? await optOutByIdentifier(context) : 0
  const erased = heedsErasures(work) ? await suppressErasedRecords(context, work.deps.service.origin) : noDiff
  const listed = await suppressByLists(context, input.suppressedBy)
  const byOtherRows = work.type.reachesPeople && input.reading !== 'unchanged' ? await optOutByOtherRows(context) : { missing: 0, stale: 0 }
  crashPoint('plan.diffed')
  const missingPolicy = missingPolicyOf(work)
  await desired.stopIfDoubtful(
    { ...work, db: work.deps.db, isIncomplete: input.incomplete !== undefined },
    { ...found, missing: work.ignoresMissing ? 0 : found.missing },
  )
  const updateFields = await desired.updatedFields(found.updates)
  // An unchanged source has no upserts. Skipping these thirty statements saves 20 ms.
  if (input.reading !== 'unchanged') {
    await context.changed.expect(found.creates + found.updates)
    await desired.applyUpserts()
    await refreshStatistics(tx, destinationId, input.rows.valid)
  }
  crashPoint('plan.desired')
  await collectUnresolved(tx, destinationId)

  const correction = await desired.correctMissing(missingPolicy)
  const diff: Diff = {
    ...found,
    updates: found.updates - erased.updates,
    optedOut: found.optedOut - erased.optedOut + byIdentifier + byOtherRows.missing + byOtherRows.stale,
    missing: found.missing - erased.missing - listed.missing - byOtherRows.missing + correction,
    stale: input.reading === 'unchanged' ? await countStale(work) : found.stale - erased.stale - listed.stale - byOtherRows.stale,
    suppressed: found.suppressed + listed.missing + listed.stale + erased.suppressed,
  }
  // Called before the savepoint of the guards, because their rollback would undo the flag that `expect` sets. Without the flag, one row of
  // `changed_key` would get the keys of up to ten million people.
  await context.changed.expect(diff.optedOut + diff.suppressed + (missingPolicy === 'delete' ? diff.missing : 0))
  return { diff, missingPolicy, updateFields, first: undefined }
}

function heedsErasures({ type, latestErasureId }: PlanWork): boolean {
  return type.reachesPeople && latestErasureId > 0
}

/** Returns the effect on missing records: `ignore` after an incomplete read, or if the run does not read the pipeline's own sources. */
function missingPolicyOf({ pipeline: { destination }, type, input, ignoresMissing }: PlanWork): Missing {
  return ignoresMissing || input.incomplete !== undefined ? 'ignore' : type.missing(destination)
}

/** Returns true if this plan changed the desired content. `missing`: `GuardedChanges.missing`. */
export function changesDesired({ diff }: Changes, missing: number): boolean {
  return diff.creates + diff.updates + diff.suppressed + diff.optedOut + missing > 0
}

/**
 * Returns the number of records that stay stale with an unchanged source: those that an earlier read marked and this plan does not remove.
 * Returns 0 if the run uses no source (`sourceless`).
 */
async function countStale({ tx, destinationId, sourceless }: PlanWork): Promise<number> {
  if (sourceless) return 0
  const rows = await tx.query<{ n: string }>(
    `select count(*) as n from record r
     where r.destination_id = $1 and r.status = 'stale' and not exists (select from change c where c.key = r.key)`,
    [destinationId],
  )
  return Number(rows[0]?.n)
}
