/** A plan on its way: begun once, sent, and judged by its books when nothing moves any more. */
import { RunError } from '../errors.ts'
import { endRound, openRound } from '../store/rounds.ts'
import type { RunRow } from '../store/runs.ts'
import type { EngineDeps } from './engine.ts'
import { planBooks } from './push/push.ts'
import type { GuardVerdict } from './report.ts'
import type { Ending } from './closing.ts'
import { interrupted } from './read/stage.ts'

/**
 * Marks the plan as being applied, once. What a delete may reach besides its own identifiers gets a new content to be
 * confirmed (I20): its updates stand in the plan's second phase, or in the next plan if this process dies.
 */
export async function startApplying(deps: EngineDeps, run: RunRow, planId: string): Promise<'go' | 'done'> {
  return deps.db.transaction(async (tx) => {
    const [row] = await tx.query<{ status: string; plan_version: string; state_version: string; wants_else: boolean; pipeline: string }>(
      `select p.status, p.pipeline, p.state_version as plan_version, d.state_version,
         coalesce((p.review ->> 'desiredVersion')::bigint <> d.desired_version, false) as wants_else
       from sluice.plan p join sluice.destination d on d.id = p.destination_id where p.id = $1 for update of p, d`,
      [planId],
    )
    if (!row) throw new Error('the plan was just there')
    if (row.status === 'applied') return 'done'
    if (row.status === 'superseded') throw stale(planId, row.pipeline, 'a newer plan took its place')
    if (row.status === 'ready') {
      if (row.plan_version !== row.state_version) throw stale(planId, row.pipeline, 'the synced state moved since it was made')
      // Else it would send who has left since, and the run after it would have to take them back (I2, I16).
      if (row.wants_else) throw stale(planId, row.pipeline, 'the source was read since and wants something else')
      await tx.execute(
        `update sluice.remote m set desired_hash = decode(md5($1 || encode(e.record_key, 'hex')), 'hex'), round = ${openRound}
         from sluice.entry e join sluice.batch b on b.id = e.batch_id
         where b.plan_id = $1 and b.operation = 'delete' and m.destination_id = e.destination_id and m.group_key = e.record_key and m.held > 0`,
        [planId],
      )
      await tx.execute(`update sluice.plan set status = 'applying', applied_at = clock_timestamp() where id = $1`, [planId])
      await tx.execute(
        `update sluice.destination set state_version = state_version + 1 where id = (select destination_id from sluice.plan where id = $1)`,
        [planId],
      )
    }
    await tx.execute(
      `update sluice.run set plan_id = $3, snapshot_id = (select snapshot_id from sluice.plan where id = $3) where id = $1 and epoch = $2`,
      [run.id, run.epoch, planId],
    )
    return 'go'
  })
}

function stale(planId: string, pipeline: string, why: string): RunError {
  return new RunError('PLAN_STALE', `plan ${planId} is stale: ${why}. Nothing was sent.`, {
    where: planId,
    mend: `sluice plan ${pipeline}`,
  })
}

/** A pause ends with the next run or apply that somebody starts: it tries again, and pauses again if nothing changed. */
export async function unpause(deps: EngineDeps, destinationId: number): Promise<void> {
  await deps.db.execute('update sluice.destination set paused_at = null, paused_reason = null where id = $1 and paused_at is not null', [
    destinationId,
  ])
}

export async function guardsOf(deps: EngineDeps, planId: string): Promise<readonly GuardVerdict[]> {
  const [row] = await deps.db.query<{ guards: GuardVerdict[] }>('select guards from sluice.plan where id = $1', [planId])
  return row?.guards ?? []
}

/** Status from the books, once nothing moves any more. */
export async function outcome(deps: EngineDeps, planId: string, guards: readonly GuardVerdict[]): Promise<Ending> {
  const books = await planBooks(deps.db, planId)
  const [row] = await deps.db.query<{ destination_id: number; paused_reason: string | null; pipeline: string; deferred: number }>(
    `select d.id as destination_id, d.paused_reason, p.pipeline, (p.counts ->> 'deferred')::int as deferred
     from sluice.plan p join sluice.destination d on d.id = p.destination_id where p.id = $1`,
    [planId],
  )
  if (books.pending === 0) {
    await deps.db.execute(`update sluice.plan set status = 'applied' where id = $1 and status = 'applying'`, [planId])
    if (row !== undefined) await endRound(deps.db, row.destination_id)
  }
  if (deps.signal?.aborted && books.pending > 0) return { status: 'cancelled', guards, error: interrupted() }
  if (row?.paused_reason != null) {
    const error = new RunError('DESTINATION_PAUSED', row.paused_reason, { where: row.pipeline, mend: 'sluice doctor' })
    return { status: books.confirmed === 0 ? 'failed' : 'partial', guards, error }
  }
  if (guards.length > 0) return { status: 'withheld', guards }
  const open = books.refused + books.ambiguous + books.pending + (row?.deferred ?? 0)
  return { status: open > 0 ? 'partial' : 'succeeded', guards }
}
