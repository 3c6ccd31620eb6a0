/** Counts and reports the operations that a push has done. */
import { inScopeAndFence, scopeValues, type BatchScope } from '../../db/batches/claim.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Progress } from '../../model/report.ts'

/** Reports of the progress of a push. An operation is done when this run will not send it again. */
export interface PushProgress {
  /** Adds a number of operations that this process has done, and reports the progress. */
  readonly add: (done: number) => void
  /** Reports the progress, and why the push waits. */
  readonly reportWait: (why: string) => void
  /** Counts the operations that all processes have done, at most once a second, and always at the `end`. Ignores errors of the database. */
  readonly recount: (end?: 'end') => Promise<void>
}

const recountEveryMs = 1_000

/**
 * Reports the progress at the start, and returns functions for later reports. `operations`: estimated number of all operations, if not all
 * are stored yet. Without `onProgress`, counts nothing, and the functions do nothing.
 */
export async function openProgress(
  db: Queryable,
  scope: BatchScope,
  operations: number | undefined,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<PushProgress> {
  if (onProgress === undefined) return { add: () => undefined, reportWait: () => undefined, recount: () => Promise.resolve() }
  const stage = 'resendOf' in scope ? 'settle' : 'push'
  const atStart = await countOperations(db, scope)
  const total = operations ?? atStart.total
  // With `resendOf` (open batches of earlier runs), the number of open operations at the start is the total.
  const doneOf = (counts: typeof atStart) => ('resendOf' in scope ? atStart.total : counts.total) - counts.open
  let done = doneOf(atStart)
  let countedAt = performance.now()
  const report = (waiting?: string) =>
    onProgress({ stage, done: Math.min(done, total), total, ...(waiting === undefined ? {} : { waiting }) })
  report()
  return {
    add(count) {
      done += count
      report()
    },
    reportWait: report,
    async recount(end) {
      if (end === undefined && performance.now() - countedAt < recountEveryMs) return
      countedAt = performance.now()
      const counts = await countOperations(db, scope).catch(() => undefined)
      if (counts === undefined) return
      done = Math.max(done, doneOf(counts))
      report()
    },
  }
}

/**
 * Returns the number of operations in the batches of a scope, and how many of them are open. With `resendOf` (batches of earlier runs),
 * both numbers count only the open ones. An operation that moved from a settled or superseded batch to a new one is counted in both.
 */
async function countOperations(db: Queryable, scope: BatchScope): Promise<{ readonly total: number; readonly open: number }> {
  const isOpen = `b.status in ('pending', 'ambiguous', 'in_flight')`
  const [row] = await db.query<{ total: number; open: number }>(
    `select coalesce(sum(entry_count), 0)::int as total, coalesce(sum(entry_count) filter (where ${isOpen}), 0)::int as open
     from batch b where ${inScopeAndFence(scope)} and ${'resendOf' in scope ? isOpen : `b.status <> 'split'`}`,
    scopeValues(scope),
  )
  return { total: row?.total ?? 0, open: row?.open ?? 0 }
}
