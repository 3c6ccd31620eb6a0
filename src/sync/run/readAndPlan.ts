/**
 * First half of a run: reads the sources, resolves the unresolved requests of earlier runs, and makes the plan. Reads first, because a
 * person in these requests may have opted out since.
 */
import pLimit from 'p-limit'
import type pg from 'pg'
import { connectionOf, type Connection } from '../../db/database.ts'
import { storeImageSample } from '../../db/plans.ts'
import { endFalseWaits } from '../../db/remote/lateRequests.ts'
import type { Value } from '../../db/row.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import { discardSnapshot } from '../../db/snapshots.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { noCounts, type GuardResult } from '../../model/report.ts'
import { cancellingStatements } from './cancelStatements.ts'
import { interrupted, type EngineDeps } from '../engine.ts'
import { planErasures } from '../erasure/forget.ts'
import { loadRun } from '../reports/history.ts'
import { tooManyRejects } from '../plan/reasonsToWithhold.ts'
import { makePlan, type Planned, type PlanInput } from '../plan/plan.ts'
import { notesThatStop, RunWithheld } from '../plan/qualityGuard.ts'
import { planSetsOf } from './productSets.ts'
import { prepareSending, resendUnresolved } from '../push/push.ts'
import { withBackfillSource } from '../read/backfillSource.ts'
import { findOptedOutEntries } from '../read/optedOut.ts'
import { readSnapshot, type SnapshotResult } from '../read/snapshot.ts'
import { createStage } from '../read/stageTable.ts'
import { timedStage } from './timedStage.ts'
import { acceptSandboxInstance, isFullRefresh, noteSandboxInstance } from './sandboxInstance.ts'

/**
 * After a full read of this many rows the connection is closed, because dropping its temporary tables takes longer than a new connection.
 */
const manyRows = 100_000

/** Result of `readAndPlan`. */
export interface PlanOutcome {
  /** Stored plan; undefined if a guard stopped the run, so that nothing is sent. */
  readonly planned: Planned | undefined
  readonly guards: readonly GuardResult[]
  /** Text about how the end of the sources was proven, or why nothing was read. */
  readonly proof: string
}

/**
 * Returns the stored plan with its guard results. If a guard stops the run, returns only the guard results, and discards the snapshot. A
 * run of `sluice plan` does not resolve earlier requests; `rerun --failed` reads nothing. `onPart`: called each
 * time a part of the plan is stored and may be sent, before the rest is planned (`plan/loadParts.ts`). `rows`: number of valid rows of the
 * whole read.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if `deps.signal` is aborted, and the errors of the read and of the plan
 */
export async function readAndPlan(
  deps: EngineDeps,
  given: Pipeline,
  run: RunRow,
  onPart?: (planId: string, rows: number) => Promise<void>,
): Promise<PlanOutcome> {
  await planErasures(deps)
  const pipeline = run.options.source === undefined ? given : await withBackfillSource(given, run.options.source)
  let snapshot: SnapshotResult | undefined
  const client = await deps.db.connect()
  const tx = connectionOf(client)
  let isReleased = false
  try {
    if (!run.options.failedOnly) {
      snapshot = await read(deps, tx, pipeline, run)
      await stopIfReadDoubtful(deps, pipeline, run, snapshot)
    }
    const input = snapshot ?? (await stageNothing(deps, tx, run))
    if (run.trigger !== 'plan') {
      await resolveEarlier(deps, run, tx)
      await waitForLateArrivals(deps, run.destinationId)
    }
    if (deps.signal?.aborted) throw interrupted()
    const planned = await plan(deps, tx, { pipeline, run, input, onPart: onPart && ((id) => onPart(id, input.rows.valid)) })
    if (deps.signal?.aborted) throw interrupted()
    isReleased = true
    void releaseSession(client, tx, input)
    return { planned, guards: planned.guards, proof: proofOf(snapshot) }
  } catch (error) {
    if (!(error instanceof RunWithheld)) throw error
    if (snapshot !== undefined) await discardSnapshot(deps.db, snapshot.snapshotId, snapshot.rows)
    return { planned: undefined, guards: error.results, proof: proofOf(snapshot) }
  } finally {
    // A failed plan may have left a transaction open. Then the connection is closed, which also drops the temporary tables.
    if (!isReleased) client.release(true)
  }
}

/**
 * Drops the temporary tables, so that the pool can keep the session, which has cached the schema. Closes the connection instead after many
 * rows, or if the statement fails. A small run took 220 ms of the server's processor, 50 of them for a new session (Postgres 18.4, 60
 * products or people). Does not throw, and need not be awaited: 10,000 changed rows take 30 ms.
 */
async function releaseSession(client: pg.PoolClient, tx: Connection, { reading, rows }: PlanInput): Promise<void> {
  if (reading === 'whole' && rows.read >= manyRows) return client.release(true)
  await tx.query('discard temp').then(
    () => client.release(),
    () => client.release(true),
  )
}

function proofOf(snapshot: SnapshotResult | undefined): string {
  return snapshot?.proof ?? 'nothing was read: only failed operations are sent again'
}

/** Resolves the unresolved requests of earlier runs, without people who opted out since. */
async function resolveEarlier(deps: EngineDeps, run: RunRow, tx: Connection): Promise<void> {
  // Several requests are prepared at the same time, but the connection executes one statement at a time, so their searches take turns.
  const inTurn = pLimit(1)
  await timedStage(deps, run, 'settle', () =>
    resendUnresolved(deps, run.destinationId, {
      runId: run.id,
      findOptedOut: (batch) => inTurn(() => findOptedOutEntries(tx, batch)),
    }),
  )
}

/** Reads the sources, and stores the row counts and the snapshot with the run. */
async function read(deps: EngineDeps, tx: Connection, pipeline: Pipeline, run: RunRow): Promise<SnapshotResult> {
  const snapshot = await timedStage(deps, run, 'read', () => readSnapshot(deps, tx, pipeline, run))
  await updateRun(deps.db, run, { counts: { ...noCounts, ...snapshot.rows }, snapshotId: snapshot.snapshotId })
  return snapshot
}

/**
 * Applies the guards that stop a run before its plan. Rejects do not stop a run whose source is unchanged.
 *
 * @throws {RunWithheld} if too many rows were rejected, or a warning on the source needs a review
 */
async function stopIfReadDoubtful(
  deps: EngineDeps,
  pipeline: Pipeline,
  run: RunRow,
  { reading, rows, warnings }: SnapshotResult,
): Promise<void> {
  if (reading !== 'unchanged') {
    const tooMany = tooManyRejects({
      guards: pipeline.guards,
      read: rows.read,
      rejected: rows.rejected,
      pipeline: pipeline.name,
      run: `r_${run.id}`,
      codes: (await loadRun(deps.db, `r_${run.id}`)).rejectCodes ?? [],
    })
    if (tooMany) throw new RunWithheld([tooMany])
  }
  const notes = notesThatStop(pipeline, warnings)
  if (notes.length > 0) throw new RunWithheld(notes)
}

/** Makes the plan, and plans the product sets. */
async function plan(
  deps: EngineDeps,
  tx: Connection,
  of: {
    readonly pipeline: Pipeline
    readonly run: RunRow
    readonly input: PlanInput
    readonly onPart: ((planId: string) => Promise<void>) | undefined
  },
): Promise<Planned> {
  const { pipeline, run, input, onPart } = of
  const isReplaced = await noteSandboxInstance(deps, run)
  const onIdle = run.trigger === 'plan' ? undefined : () => prepareSending(deps)
  const planned = await timedStage(deps, run, 'plan', () =>
    cancellingStatements(deps, tx.client, () => makePlan(deps, tx, pipeline, run, input, { onPart, onIdle })),
  )
  const { imageSample } = pipeline.mapping
  if (imageSample !== undefined && run.trigger === 'plan') await storeImageSample(deps.db, planned.planId, imageSample)
  // After the sandbox was replaced, the stored ids of product sets may belong to other sets. Then only a full refresh plans the sets.
  if (!isReplaced || (await acceptForFullRefresh(deps, run))) await planSetsOf(deps, run, pipeline, planned.planId, { isReplaced })
  return planned
}

/**
 * Returns true for a full refresh, which sends everything to the new sandbox instance. For a full refresh, also accepts the instance, unless
 * the plan waits for `apply`: that plan may never be sent, so `applyPlan` accepts the instance.
 */
async function acceptForFullRefresh(deps: EngineDeps, run: RunRow): Promise<boolean> {
  return run.trigger === 'plan' ? isFullRefresh(run.options) : acceptSandboxInstance(deps, run, run.options)
}

/**
 * Creates an empty stage, and returns the input of a plan without a read, with the id of the last complete snapshot; 0 if there is none.
 * For `rerun --failed`, limits the plan to keys with an unconfirmed operation in the earlier run.
 */
export async function stageNothing(deps: EngineDeps, tx: Connection, run: RunRow): Promise<PlanInput> {
  await createStage(tx)
  const [last] = await deps.db.query<{ id: Value<'snapshot', 'id'> | null }>(
    `select max(id) as id from snapshot where destination_id = $1 and status = 'closed'`,
    [run.destinationId],
  )
  return {
    snapshotId: Number(last?.id ?? 0),
    rows: { read: 0, rejected: 0, duplicates: 0, suppressed: 0, valid: 0 },
    reading: 'unchanged',
    unseen: [],
    previousValid: undefined,
    fallen: [],
    incomplete: undefined,
    suppressedBy: [],
    ...(run.rerunOf === null ? {} : { onlyFailedOf: run.rerunOf }),
  }
}

/** Time added to a wait, because a timer of Node may end before the clock of the database is there. Then the plan would defer the keys. */
const timerSlackMs = 50

/**
 * Waits while the service may still apply an abandoned attempt. Until then nothing newer may be sent for its keys
 * (docs/guarantees.md#key-order). Waits at most one horizon (docs/decisions/late-arrival-horizon.md). The plan defers keys whose wait is
 * longer.
 */
async function waitForLateArrivals(deps: EngineDeps, destinationId: number): Promise<void> {
  const [row] = await deps.db.query<{ ms: string | null }>(
    `select extract(epoch from max(late_until) - statement_timestamp()) * 1000 as ms from remote where destination_id = $1 and late_until is not null`,
    [destinationId],
  )
  const leftMs = Number(row?.ms ?? 0)
  if (leftMs <= 0) return
  const { horizonMs } = deps.settings
  const ms = Math.min(leftMs, horizonMs)
  deps.onProgress?.({ stage: 'plan', done: 0, waiting: `waiting ${Math.ceil(ms / 1000)} s: an earlier request may still complete` })
  await deps.clock.sleep(ms + timerSlackMs, deps.signal)
  // The longest stored wait is two horizons: that of the second delete of a suppressed person. A longer one was stored by a wrong clock.
  if (leftMs > 2 * horizonMs) await endFalseWaits(deps.db, destinationId, 2 * horizonMs)
}
