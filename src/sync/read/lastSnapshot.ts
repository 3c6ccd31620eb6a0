/** Loads the snapshot with which a read is compared. */
import type { SourceFacts } from '../../formats/rows.ts'
import type { Queryable } from '../../db/database.ts'
import { noGuardFired } from '../../db/plans.ts'
import { decodeColumns, decodeWarnings } from '../../db/runs/columns.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import { decodeRowCounts, decodeSources } from '../../db/snapshots.ts'
import type { DbRow } from '../../db/row.ts'
import type { RowCounts, WarningSummary } from '../../model/report.ts'

/** Last complete snapshot of the destination; those of backfills do not count. */
export interface LastSnapshot {
  readonly id: number
  /** Run that read the snapshot. */
  readonly runId: number
  readonly pipeline: string
  readonly definitionHash: string
  /** Sum of the versions of the account's do-not-reach lists at the read; 0 if the pipeline ignores these lists. */
  readonly suppressionVersion: number
  readonly sources: readonly SourceFacts[]
  readonly rows: RowCounts
  /**
   * Number of valid rows of the reference read; undefined without one. The *reference read* is the last complete read in whose plans no
   * guard fired (withheld deletes or stopped a run). Otherwise half a feed, whose deletes were withheld, would be the reference of the next
   * read.
   */
  readonly referenceValid: number | undefined
  /** Sources of the reference read. */
  readonly referenceSources: readonly SourceFacts[]
  readonly warnings: readonly WarningSummary[]
  readonly columns: readonly string[]
  /**
   * True if unchanged bytes must be read again:
   *
   * - A guard fired in one of the snapshot's plans.
   * - A backfill or an incomplete read followed.
   * - A record of the destination was erased after the snapshot's first plan began.
   */
  readonly mustReread: boolean
  /** True if the snapshot was read within the last day. Otherwise a server's answer 304 does not count as unchanged. */
  readonly isRecent: boolean
}

/** Returns the last snapshot; undefined if there is none. Another pipeline of the destination may have read it. */
export async function loadLastSnapshot(db: Queryable, destinationId: number): Promise<LastSnapshot | undefined> {
  const [row] = await db.query<
    DbRow<'snapshot', 'id' | 'run_id' | 'definition_hash' | 'suppression_version' | 'sources' | 'counts'> &
      DbRow<'run', 'warnings' | 'columns' | 'pipeline'> & {
        reference_valid: number | null
        reference_sources: unknown
        must_reread: boolean
        is_recent: boolean
      }
  >(
    // `last` is materialized: otherwise Postgres may search the reference read of every snapshot, and sort afterwards.
    `with last as materialized (
       select s.*, r.pipeline, r.warnings, r.columns
       from snapshot s join run r on r.id = s.run_id
       where s.destination_id = $1 and s.status = 'closed' and ${readsOwnSources('r')}
       order by s.id desc limit 1)
     select s.id, s.run_id, s.definition_hash, s.suppression_version, s.sources, s.counts, s.pipeline, s.warnings, s.columns,
       s.closed_at between statement_timestamp() - interval '1 day' and statement_timestamp() as is_recent,
       (reference.counts ->> 'valid')::int as reference_valid, reference.sources as reference_sources,
       not (${noGuardFired('s.id')})
         -- A later backfill or incomplete read changed the desired content.
         or exists (
           select from snapshot later
           where later.destination_id = s.destination_id and later.id > s.id and later.status in ('closed', 'incomplete'))
         -- An erasure after the snapshot's first plan began: the stored counts still have the rows of erased people as valid.
         -- "erasures" in the review of a plan is the id of the newest erasure before that plan began.
         or exists (select from erased_key x where x.destination_id = s.destination_id and x.erasure_id > (
           select min((p.review ->> 'erasures')::bigint) from plan p where p.snapshot_id = s.id)) as must_reread
     from last s left join lateral (
       select g.counts, g.sources from snapshot g join run gr on gr.id = g.run_id
       where g.destination_id = s.destination_id and g.status = 'closed' and ${readsOwnSources('gr')} and ${noGuardFired('g.id')}
       order by g.id desc limit 1) reference on true`,
    [destinationId],
  )
  if (!row) return undefined
  return {
    id: Number(row.id),
    runId: Number(row.run_id),
    pipeline: row.pipeline,
    definitionHash: row.definition_hash,
    suppressionVersion: Number(row.suppression_version),
    sources: decodeSources(row.sources, row.id),
    rows: decodeRowCounts(row.counts, row.id),
    referenceValid: row.reference_valid ?? undefined,
    referenceSources: row.reference_sources === null ? [] : decodeSources(row.reference_sources, row.id),
    warnings: decodeWarnings(row.warnings, row.run_id),
    columns: decodeColumns(row.columns, row.run_id),
    mustReread: row.must_reread,
    isRecent: row.is_recent,
  }
}
