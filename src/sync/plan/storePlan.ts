/** The plan as it is stored: its row, its counts for people, and the snapshot that ends with it. */
import { rateLimits, type RateLimitClass } from '../../service/contract/limits.ts'
import { forgetDigests, replaceDigests, updateDigests } from '../../db/digests.ts'
import { readsOneOff } from '../../db/runs.ts'
import type { GuardResult, RunCounts } from '../../model/report.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { Braked } from './brake.ts'
import { changesDesired, type Changes } from './changes.ts'
import type { Frozen } from './freeze.ts'
import type { PlanWork } from './planWork.ts'

export interface Planned {
  readonly planId: string
  readonly batches: number
  readonly counts: Omit<RunCounts, 'requests' | 'confirmed' | 'refused' | 'ambiguous' | 'pending'>
  readonly guards: readonly GuardResult[]
  readonly updateFields: Changes['updateFields']
  /** Minutes at the service's limits. */
  readonly minutes: number
}

/** Written before its batches, which point at it; `storePlan` adds the figures. */
export async function insertPlan(work: PlanWork, guards: readonly GuardResult[]): Promise<void> {
  await work.client.query(
    `insert into plan (id, run_id, pipeline, destination_id, snapshot_id, status, state_version, digest, counts, guards)
     values ($1, $2, $3, $4, $5, 'ready', $6, '', '{}', $7)`,
    [work.planId, work.run.id, work.pipeline.name, work.destinationId, work.input.snapshotId, work.stateVersion, JSON.stringify(guards)],
  )
}

/** `learning`: products that are put once more only to be deleted by the next plan. */
export async function storePlan(work: PlanWork, changes: Changes, braked: Braked, frozen: Frozen, learning: number): Promise<Planned> {
  const { client, destinationId, planId, run, input } = work
  const { destination } = work.pipeline
  const { entries } = frozen
  const outOfStock = !braked.deletesHeld && work.type.missing(destination) === 'out-of-stock' && !work.oneOff ? changes.diff.absent : 0
  const counts = {
    ...input.rows,
    unchanged: Math.max(
      0,
      input.rows.valid - entries.create - Math.max(0, entries.update - outOfStock - learning) - entries.renewal - braked.deferred,
    ),
    stale: changes.diff.stale,
    creates: entries.create,
    updates: entries.update,
    deletes: entries.delete,
    renewals: entries.renewal,
    withheld: braked.withheld,
    // Their deletes are for the next plan.
    deferred: braked.deferred + learning,
  }
  const { rows: wants } = await client.query<{ desired_version: string }>(
    `update destination set desired_version = desired_version + $2 where id = $1 returning desired_version`,
    [destinationId, changesDesired(changes, braked.deletesHeld) ? 1 : 0],
  )
  const review = {
    updateFields: changes.updateFields,
    desiredVersion: Number(wants[0]?.desired_version),
    erasures: work.erasures,
    suppress: work.type.heedsSuppression(destination) ? 'do-not-reach' : 'none',
    // A plan of everything takes over what the ones before it owed; one of a few keys leaves it with them.
    resync: [...(input.onlyFailedOf === undefined ? [] : work.resync), ...(work.todo.full || work.resync.length > 0 ? [planId] : [])],
  }
  await client.query(`update plan set digest = $2, counts = $3, review = $4 where id = $1`, [
    planId,
    frozen.digest,
    JSON.stringify(counts),
    JSON.stringify(review),
  ])
  await closeSnapshot(work)
  await client.query(`update run set plan_id = $3, snapshot_id = $4 where id = $1 and epoch = $2`, [
    run.id,
    run.epoch,
    planId,
    input.snapshotId,
  ])
  return {
    planId,
    batches: frozen.batches,
    counts,
    guards: braked.verdicts,
    updateFields: changes.updateFields,
    minutes: minutesOf(frozen.requests),
  }
}

/** The snapshot's records are the desired state from here on, and the next reading is compared with them. */
async function closeSnapshot({ client, destinationId, run, input }: PlanWork): Promise<void> {
  if (input.reading === 'unread') return
  // Digests stand for the records of a complete read only: an incomplete or one-off reading is no standard.
  if (input.incomplete !== undefined || readsOneOff(run)) await forgetDigests(client, destinationId)
  else if (input.reading === 'gated') await updateDigests(client, destinationId, stagedKind.valid, input.unseen, input.quality)
  else await replaceDigests(client, destinationId, stagedKind.valid, input.quality)
  await client.query(`update snapshot set status = $2, closed_at = statement_timestamp(), counts = $3 where id = $1 and status = 'open'`, [
    input.snapshotId,
    input.incomplete === undefined ? 'closed' : 'incomplete',
    JSON.stringify(input.rows),
  ])
}

/** Whole windows that must pass before the last request may go; 0 where one burst does it. */
function minutesOf(requests: Readonly<Record<string, number>>): number {
  let minutes = 0
  for (const [name, count] of Object.entries(requests)) {
    const { limit, windowMs } = rateLimits[name as RateLimitClass]
    minutes = Math.max(minutes, ((Math.ceil(count / limit) - 1) * windowMs) / 60_000)
  }
  return Math.ceil(minutes)
}
