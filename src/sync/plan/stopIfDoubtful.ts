/** Compares products with their earlier desired content: guards of ids, prices, links and stock, and the changed fields for the review. */
import type { Database, Transaction } from '../../db/database.ts'
import { addWarnings, type RunRow } from '../../db/runs.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { DesiredContext } from './desired.ts'
import type { Diff } from './diff.ts'
import { findChangeNotes } from './changeNotes.ts'
import { notesThatStop, RunWithheld } from './qualityGuard.ts'

/** Run whose plan is made. */
export interface ReviewedRun {
  readonly db: Database
  readonly pipeline: Pipeline
  readonly run: RunRow
  /** True if the end of the source is not proven. Then nothing is deleted. */
  readonly isIncomplete: boolean
}

/** Counts of the diff that the checks need. `missing` is 0 if no row counts as missing, as for a backfill. */
export type ReviewedDiff = Pick<Diff, 'creates' | 'updates' | 'missing'>

/** Changed field with its number of products. */
export interface UpdatedField {
  readonly field: string
  readonly count: number
}

/**
 * Checks ids, prices, links and stock, and stores the warnings with the run. Returns the changed fields; empty above 20,000 updates.
 *
 * @throws {RunWithheld} if a note of `findChangeNotes` stops the run
 */
export async function reviewUpdates(
  { tx, destinationId }: DesiredContext,
  run: ReviewedRun,
  diff: ReviewedDiff,
): Promise<readonly UpdatedField[]> {
  if (diff.updates === 0 && Math.min(diff.creates, diff.missing) === 0) return []
  await stopIfDoubtful(tx, run, diff)
  return diff.updates === 0 ? [] : fieldsUpdated(tx, destinationId, diff.updates)
}

/** Compares ids, prices, links and stock with the stored content. Stores the warnings with the run. @throws {RunWithheld} */
async function stopIfDoubtful(tx: Transaction, { db, pipeline, run, isIncomplete }: ReviewedRun, diff: ReviewedDiff): Promise<void> {
  const { approveDeletes = 0 } = run.options
  // If the operator has approved the deletes, the missing ids are intended. An incomplete read deletes nothing even with an approval, so
  // the catalog would have every product twice.
  const missing = isIncomplete || diff.missing > approveDeletes ? diff.missing : 0
  const notes = await findChangeNotes(tx, { destinationId: run.destinationId, guards: pipeline.guards, creates: diff.creates, missing })
  if (notes.length === 0) return
  // Written outside of the plan's transaction, which must not lock the row of the run, because the heartbeat writes to this row.
  await addWarnings(db, run, notes, 'first')
  const withholding = notesThatStop(pipeline, notes, { isIncomplete })
  if (withholding.length > 0) throw new RunWithheld(withholding)
}

/** Counts the products by changed field, the most frequent first. Returns nothing above 20,000 updates, where counting takes seconds. */
async function fieldsUpdated(tx: Transaction, destinationId: number, updates: number): Promise<readonly UpdatedField[]> {
  if (updates > 20_000) return []
  const rows = await tx.query<{ field: string; n: string }>(
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
