/** Counts the operations of a push, and shows its progress. */
import { inScopeAndFence, scopeValues, type BatchScope } from '../../db/batches/claim.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Progress } from '../../model/report.ts'

/** Functions that update the progress of a push, and show it. */
export interface PushProgress {
  /** Adds a number of operations that this process finished, and shows the progress. */
  readonly add: (done: number) => void
  /** Shows the reason of a wait, beside the progress. */
  readonly waiting: (why: string) => void
  /**
   * Counts the finished operations of all processes again, at most once a second, or immediately at the `end`. Errors are ignored, because
   * nothing depends on the progress.
   */
  readonly recount: (end?: 'end') => Promise<void>
}

const recountEveryMs = 1_000

/**
 * Counts the operations of a push, reports the finished ones, and returns the functions for later changes. `operations`: estimated number
 * of all operations, if not all are stored yet. `onProgress`: undefined if no caller shows the progress.
 */
export async function openProgress(
  db: Queryable,
  scope: BatchScope,
  operations: number | undefined,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<PushProgress> {
  if (onProgress === undefined) return { add: () => undefined, waiting: () => undefined, recount: () => Promise.resolve() }
  const stage = 'resendOf' in scope ? 'settle' : 'push'
  const atStart = await countOperations(db, scope)
  const total = operations ?? atStart.total
  // With `resendOf`, a later count leaves out the operations that were finished since the start.
  const finished = (counted: typeof atStart) => ('resendOf' in scope ? atStart.total : counted.total) - counted.open
  let done = finished(atStart)
  let countedAt = performance.now()
  const report = (waiting?: string) =>
    onProgress({ stage, done: Math.min(done, total), total, ...(waiting === undefined ? {} : { waiting }) })
  report()
  return {
    add(count) {
      done += count
      report()
    },
    waiting: report,
    async recount(end) {
      if (end === undefined && performance.now() - countedAt < recountEveryMs) return
      countedAt = performance.now()
      const counted = await countOperations(db, scope).catch(() => undefined)
      if (counted === undefined) return
      done = Math.max(done, finished(counted))
      report()
    },
  }
}

/** Returns the number of operations of a scope, and how many of them are open. With `resendOf`, both numbers count only the open ones. */
async function countOperations(db: Queryable, scope: BatchScope): Promise<{ readonly total: number; readonly open: number }> {
  const isOpen = `b.status in ('pending', 'ambiguous', 'in_flight')`
  const [row] = await db.query<{ total: number; open: number }>(
    `select coalesce(sum(entry_count), 0)::int as total, coalesce(sum(entry_count) filter (where ${isOpen}), 0)::int as open
     from batch b where ${inScopeAndFence(scope)} and ${'resendOf' in scope ? isOpen : `b.status <> 'split'`}`,
    scopeValues(scope),
  )
  return { total: row?.total ?? 0, open: row?.open ?? 0 }
}
