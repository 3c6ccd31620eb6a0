/**
 * Compares the numbers of rows, of opt-outs and of rows without a key with those of earlier reads. Reference read: the last complete read in
 * whose plans no guard fired (withheld deletes or stopped a run).
 */
import type { SourceFacts } from '../../formats/rows.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import type { Database } from '../../db/database.ts'
import { noGuardFired } from '../../db/plans.ts'
import { readsBackfillSource, readsOwnSources } from '../../db/runs/request.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { minComparedRows, type RowCounts, type WarningSummary } from '../../model/report.ts'
import { formerSources } from './formerSources.ts'

/** Source that had rows and has none now, or that had at least 20 rows and has less than half of them now. */
export interface FallenSource {
  readonly uri: string
  /** Number of rows in the reference read. */
  readonly before: number
  readonly now: number
}

/**
 * Returns a note if the valid rows fell by more than half within a day, in several steps. The guard `GUARD_ROWS_FELL` finds only a fall in
 * one step. Rows that opted out or were suppressed since do not count as fallen. An approval of deletes starts the comparison again.
 *
 * `referenceValid`: number of valid rows of the reference read; undefined without one.
 */
export async function erosionNotes(
  db: Database,
  pipeline: Pipeline,
  run: ClaimedRun,
  { valid, suppressed }: RowCounts,
  referenceValid: number | undefined,
): Promise<WarningSummary[]> {
  if (referenceValid === undefined || readsBackfillSource(run) || !destinationOf(pipeline.destination.kind).guardsDeletes) return []
  // The read with the most valid rows, among the reads of the last day and since the last read with approved deletes. `opened_at` has an
  // index, and is later than `started_at`.
  const lastDay = `statement_timestamp() - interval '1 day'`
  const [largest] = await db.query<{ valid: number; suppressed: number }>(
    `select (s.counts ->> 'valid')::int as valid, (s.counts ->> 'suppressed')::int as suppressed
     from snapshot s join run r on r.id = s.run_id
     where s.destination_id = $1 and s.status = 'closed' and ${readsOwnSources('r')}
       and r.started_at > ${lastDay} and s.opened_at > ${lastDay}
       and ${noGuardFired('s.id')}
       and s.id >= coalesce((select max(a.id) from snapshot a join run ar on ar.id = a.run_id
         where a.destination_id = $1 and a.opened_at > ${lastDay} and ar.options ->> 'approveDeletes' is not null), 0)
     order by 1 desc limit 1`,
    [run.destinationId],
  )
  if (largest === undefined || largest.valid < minComparedRows) return []
  const comparedValid = valid + Math.max(0, suppressed - largest.suppressed)
  const fellInOneStep = comparedValid < referenceValid / 2
  if (fellInOneStep || comparedValid >= largest.valid / 2) return []
  const message = `valid rows fell from ${largest.valid} to ${valid} within a day, in steps within the limits of the guards`
  return [noteOf('ROWS_ERODED', message, { count: largest.valid - valid })]
}

/**
 * Returns the sources that lost most of their rows; empty if there is only one source. The sum of all sources may hide such a loss, for
 * example if the feed of one of twelve countries is empty. `now`, `before`: facts of this read, and of the reference read. `patterns`: as
 * in `formerSources`.
 */
export function fallenSources(now: readonly SourceFacts[], before: readonly SourceFacts[], patterns: readonly string[]): FallenSource[] {
  if (now.length < 2) return []
  const uris = now.map(({ uri }) => uri)
  const former = formerSources(uris, before, patterns)
  return now.flatMap((facts, index) => fallOf(facts, former[index]) ?? [])
}

/** Returns the fall of a source; undefined if it did not lose most of its rows. */
function fallOf({ uri, rows = 0 }: SourceFacts, earlier: SourceFacts | undefined): FallenSource | undefined {
  const before = earlier?.rows ?? 0
  const isEmptied = before > 0 && rows === 0
  const isHalved = before >= minComparedRows && rows < before / 2
  return isEmptied || isHalved ? { uri, before, now: rows } : undefined
}

/** Numbers of rejected rows whose id could not be read. */
export interface LostIds {
  /** In the reference read. */
  readonly before: number
  readonly now: number
}

/**
 * Returns the numbers of rejected rows without a readable id if there are more than before. The products of such rows count as missing,
 * because nothing shows which they are. Undefined if there are not more, or the number before is not known. `facts`, `before`: sources of
 * this read, and of the reference read.
 */
export function lostIds(facts: readonly SourceFacts[], before: readonly SourceFacts[]): LostIds | undefined {
  const sum = (sources: readonly SourceFacts[]) => sources.reduce((total, { quality }) => total + (quality?.withoutKey ?? Number.NaN), 0)
  const lost = { before: sum(before), now: sum(facts) }
  return before.length > 0 && lost.now > lost.before ? lost : undefined
}

/**
 * Returns the number of valid rows of the last interrupted first load. Undefined if there is no such load, and for a backfill. The
 * destination must have no complete snapshot.
 */
export async function validRowsOfInterruptedLoad(db: Database, run: ClaimedRun): Promise<number | undefined> {
  if (readsBackfillSource(run)) return undefined
  const [row] = await db.query<{ valid: number }>(
    `select (p.counts ->> 'valid')::int as valid from plan p join run r on r.id = p.run_id
     where p.destination_id = $1 and p.status <> 'ready' and r.trigger <> 'plan' and ${readsOwnSources('r')}
       and jsonb_array_length(p.guards) = 0
       -- A plan over an incomplete read that was applied to its end is not an interrupted load.
       and not (p.status = 'applied' and exists (select from snapshot s where s.id = p.snapshot_id and s.status = 'incomplete'))
     order by p.created_at desc limit 1`,
    [run.destinationId],
  )
  return row?.valid
}

/**
 * Returns a note if an incomplete read has fewer opt-outs than one of the earlier reads; none otherwise. `facts`: facts of this read.
 * `earlier`: facts of the reference read, and of later reads without a plan.
 */
export function unreadOptOutNotes(facts: readonly SourceFacts[], earlier: readonly (readonly SourceFacts[])[]): WarningSummary[] {
  return optOutsUnreadNotes('the end of the source is not proven', optOutsIn(facts), Math.max(0, ...earlier.map(optOutsIn)))
}

/**
 * Returns notes on sources that have fewer opt-outs than in the reference read, and lost most of their rows. A lost row may have opted
 * out an identifier that another source still sends. The joined file of a source is compared too, because it may have the consent column.
 * If the pipeline has only one source, only its joined file is compared.
 *
 * The parameters are those of `fallenSources`.
 */
export function optOutNotesOfFallenSources(
  now: readonly SourceFacts[],
  before: readonly SourceFacts[],
  patterns: readonly string[],
): WarningSummary[] {
  const uris = now.map(({ uri }) => uri)
  const former = formerSources(uris, before, patterns)
  return now.flatMap((facts, index): WarningSummary[] => {
    const earlier = former[index]
    const ofSource = now.length > 1 ? fallOf(facts, earlier) : undefined
    const fall = ofSource ?? (facts.joined && fallOf(facts.joined.file, earlier?.joined?.file))
    if (earlier === undefined || fall === undefined) return []
    return optOutsUnreadNotes(`rows of ${fall.uri} fell from ${fall.before} to ${fall.now}`, optOutsIn([facts]), optOutsIn([earlier]))
  })
}

/** Returns the number of rows that opt out. */
function optOutsIn(sources: readonly SourceFacts[]): number {
  return sources.reduce((sum, { quality }) => sum + (quality?.optedOut ?? 0), 0)
}

function optOutsUnreadNotes(cause: string, now: number, before: number): WarningSummary[] {
  if (now >= before) return []
  const message = `${cause}, and ${now} rows opt out, last time ${before}: rows that were not read may say no`
  return [noteOf('OPT_OUTS_UNREAD', message, { field: 'consent', count: before - now })]
}
