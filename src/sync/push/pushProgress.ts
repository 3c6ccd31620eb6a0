/** Progress of a push. */
import type { BatchScope } from '../../db/batches/claim.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Progress } from '../../model/report.ts'

export interface PushProgress {
  /** Adds finished operations. */
  readonly add: (done: number) => void
  /** Shows the reason of a wait, beside the progress. */
  readonly waiting: (why: string) => void
}

/**
 * Starts the progress of a push: counts its operations and reports the settled ones. `operations`: their number, if not all are stored
 * yet. `onProgress`: undefined if no caller shows it.
 */
export async function openProgress(
  db: Queryable,
  scope: BatchScope,
  operations: number | undefined,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<PushProgress> {
  if (onProgress === undefined) return { add: () => undefined, waiting: () => undefined }
  const stage = 'resendOf' in scope ? 'settle' : 'push'
  const { where, value } = batchesIn(scope)
  const [row] = await db.query<{ total: number; open: number }>(
    `select coalesce(sum(entry_count), 0)::int as total,
       coalesce(sum(entry_count) filter (where status in ('pending', 'ambiguous', 'in_flight')), 0)::int as open
     from batch where ${where}`,
    [value],
  )
  const total = operations ?? row?.total ?? 0
  let done = (row?.total ?? 0) - (row?.open ?? 0)
  const report = (waiting?: string) =>
    onProgress({ stage, done: Math.min(done, total), total, ...(waiting === undefined ? {} : { waiting }) })
  report()
  return {
    add(count) {
      done += count
      report()
    },
    waiting: report,
  }
}

/** Returns the SQL condition of the batches that a push counts, with `value` as `$1`. Batches sent again count only while they are open. */
function batchesIn(scope: BatchScope): { readonly where: string; readonly value: string | number } {
  if ('planId' in scope) return { where: `plan_id = $1 and phase <> ${erasurePhase}`, value: scope.planId }
  if ('erasure' in scope)
    return {
      where: `id in (select batch_id from erasure_delete where erasure_id = $1) and destination_id = ${scope.audience}`,
      value: scope.erasure,
    }
  return {
    where: `destination_id = $1 and (status in ('ambiguous', 'in_flight') or (status = 'pending' and attempts > 0))`,
    value: scope.resendOf,
  }
}
