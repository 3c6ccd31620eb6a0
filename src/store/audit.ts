/** Lines of the trail (I25): who did what, in the run that did it. */
import type { Queryable } from './database.ts'

export interface BatchLine {
  readonly actor: string
  /** `batch.` and what became of it. */
  readonly what: string
  readonly runId: number
  readonly planId: string
  readonly batchId: number
  /** Counts, codes and reasons; no identifiers (I17). */
  readonly detail: Readonly<Record<string, unknown>>
}

/** Written in the transaction that does it: there is no step without its line, and no line without its step. */
export async function noteBatch(tx: Queryable, line: BatchLine): Promise<void> {
  await tx.execute(`insert into sluice.audit (actor, what, run_id, plan_id, batch_id, detail) values ($1, $2, $3, $4, $5, $6)`, [
    line.actor,
    line.what,
    line.runId,
    line.planId,
    line.batchId,
    JSON.stringify(line.detail),
  ])
}

/** What a run did that is neither of a plan nor of a batch. */
export async function noteRun(
  tx: Queryable,
  line: Pick<BatchLine, 'actor' | 'what' | 'runId'> & { readonly detail: object },
): Promise<void> {
  await tx.execute('insert into sluice.audit (actor, what, run_id, detail) values ($1, $2, $3, $4)', [
    line.actor,
    line.what,
    line.runId,
    JSON.stringify(line.detail),
  ])
}
