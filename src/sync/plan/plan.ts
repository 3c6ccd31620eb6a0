/**
 * Makes a plan in one transaction: completes the snapshot, updates the desired state, applies the guards and freezes the
 * operations. An error rolls back all of it.
 */
import type pg from 'pg'
import type { Pipeline } from '../../model/pipeline.ts'
import { isRetryable } from '../../db/database.ts'
import type { RunRow } from '../../db/runs.ts'
import { applyGuards } from './applyGuards.ts'
import { applyChanges, type Changes } from './changes.ts'
import { crashPoint } from '../crashPoint.ts'
import { addDuration } from './durations.ts'
import type { EngineDeps } from '../engine.ts'
import { freeze } from './freeze.ts'
import { firstMembers, firstProducts, memberOperations, productOperations, type PlannedOperation } from './operations.ts'
import { openWork, type PlanInput, type PlanWork } from './planWork.ts'
import { insertPlan, storePlan, type Planned } from './storePlan.ts'

export type { PlanInput } from './planWork.ts'
export type { Planned } from './storePlan.ts'

/** Makes a plan. Tries again after a deadlock with a worker that records an answer at the same time. */
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
    // Enough for hash aggregates of a few million digests. More does not make the join of the diff faster.
    await client.query(`set local work_mem = '64MB'`)
    const planned = await planInTransaction(await openWork(deps, client, pipeline, run, input))
    crashPoint('plan.before_commit')
    await client.query('commit')
    crashPoint('plan.after_commit')
    return planned
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function planInTransaction(work: PlanWork): Promise<Planned> {
  const { deps, client, destinationId, planId, pending } = work
  deps.onProgress?.({ stage: 'diff', done: 0 })
  const changes = await applyChanges(work)
  const guarded = await guardPlan(work, changes)
  crashPoint('plan.guarded')
  const compared = changes.first?.plain !== true
  if (compared) await pending.unifyGroups()

  const { first } = changes
  deps.onProgress?.({ stage: 'plan', done: 0 })
  await insertPlan(work, guarded.results)
  const frozen = await freeze(client, work.type, operationsOf(work, changes), {
    planId,
    destinationId,
    loadId: first?.loadId,
    onProgress: (done) => deps.onProgress?.({ stage: 'plan', done }),
  })
  crashPoint('plan.frozen')
  return storePlan(work, changes, guarded, frozen, compared ? await pending.countKeyLookups() : 0)
}

function guardPlan({ pipeline, type, run, input, desired, pending, ignoresMissing, sourceless }: PlanWork, changes: Changes) {
  return applyGuards({
    desired,
    pending,
    diff: changes.diff,
    absent: changes.absent,
    suppressedBy: input.suppressedBy,
    guarded: type.guardsDeletes,
    nothingToDelete: changes.first?.plain === true,
    facts: {
      pipeline: pipeline.name,
      guards: pipeline.guards,
      valid: input.rows.valid,
      // A backfill source is not compared with the pipeline's own.
      previousValid: ignoresMissing ? undefined : input.previousValid,
      read: input.rows.read,
      rejected: input.rows.rejected,
      // A backfill deletes no missing rows, so nothing is withheld.
      incomplete: ignoresMissing ? undefined : input.incomplete,
      fromPipe: pipeline.sources.some(({ uri, complete }) => uri === '-' && complete.kind === 'auto'),
      approveDeletes: run.options.approveDeletes,
      // `min_rows` does not apply to it either.
      absenceDeletes: !sourceless && !ignoresMissing,
    },
  })
}

function operationsOf(work: PlanWork, { first }: Changes): AsyncIterable<PlannedOperation> {
  const context = { client: work.client, destinationId: work.destinationId, full: work.full }
  const membership = work.type.membership(work.pipeline.destination)
  if (membership === undefined) return first ? firstProducts(context) : productOperations(context)
  const { expiresIn, usersPerOperation, withEffectiveAt } = membership
  const terms = {
    plannedAtMs: work.plannedAtMs,
    expiresAtMs: addDuration(work.plannedAtMs, expiresIn),
    usersPerOperation,
    withEffectiveAt,
  }
  return first?.plain === true ? firstMembers(context, terms, first) : memberOperations(context, terms)
}
