/**
 * Plan: one transaction closes the snapshot, brings the desired state up to date, lets the guards speak and freezes what
 * is to be sent (I7). Whatever stops it leaves nothing of it behind.
 */
import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { destinationOf } from '../../destinations/index.ts'
import type { Duration, Pipeline } from '../../pipeline/definition.ts'
import { rateLimits, type RateLimitClass } from '../../service/contract/limits.ts'
import { isRetryable } from '../../store/database.ts'
import { forgetDigests, replaceDigests, updateDigests } from '../../store/digests.ts'
import { readsOneOff, type RunRow } from '../../store/runs.ts'
import { brake, type BrakeContext } from './brake.ts'
import { crashPoint } from '../crashPoint.ts'
import { applyUpserts, forgetGone, leaveByIdentifier, leaveListed, recallMissing, type DesiredContext } from './desired.ts'
import { diffStage, type Diff } from './diff.ts'
import type { EngineDeps } from '../engine.ts'
import { freeze } from './freeze.ts'
import { memberOperations, productOperations, type OperationContext } from './operations.ts'
import { changeNotes, guardNotes, RunHeld } from './qualityGuard.ts'
import type { GuardVerdict, RunCounts } from '../report.ts'
import type { SnapshotResult } from '../read/snapshot.ts'
import { stagedKind } from '../read/stageTable.ts'
import { collectResync, collectUnsettled, countLearning, stampGroups, type TodoContext } from './todo.ts'

/** A closed reading, or what stands for it where nothing was read (unchanged bytes, `rerun --failed`). */
export interface PlanInput extends Omit<SnapshotResult, 'proof' | 'warnings'> {
  /** Only what this run left refused, ambiguous or pending. */
  readonly onlyFailedOf?: number
  /** What changes the synced state first, and stands or falls with the plan (an audit's repair). */
  readonly prepare?: (client: pg.PoolClient) => Promise<unknown>
}

export interface Planned {
  readonly planId: string
  readonly batches: number
  readonly counts: Omit<RunCounts, 'requests' | 'confirmed' | 'refused' | 'ambiguous' | 'pending'>
  readonly guards: readonly GuardVerdict[]
  readonly updateFields: readonly { readonly field: string; readonly count: number }[]
  /** Minutes at the service's limits. */
  readonly minutes: number
}

const noDiff: Diff = { creates: 0, updates: 0, stale: 0, absent: 0, leaving: 0, suppressed: 0 }

/** Begins anew when it ran into the books of an answer that a helper elsewhere wrote at the same time (deadlock). */
export async function makePlan(
  deps: EngineDeps,
  client: pg.PoolClient,
  pipeline: Pipeline,
  run: RunRow,
  input: PlanInput,
): Promise<Planned> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryPlan(deps, client, pipeline, run, input)
    } catch (error) {
      if (attempt === 5 || !isRetryable(error)) throw error
    }
  }
}

async function tryPlan(deps: EngineDeps, client: pg.PoolClient, pipeline: Pipeline, run: RunRow, input: PlanInput): Promise<Planned> {
  await client.query('begin')
  try {
    // Hash aggregates of a few million digests stay in memory; the diff's join gains nothing by more (scale 4).
    await client.query(`set local work_mem = '64MB'`)
    const planned = await planInTransaction(deps, client, pipeline, run, input)
    crashPoint('plan.before_commit')
    await client.query('commit')
    crashPoint('plan.after_commit')
    return planned
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function planInTransaction(
  deps: EngineDeps,
  client: pg.PoolClient,
  pipeline: Pipeline,
  run: RunRow,
  input: PlanInput,
): Promise<Planned> {
  const { destination } = pipeline
  const { destinationId } = run
  const planId = `p_${randomBytes(5).toString('hex')}`
  await input.prepare?.(client)
  const { rows: locked } = await client.query<{ state_version: string; settled_round: number; now_ms: string }>(
    `select state_version, settled_round, extract(epoch from clock_timestamp()) * 1000 as now_ms from sluice.destination where id = $1 for update`,
    [destinationId],
  )
  const plannedAtMs = Math.floor(Number(locked[0]?.now_ms) / 1000) * 1000
  await supersede(client, destinationId)

  const keys = destination.kind === 'catalog' ? 'products' : 'identifiers'
  const desired: DesiredContext = { client, destinationId, snapshotId: input.snapshotId, keys }
  const owed = await collectResync(client, destinationId)
  const todo: TodoContext = {
    client,
    destinationId,
    keys,
    full: run.options.full ?? false,
    settledRound: locked[0]?.settled_round ?? 0,
    renewBeforeMs: destination.kind === 'catalog' ? 0 : durationMs(destination.renewBefore),
    takesBack: destination.kind === 'audience',
    planId,
    resync: owed.length > 0,
    ...(input.onlyFailedOf === undefined ? {} : { onlyFailedOf: input.onlyFailedOf }),
  }
  deps.onProgress?.({ stage: 'diff', done: 0 })
  const found = input.reading === 'unread' ? await noChanges(client) : await diffStage(client, destinationId, input.reading)
  const left = destination.kind === 'do-not-reach' ? await leaveByIdentifier(desired) : 0
  const listed = await leaveListed(desired, input.suppressedBy)
  crashPoint('plan.diffed')
  if (keys === 'products' && found.updates > 0) await judgeChanges(deps, client, pipeline, run)
  const updateFields = keys === 'products' ? await fieldsUpdated(client, destinationId, found.updates) : []
  await applyUpserts(desired)
  if (found.creates + found.updates > 50_000) await client.query('analyze sluice.record, sluice.remote')
  crashPoint('plan.desired')
  await collectUnsettled(client, destinationId)
  if (keys === 'products') await forgetGone(desired)

  // Nothing was read for it: nobody is absent.
  const sourceless = input.onlyFailedOf !== undefined || input.prepare !== undefined
  const oneOff = readsOneOff(run) || sourceless
  const absent =
    oneOff || input.incomplete !== undefined || destination.kind === 'do-not-reach'
      ? 'ignore'
      : destination.kind === 'catalog'
        ? destination.missing
        : 'delete'
  const recalled = keys === 'products' && (absent === 'delete' || absent === 'out-of-stock') ? await recallMissing(desired, absent) : 0
  const diff: Diff = {
    ...found,
    leaving: found.leaving + left,
    absent: found.absent - listed.absent + recalled,
    stale: found.stale - listed.stale,
    suppressed: found.suppressed + listed.absent + listed.stale,
  }
  const braked = await brake({
    desired,
    todo,
    diff,
    absent,
    suppressedBy: input.suppressedBy,
    guarded: destination.kind !== 'do-not-reach',
    facts: {
      pipeline: pipeline.name,
      guards: pipeline.guards,
      valid: input.rows.valid,
      // A one-off source is not compared with the pipeline's own.
      previousValid: oneOff ? undefined : input.previousValid,
      read: input.rows.read,
      rejected: input.rows.rejected,
      // Nothing is deleted by absence from a one-off, proven to its end or not, short or long: nothing is withheld.
      incomplete: oneOff ? undefined : input.incomplete,
      fromPipe: pipeline.sources.some(({ uri, complete }) => uri === '-' && complete.kind === 'auto'),
      approveDeletes: run.options.approveDeletes,
      absenceDeletes: !sourceless && (!oneOff || input.rows.valid === 0),
    },
  })
  crashPoint('plan.braked')
  if (keys === 'identifiers') await stampGroups(todo)

  deps.onProgress?.({ stage: 'plan', done: 0 })
  const context: OperationContext = { client, destinationId, full: todo.full }
  const operations =
    destination.kind === 'catalog'
      ? productOperations(context)
      : memberOperations(context, {
          plannedAtMs,
          expiresAtMs: addDuration(plannedAtMs, destination.expiresIn),
          usersPerOperation: destination.kind === 'audience' ? destination.usersPerOperation : 1,
          withEffectiveAt: destination.kind === 'audience',
        })
  // Written first, because batches point at it; its figures follow below.
  await client.query(
    `insert into sluice.plan (id, run_id, pipeline, destination_id, snapshot_id, status, state_version, digest, counts, guards)
     values ($1, $2, $3, $4, $5, 'ready', $6, '', '{}', $7)`,
    [planId, run.id, pipeline.name, destinationId, input.snapshotId, locked[0]?.state_version, JSON.stringify(braked.verdicts)],
  )
  const frozen = await freeze(client, destinationOf(destination.kind), operations, {
    planId,
    destinationId,
    onProgress: (done) => deps.onProgress?.({ stage: 'plan', done }),
  })
  crashPoint('plan.frozen')

  const { entries } = frozen
  const learning = await countLearning(todo)
  const outOfStock =
    !braked.deletesHeld && destination.kind === 'catalog' && destination.missing === 'out-of-stock' && !oneOff ? diff.absent : 0
  const counts = {
    ...input.rows,
    unchanged: Math.max(
      0,
      input.rows.valid - entries.create - Math.max(0, entries.update - outOfStock - learning) - entries.renewal - braked.deferred,
    ),
    stale: diff.stale,
    creates: entries.create,
    updates: entries.update,
    deletes: entries.delete,
    renewals: entries.renewal,
    withheld: braked.withheld,
    // Their deletes are for the next plan.
    deferred: braked.deferred + learning,
  }
  const { rows: wants } = await client.query<{ desired_version: string }>(
    `update sluice.destination set desired_version = desired_version + $2 where id = $1 returning desired_version`,
    [destinationId, wantsChanged(diff, absent, braked.deletesHeld) ? 1 : 0],
  )
  const review = {
    updateFields,
    desiredVersion: Number(wants[0]?.desired_version),
    suppress: destination.kind === 'audience' ? destination.suppress : 'none',
    // A plan of everything takes over what the ones before it owed; one of a few keys leaves it with them.
    resync: [...(input.onlyFailedOf === undefined ? [] : owed), ...(todo.full || owed.length > 0 ? [planId] : [])],
  }
  await client.query(`update sluice.plan set digest = $2, counts = $3, review = $4 where id = $1`, [
    planId,
    frozen.digest,
    JSON.stringify(counts),
    JSON.stringify(review),
  ])
  if (input.reading !== 'unread') {
    await keepDigests(client, destinationId, run, input)
    await client.query(
      `update sluice.snapshot set status = $2, closed_at = clock_timestamp(), counts = $3 where id = $1 and status = 'open'`,
      [input.snapshotId, input.incomplete === undefined ? 'closed' : 'incomplete', JSON.stringify(input.rows)],
    )
  }
  await client.query(`update sluice.run set plan_id = $3, snapshot_id = $4 where id = $1 and epoch = $2`, [
    run.id,
    run.epoch,
    planId,
    input.snapshotId,
  ])
  return { planId, batches: frozen.batches, counts, guards: braked.verdicts, updateFields, minutes: minutesOf(frozen.requests) }
}

/** A newer plan cancels what an interrupted one never sent (I7). Stored plans that wait for `apply` are left alone. */
async function supersede(client: pg.PoolClient, destinationId: number): Promise<void> {
  await client.query(
    `with cancelled as (
       update sluice.batch b set status = 'superseded', settled_at = clock_timestamp(), reason = 'newer_plan'
       from sluice.plan p
       where p.id = b.plan_id and b.destination_id = $1 and b.status = 'pending' and b.attempts = 0 and p.status <> 'ready'
       returning b.id)
     update sluice.entry e set outcome = 'superseded' from cancelled c where e.batch_id = c.id and e.outcome = 'pending'`,
    [destinationId],
  )
  await client.query(`update sluice.plan set status = 'superseded' where destination_id = $1 and status = 'applying'`, [destinationId])
}

/** The digests stand for the records of the closed snapshot, or there are none: an incomplete or one-off reading is no standard. */
async function keepDigests(client: pg.PoolClient, destinationId: number, run: RunRow, input: PlanInput): Promise<void> {
  if (input.incomplete !== undefined || readsOneOff(run)) await forgetDigests(client, destinationId)
  else if (input.reading === 'gated') await updateDigests(client, destinationId, stagedKind.valid, input.unseen, input.quality)
  else await replaceDigests(client, destinationId, stagedKind.valid, input.quality)
}

/** Prices and stock against what was synced, told with the run; too much of it withholds the run. */
async function judgeChanges(deps: EngineDeps, client: pg.PoolClient, pipeline: Pipeline, run: RunRow): Promise<void> {
  const notes = await changeNotes(client, { destinationId: run.destinationId, guards: pipeline.guards })
  if (notes.length === 0) return
  const held = guardNotes(pipeline, notes)
  if (held.length > 0) throw new RunHeld(held)
  // Beside the transaction, which must not hold the row of the run: the heartbeat writes it.
  await deps.db.execute('update sluice.run set warnings = $3::jsonb || warnings where id = $1 and epoch = $2', [
    run.id,
    run.epoch,
    JSON.stringify(notes),
  ])
}

/** Whether this reading changed what is wanted: what a guard holds back it did not. */
function wantsChanged(diff: Diff, absent: BrakeContext['absent'], deletesHeld: boolean): boolean {
  const gone = deletesHeld ? 0 : diff.leaving + (absent === 'delete' || absent === 'out-of-stock' ? diff.absent : 0)
  return diff.creates + diff.updates + diff.suppressed + gone > 0
}

async function noChanges(client: pg.PoolClient): Promise<Diff> {
  await client.query('create temp table change (key bytea, what text)')
  return noDiff
}

/** Which fields the updates change, for the reviewer. Left out above 20,000 updates, where it would cost seconds. */
async function fieldsUpdated(client: pg.PoolClient, destinationId: number, updates: number): Promise<Planned['updateFields']> {
  if (updates === 0 || updates > 20_000) return []
  const { rows } = await client.query<{ field: string; n: string }>(
    `select f.field, count(*) as n
     from change c join stage s using (key) join sluice.record r on r.destination_id = $1 and r.key = c.key
       cross join lateral (
         select coalesce(a.key, b.key) as field
         from jsonb_each(s.body::jsonb) a full join jsonb_each(r.body::jsonb) b on a.key = b.key
         where a.value is distinct from b.value) f
     where c.what = 'update' group by f.field`,
    [destinationId],
  )
  return rows.map(({ field, n }) => ({ field, count: Number(n) })).sort((a, b) => b.count - a.count || a.field.localeCompare(b.field))
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

/** Calendar months, clamped to the month's end: 31 January and one month is 28 or 29 February. */
export function addDuration(fromMs: number, duration: Duration): number {
  if ('ms' in duration) return fromMs + duration.ms
  const from = new Date(fromMs)
  const to = new Date(fromMs)
  to.setUTCDate(1)
  to.setUTCMonth(from.getUTCMonth() + duration.months)
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay))
  return to.getTime()
}

/** Months as 30 days: for distances, where the day of the month does not matter. */
function durationMs(duration: Duration): number {
  return 'ms' in duration ? duration.ms : duration.months * 30 * 86_400_000
}
