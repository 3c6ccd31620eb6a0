/**
 * Writes the table `pipeline_pause` with the paused pipelines. No run of a paused pipeline starts, except `plan` runs, which send nothing.
 * A run in progress continues. A pause belongs to the destination. So it does not end if the pipeline gets another name.
 */
import { logAction } from './auditLog.ts'
import type { Database, Queryable } from './database.ts'
import type { DestinationKey } from './destinations.ts'
import type { DbRow } from './row.ts'

export interface Pause {
  readonly destination: DestinationKey
  /** Name of the pipeline when it was paused. */
  readonly pipeline: string
  readonly pausedAt: Date
  readonly actor: string
  readonly reason: string | null
}

/** Pause or resume by an operator. */
export interface OperatorAction {
  /** Destination to pause or to resume. Pipelines of two environments may have the same name, but their destinations differ. */
  readonly destinationId: number
  readonly pipeline: string
  readonly actor: string
  readonly reason?: string
}

/** Returns the SQL condition that an operator has paused the destination of a run. `run`: alias of the run. */
export function isPaused(run: string): string {
  return `exists (select from pipeline_pause p where p.destination_id = ${run}.destination_id)`
}

/** Pauses a pipeline. Returns false, and changes nothing, if the pipeline was already paused. */
export async function pausePipeline(db: Database, { destinationId, pipeline, actor, reason }: OperatorAction): Promise<boolean> {
  return db.transaction(async (tx) => {
    const insertedCount = await tx.execute(
      'insert into pipeline_pause (destination_id, pipeline, actor, reason) values ($1, $2, $3, $4) on conflict do nothing',
      [destinationId, pipeline, actor, reason ?? null],
    )
    if (insertedCount === 1) await logAction(tx, { actor, what: 'pipeline.paused', pipeline, detail: { destinationId, reason } })
    return insertedCount === 1
  })
}

/** Resumes a pipeline. Returns false if the pipeline was not paused. */
export async function resumePipeline(db: Database, { destinationId, pipeline, actor, reason }: OperatorAction): Promise<boolean> {
  return db.transaction(async (tx) => {
    const deletedCount = await tx.execute('delete from pipeline_pause where destination_id = $1', [destinationId])
    if (deletedCount > 0) await logAction(tx, { actor, what: 'pipeline.resumed', pipeline, detail: { destinationId, reason } })
    return deletedCount > 0
  })
}

/** Returns the pauses; with `destinationId`, only that of this destination. */
export async function listPauses(db: Queryable, destinationId?: number): Promise<readonly Pause[]> {
  const rows = await db.query<
    DbRow<'pipeline_pause', 'pipeline' | 'paused_at' | 'actor' | 'reason'> &
      DbRow<'destination', 'service' | 'kind' | 'account_id' | 'target_id'>
  >(
    `select p.pipeline, p.paused_at, p.actor, p.reason, d.service, d.kind, d.account_id, d.target_id
     from pipeline_pause p join destination d on d.id = p.destination_id where $1::int is null or d.id = $1`,
    [destinationId ?? null],
  )
  return rows.map(({ paused_at, service, kind, account_id, target_id, ...pause }) => ({
    ...pause,
    pausedAt: paused_at,
    destination: { service, kind, accountId: account_id, targetId: target_id },
  }))
}
