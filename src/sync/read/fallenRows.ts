/** Compares the number of rows with those of earlier reads: in one step, by source, and in small steps within a day. */
import type { SourceFacts } from '../../formats/rows.ts'
import type { QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { Database } from '../../db/database.ts'
import { noGuardFired } from '../../db/plans.ts'
import { readsBackfillSource, readsOwnSources } from '../../db/runs/request.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { rowsComparedFrom, type RowCounts, type WarningSummary } from '../../model/report.ts'
import { formerSources } from './formerSources.ts'

/** Source that had at least 20 rows and has less than half of them now, or that had rows and has none now. */
export interface FallenSource {
  readonly uri: string
  /** Number of rows in the last complete snapshot in whose plans no guard fired. */
  readonly before: number
  readonly now: number
}

/**
 * Returns the note on valid rows that fell by more than half within a day. `GUARD_ROWS_FELL` compares a read only with the last read in
 * whose plans no guard fired (`goodValid`), so several small falls pass this guard. A fall in one step gets no note here, because the guard
 * reports it. Rows that opted out or were suppressed since do not count as fallen. An approval of deletes starts the comparison again.
 */
export async function erodedNotes(
  db: Database,
  pipeline: Pipeline,
  run: RunRow,
  { valid, suppressed }: RowCounts,
  goodValid: number | undefined,
): Promise<WarningSummary[]> {
  if (goodValid === undefined || readsBackfillSource(run) || !destinationOf(pipeline.destination.kind).guardsDeletes) return []
  const [most] = await db.query<{ valid: number; suppressed: number }>(
    `select (s.counts ->> 'valid')::int as valid, (s.counts ->> 'suppressed')::int as suppressed from snapshot s join run r on r.id = s.run_id
     where s.destination_id = $1 and s.status = 'closed' and ${readsOwnSources('r')}
       and r.started_at > statement_timestamp() - interval '1 day'
       and ${noGuardFired('s.id')}
       and s.id >= coalesce((select max(a.id) from snapshot a join run q on q.id = a.run_id
         where a.destination_id = $1 and q.options ->> 'approveDeletes' is not null), 0)
     order by 1 desc limit 1`,
    [run.destinationId],
  )
  if (most === undefined || most.valid < rowsComparedFrom) return []
  const now = valid + Math.max(0, suppressed - most.suppressed)
  if (now < goodValid / 2 || now >= most.valid / 2) return []
  const message = `valid rows fell from ${most.valid} to ${valid} within a day, in steps that no guard withholds`
  return [{ code: 'ROWS_ERODED' satisfies QualityCode, field: '', message, count: most.valid - valid, lines: [] }]
}

/**
 * Returns the sources that lost most of their rows. The sum of all sources may hide such a loss, for example if the feed of one of twelve
 * countries is empty. Empty if there is only one source. `patterns`: as in `formerSources`.
 */
export function fallenSources(now: readonly SourceFacts[], before: readonly SourceFacts[], patterns: readonly string[]): FallenSource[] {
  if (now.length < 2) return []
  const former = formerSources(
    now.map(({ uri }) => uri),
    before,
    patterns,
  )
  return now.flatMap(({ uri, rows = 0 }, index): FallenSource[] => {
    const last = former[index]?.rows ?? 0
    return last > 0 && (rows === 0 || (last >= rowsComparedFrom && rows < last / 2)) ? [{ uri, before: last, now: rows }] : []
  })
}

/**
 * Returns the number of valid rows of the last interrupted first load, which has no complete snapshot. Undefined if there is no such load,
 * and for a backfill.
 */
export async function interruptedValid(db: Database, run: RunRow): Promise<number | undefined> {
  if (readsBackfillSource(run)) return undefined
  const [row] = await db.query<{ valid: number }>(
    `select (p.counts ->> 'valid')::int as valid from plan p join run u on u.id = p.run_id
     where p.destination_id = $1 and p.status <> 'ready' and u.trigger <> 'plan' and ${readsOwnSources('u')}
       and jsonb_array_length(p.guards) = 0
       -- A plan over an incomplete read that was applied was not interrupted.
       and not (p.status = 'applied' and exists (select from snapshot s where s.id = p.snapshot_id and s.status = 'incomplete'))
     order by p.created_at desc limit 1`,
    [run.destinationId],
  )
  return row?.valid
}
