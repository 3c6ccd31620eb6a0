/** Applies the diff of a read to the desired state, and computes figures for the review. */
import type pg from 'pg'
import { addWarnings } from '../../db/runs.ts'
import { crashPoint } from '../crashPoint.ts'
import { suppressErased } from '../read/resolveStage.ts'
import {
  applyUpserts,
  dropUnneededRecords,
  optOutByIdentifier,
  suppressErasedRecords,
  suppressListed,
  optOutByOtherRows,
  recallMissing,
} from './desired.ts'
import { diffStage, type Diff } from './diff.ts'
import { loadFirst, type FirstLoad } from './firstLoad.ts'
import { createTable } from './planTables.ts'
import type { PlanWork } from './planWork.ts'
import { changeNotes, guardNotes, RunWithheld } from './qualityGuard.ts'
import { refreshStatistics } from './statistics.ts'
import { collectUnsettled } from './pendingChanges.ts'
import type { Missing } from '../../destinations/destination.ts'

export interface Changes {
  readonly diff: Diff
  /** Effect of a record that is missing. */
  readonly missingPolicy: Missing
  /** Changed fields with their number of products; for catalogs. */
  readonly updateFields: readonly { readonly field: string; readonly count: number }[]
  /** Result of a first load; undefined after a diff. */
  readonly first: FirstLoad | undefined
}

const noDiff: Diff = { creates: 0, updates: 0, stale: 0, missing: 0, optedOut: 0, suppressed: 0 }

/** Writes creates and updates to the desired state. The guards apply removals (`applyGuards.ts`). */
export async function applyChanges(work: PlanWork): Promise<Changes> {
  const { client, destinationId } = work
  await refreshStatistics(client, destinationId, work.input.previousValid ?? 0)
  // A person may have been erased after the rows were read.
  const erasures = { destinationId, service: work.deps.service.origin }
  const heedsErasures = work.type.reachesPeople && work.erasures > 0
  if (heedsErasures && work.input.reading !== 'unchanged') await suppressErased(client, erasures)
  if (!work.untouched) return applyDiff(work)
  await createTable(client, 'change')
  crashPoint('plan.diffed')
  const first = await loadFirst(work.desired, {
    loadId: work.type.suppresses ? undefined : work.run.id,
    valid: work.input.rows.valid,
    facts: work.input.identifiers,
  })
  if (first.loadId === undefined) await refreshStatistics(client, destinationId, first.creates)
  crashPoint('plan.desired')
  await collectUnsettled(client, destinationId)
  return { diff: { ...noDiff, creates: first.creates }, missingPolicy: 'ignore', updateFields: [], first }
}

async function applyDiff(work: PlanWork): Promise<Changes> {
  const { client, destinationId, desired, input } = work
  const { removesBy, reachesPeople } = work.type
  const isCatalog = desired.keys === 'products'
  const found = input.reading === 'unchanged' ? await noChanges(client) : await diffStage(client, destinationId, input.reading)
  const byIdentifier = removesBy === 'identifier' ? await optOutByIdentifier(desired) : 0
  const erased = reachesPeople && work.erasures > 0 ? await suppressErasedRecords(desired, work.deps.service.origin) : 0
  const listed = await suppressListed(desired, input.suppressedBy)
  const byOtherRows = reachesPeople && input.reading !== 'unchanged' ? await optOutByOtherRows(desired) : { missing: 0, stale: 0 }
  crashPoint('plan.diffed')
  if (isCatalog && found.updates > 0) await guardChanges(work)
  const updateFields = isCatalog ? await fieldsUpdated(client, destinationId, found.updates) : []
  await desired.changed.expect(found.creates + found.updates)
  await applyUpserts(desired)
  await refreshStatistics(client, destinationId, input.rows.valid)
  crashPoint('plan.desired')
  await collectUnsettled(client, destinationId)
  if (isCatalog) await dropUnneededRecords(desired)

  const missingPolicy = missingPolicyOf(work)
  const recalled =
    isCatalog && (missingPolicy === 'delete' || missingPolicy === 'out-of-stock') ? await recallMissing(desired, missingPolicy) : 0
  const diff: Diff = {
    ...found,
    optedOut: found.optedOut + byIdentifier + byOtherRows.missing + byOtherRows.stale,
    missing: found.missing - listed.missing - byOtherRows.missing + recalled,
    stale: found.stale - listed.stale - byOtherRows.stale,
    suppressed: found.suppressed + listed.missing + listed.stale + erased,
  }
  return { diff, missingPolicy, updateFields, first: undefined }
}

/** Returns the effect of a missing record: none for a backfill, and for a read whose end is not proven. */
function missingPolicyOf({ pipeline: { destination }, type, input, ignoresMissing }: PlanWork): Missing {
  return ignoresMissing || input.incomplete !== undefined ? 'ignore' : type.missing(destination)
}

/** Returns true if this read changed the desired content; withheld deletes did not. */
export function changesDesired({ diff, missingPolicy }: Changes, deletesHeld: boolean): boolean {
  const removed = deletesHeld ? 0 : diff.optedOut + (missingPolicy === 'delete' || missingPolicy === 'out-of-stock' ? diff.missing : 0)
  return diff.creates + diff.updates + diff.suppressed + removed > 0
}

/** Compares prices and stock with the synced content. Stores the warnings with the run; large changes withhold it. */
async function guardChanges({ deps, client, pipeline, run }: PlanWork): Promise<void> {
  const notes = await changeNotes(client, { destinationId: run.destinationId, guards: pipeline.guards })
  if (notes.length === 0) return
  const withholding = guardNotes(pipeline, notes)
  if (withholding.length > 0) throw new RunWithheld(withholding)
  // Outside of the plan's transaction. That must not lock the row of the run, because the heartbeat writes to it.
  await addWarnings(deps.db, run, notes, 'first')
}

async function noChanges(client: pg.PoolClient): Promise<Diff> {
  await createTable(client, 'change')
  return noDiff
}

/** Counts the changed fields for the review. Skipped above 20,000 updates, where it would take seconds. */
async function fieldsUpdated(client: pg.PoolClient, destinationId: number, updates: number): Promise<Changes['updateFields']> {
  if (updates === 0 || updates > 20_000) return []
  const { rows } = await client.query<{ field: string; n: string }>(
    `select f.field, count(*) as n
     from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       cross join lateral (
         select coalesce(a.key, b.key) as field
         from jsonb_each(s.body::jsonb) a full join jsonb_each(r.body::jsonb) b on a.key = b.key
         where a.value is distinct from b.value) f
     where c.what = 'update' group by f.field`,
    [destinationId],
  )
  return rows.map(({ field, n }) => ({ field, count: Number(n) })).sort((a, b) => b.count - a.count || a.field.localeCompare(b.field))
}
