/**
 * Plan: one transaction closes the snapshot, brings the desired state up to date, applies the guards and freezes what
 * is to be sent (I7). Whatever stops it leaves nothing of it behind.
 */
import type pg from 'pg'
import type { Pipeline } from '../../model/pipeline.ts'
import { isRetryable } from '../../db/database.ts'
import type { RunRow } from '../../db/runs.ts'
import { brake } from './brake.ts'
import { applyChanges, type Changes } from './changes.ts'
import { crashPoint } from '../crashPoint.ts'
import { addDuration } from './durations.ts'
import type { EngineDeps } from '../engine.ts'
import { freeze } from './freeze.ts'
import { firstMembers, firstProducts, memberOperations, productOperations, type PlannedOperation } from './operations.ts'
import { openWork, type PlanInput, type PlanWork } from './planWork.ts'
import { insertPlan, storePlan, type Planned } from './storePlan.ts'
import { countLearning, stampGroups } from './todo.ts'

export type { PlanInput } from './planWork.ts'
export type { Planned } from './storePlan.ts'

/** Starts again after a deadlock with the counts of an answer that a worker elsewhere wrote at the same time. */
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
  const { deps, client, destinationId, planId, todo } = work
  deps.onProgress?.({ stage: 'diff', done: 0 })
  const changes = await applyChanges(work)
  const braked = await applyGuards(work, changes)
  crashPoint('plan.braked')
  const compared = changes.first?.plain !== true
  if (compared && todo.keys === 'identifiers') await stampGroups(todo)

  deps.onProgress?.({ stage: 'plan', done: 0 })
  await insertPlan(work, braked.verdicts)
  const frozen = await freeze(client, work.type, operationsOf(work, changes), {
    planId,
    destinationId,
    onProgress: (done) => deps.onProgress?.({ stage: 'plan', done }),
  })
  crashPoint('plan.frozen')
  return storePlan(work, changes, braked, frozen, compared ? await countLearning(todo) : 0)
}

function applyGuards({ pipeline, type, run, input, desired, todo, oneOff, sourceless }: PlanWork, changes: Changes) {
  return brake({
    desired,
    todo,
    diff: changes.diff,
    absent: changes.absent,
    suppressedBy: input.suppressedBy,
    guarded: type.guardsDeletes,
    nothingToDelete: changes.first?.plain === true,
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
      // Nor is it too short: it cannot delete.
      absenceDeletes: !sourceless && !oneOff,
    },
  })
}

function operationsOf(work: PlanWork, { first }: Changes): AsyncIterable<PlannedOperation> {
  const context = { client: work.client, destinationId: work.destinationId, full: work.todo.full }
  const membership = work.type.membership(work.pipeline.destination)
  if (membership === undefined) return first ? firstProducts(context) : productOperations(context)
  const { expiresIn, usersPerOperation, withEffectiveAt } = membership
  const terms = {
    plannedAtMs: work.plannedAtMs,
    expiresAtMs: addDuration(work.plannedAtMs, expiresIn),
    usersPerOperation,
    withEffectiveAt,
  }
  return first?.plain === true ? firstMembers(context, terms, first.shared) : memberOperations(context, terms)
}
