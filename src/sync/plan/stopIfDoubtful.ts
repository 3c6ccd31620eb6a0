/** Stops a run whose read has doubtful changes of products, for example of their ids, prices or links. */
import type { Database } from '../../db/database.ts'
import { addWarnings, type RunRow } from '../../db/runs.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { DesiredContext } from './desired.ts'
import type { Diff } from './diff.ts'
import { findChangeNotes } from './changeNotes.ts'
import { notesThatStop, RunWithheld } from './qualityGuard.ts'

/** Run whose plan is made. */
export interface CheckedRun {
  readonly db: Database
  readonly pipeline: Pipeline
  readonly run: RunRow
  /** True if the end of the source is not proven. Then no missing product is deleted. */
  readonly isIncomplete: boolean
}

/** Counts of the diff that the checks need. `missing` is 0 if no row counts as missing, as for a backfill. */
export type CheckedDiff = Pick<Diff, 'creates' | 'updates' | 'missing'>

/**
 * Compares the changes of the diff with the stored content, and stores the warnings with the run.
 *
 * @throws {RunWithheld} if a note of `findChangeNotes` stops the run
 */
export async function stopIfDoubtful(
  { tx, destinationId }: DesiredContext,
  { db, pipeline, run, isIncomplete }: CheckedRun,
  diff: CheckedDiff,
): Promise<void> {
  if (diff.updates === 0 && Math.min(diff.creates, diff.missing) === 0) return
  const { approveDeletes = 0 } = run.options
  // If the operator has approved the deletes, the missing ids are intended. After an incomplete read no missing product is deleted, even
  // with an approval, so the catalog would have every product twice.
  const missing = isIncomplete || diff.missing > approveDeletes ? diff.missing : 0
  const notes = await findChangeNotes(tx, { destinationId, guards: pipeline.guards, creates: diff.creates, missing })
  if (notes.length === 0) return
  // Written outside of the plan's transaction: until its end it would lock the row of the run, to which the heartbeat writes.
  await addWarnings(db, run, notes, 'first')
  const withholding = notesThatStop(pipeline, notes, { isIncomplete })
  if (withholding.length > 0) throw new RunWithheld(withholding)
}
