/**
 * Reads the sources of a pipeline into a snapshot. If nothing can differ from the last complete snapshot (same bytes, definition
 * and do-not-reach lists), reads no rows and uses the last snapshot (docs/architecture.md#three-gates-work-that-is-skipped-safely).
 */
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { definitionHashOf } from '../../mapping/mapper.ts'
import type { StoredStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { QualityCode } from '../../mapping/statistics/qualityCodes.ts'
import type { RecordCode } from '../../mapping/rejectCodes.ts'
import { hashSource } from '../../sources/hashSource.ts'
import type { OpenedSource } from '../../sources/openSource.ts'
import type { Database, Connection } from '../../db/database.ts'
import { digestKey, type UnseenDigests } from '../../db/digests.ts'
import { decodeColumns, decodeWarnings } from '../../db/runColumns.ts'
import { readsBackfillSource, updateRun, type RunRow } from '../../db/runs.ts'
import { decodeRowCounts, decodeSources, discardSnapshot, openSnapshot, storeSources } from '../../db/snapshots.ts'
import type { Row } from '../../db/row.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { erodedNotes, fallenSources, interruptedValid, type FallenSource } from './fallenRows.ts'
import { formerDestination } from './formerDestination.ts'
import type { ReadContext } from './readRecords.ts'
import type { RowCounts, WarningSummary } from '../../model/report.ts'
import type { IdentifierFacts } from './identifierWatch.ts'
import type { KeyHistogram } from './keyHistogram.ts'
import { DigestGate } from './recordGate.ts'
import { createStage } from './stageTable.ts'
import { destinationOf, kindsWhere } from '../../destinations/index.ts'

/** Result of reading the sources. */
export interface SnapshotResult {
  readonly snapshotId: number
  readonly rows: RowCounts
  /**
   * `whole`: a full read of all rows. `gated`: only rows that differ from known records are staged. `unchanged`: no source changed, and the
   * stage is empty.
   */
  readonly reading: 'whole' | 'gated' | 'unchanged'
  /** Known records that a gated read did not find; empty for other reads. */
  readonly unseen: readonly UnseenDigests[]
  /**
   * Number of valid rows of the last complete snapshot in whose plan no guard fired; without any complete snapshot, of the last interrupted
   * first load. Undefined if there is neither.
   */
  readonly previousValid: number | undefined
  /** Sources with far fewer rows than in the snapshot of `previousValid`; empty if the pipeline has only one source. */
  readonly fallen: readonly FallenSource[]
  /** Reason why the end of a source is not proven; undefined if the read is complete. */
  readonly incomplete: string | undefined
  /** Ids of the do-not-reach lists of the account that the pipeline respects. */
  readonly suppressedBy: readonly number[]
  /** Proof that the ends of the sources were reached. If `incomplete` is set, not all are proven. */
  readonly proof: string
  readonly warnings: readonly WarningSummary[]
  /** Statistics to store with the digests; undefined if nothing was read. */
  readonly quality?: StoredStatistics
  /** Facts about the staged identifiers; undefined if an earlier read was complete. A backfill always has them. */
  readonly identifiers?: IdentifierFacts
  /** Keys of the valid staged people; absent for products, and if nothing was read. */
  readonly keyHistogram?: KeyHistogram
}

/** Last complete snapshot of the destination, without backfills. */
interface LastSnapshot {
  readonly id: number
  readonly runId: number
  /** Name of the pipeline that read the snapshot. */
  readonly pipeline: string
  readonly definitionHash: string
  readonly suppressionVersion: number
  readonly sources: readonly SourceFacts[]
  readonly rows: RowCounts
  /**
   * Number of valid rows of the last complete read in whose plan no guard fired; undefined without one. A withheld read must not become
   * the reference of the next read.
   */
  readonly goodValid: number | undefined
  /** Sources of the read that `goodValid` counts. */
  readonly goodSources: readonly SourceFacts[]
  /** Warnings of the run that read the snapshot. */
  readonly warnings: readonly WarningSummary[]
  /** Header that the run read. */
  readonly columns: readonly string[]
  /**
   * True if a guard fired in its plan, if a later backfill or incomplete read followed, or if a person of it was erased since. Then equal
   * bytes must be read again.
   */
  readonly mustReread: boolean
  /** True if the snapshot was read within the last day. Only then a server's answer 304 counts as unchanged. */
  readonly isRecent: boolean
}

/**
 * Reads the sources into a new snapshot and the temporary table `stage`, or returns the last snapshot if nothing changed. Stores the
 * warnings and columns with the run. If the read fails, discards the new snapshot and throws the error.
 */
export async function readSnapshot(deps: EngineDeps, tx: Connection, pipeline: Pipeline, run: RunRow): Promise<SnapshotResult> {
  const definitionHash = definitionHashOf(pipeline)
  const suppression = await suppressionOf(deps, pipeline)
  const notes = [...suppression.notes, ...(await formerDestination(deps, pipeline, run))]
  const last = readsBackfillSource(run) ? undefined : await lastSnapshot(deps.db, run.destinationId)
  // True if a source with equal bytes counts as unchanged: definition and suppression are the same, and no full read is requested or
  // required.
  const comparable =
    last !== undefined &&
    !run.options.full &&
    !last.mustReread &&
    last.definitionHash === definitionHash &&
    last.suppressionVersion === suppression.version
  const key = await digestKey(deps.db, run.destinationId)
  const gate = new DigestGate(key)
  const bytes = comparable ? await sameBytes(deps, pipeline, last, gate) : { same: false, opened: new Map<number, OpenedSource>() }
  try {
    await createStage(tx)
    if (comparable && bytes.same) {
      deps.onProgress?.({ stage: 'read', done: last.rows.read, total: last.rows.read })
      const warnings = [...notes, ...last.warnings.filter(({ code }) => !notRepeated.has(code))]
      await updateRun(deps.db, run, { columns: last.columns, warnings })
      return {
        snapshotId: last.id,
        rows: last.rows,
        reading: 'unchanged',
        unseen: [],
        previousValid: last.goodValid,
        fallen: [],
        incomplete: undefined,
        suppressedBy: suppression.destinationIds,
        proof: 'source unchanged since the last complete read',
        warnings,
      }
    }

    const { destinationId, id: runId } = run
    // Loaded on demand, because an unchanged source needs none of the modules that read, map and stage rows.
    const { isGateable, knownRecords, readRecords } = await import('./readRecords.ts')
    const snapshotId = await openSnapshot(deps.db, { destinationId, runId, definitionHash, suppressionVersion: suppression.version })
    crashPoint('read.opened')
    try {
      const known =
        comparable && isGateable(pipeline, last.sources, last.rows.duplicates)
          ? await knownRecords(tx, run.destinationId, last.rows)
          : undefined
      const context: ReadContext = {
        deps,
        tx,
        pipeline,
        run,
        suppressedBy: suppression.destinationIds,
        previous: last?.sources ?? [],
        lastGood: last?.goodSources ?? [],
        first: last === undefined,
      }
      const read =
        (known && (await readRecords(context, bytes.opened, gate, known))) ??
        (await (known
          ? readRecords(context, new Map(), new DigestGate(key), undefined)
          : readRecords(context, bytes.opened, gate, undefined)))
      if (read === undefined) throw new Error('a full read always has a result')
      const { staged, rows } = read
      const unproven = staged.facts.find(({ completeness }) => !completeness.complete)
      const incomplete = unproven === undefined ? undefined : (unproven.completeness.reason ?? unproven.completeness.proof)
      const warnings = [
        ...notes,
        ...staged.warnings,
        ...(incomplete === undefined ? [] : [endUnproven(incomplete)]),
        ...(last === undefined || last.pipeline === pipeline.name || !destinationOf(pipeline.destination.kind).guardsDeletes
          ? []
          : [otherPipeline(last)]),
        ...(await erodedNotes(deps.db, pipeline, run, rows, last?.goodValid)),
      ]
      await updateRun(deps.db, run, { columns: staged.columns, warnings })
      await storeSources(deps.db, snapshotId, staged.facts)
      return {
        snapshotId,
        rows,
        reading: read.unseen === undefined ? 'whole' : 'gated',
        unseen: read.unseen ?? [],
        previousValid: last === undefined ? await interruptedValid(deps.db, run) : last.goodValid,
        fallen: fallenSources(staged.facts, last?.goodSources ?? []),
        incomplete,
        suppressedBy: suppression.destinationIds,
        proof: [...new Set(staged.facts.map(({ completeness }) => completeness.proof))].join(', '),
        warnings,
        quality: read.quality,
        ...(staged.identifiers === undefined ? {} : { identifiers: staged.identifiers }),
        ...(staged.keyHistogram === undefined ? {} : { keyHistogram: staged.keyHistogram }),
      }
    } catch (error) {
      await discardSnapshot(deps.db, snapshotId)
      throw error
    }
  } finally {
    // If an earlier source failed, the opened ones were not read. Closing a source twice is safe.
    for (const source of bytes.opened.values()) await source.close()
  }
}

function endUnproven(reason: string): WarningSummary {
  const message = `the end of the source is not proven (${reason}): missing rows are not deleted`
  return { code: 'END_UNPROVEN' satisfies RecordCode, field: '', message, count: 1, lines: [] }
}

/** Returns the note that another pipeline wrote to this destination before. Other checks compare only the pipelines of one folder. */
function otherPipeline({ pipeline, runId }: LastSnapshot): WarningSummary {
  const message = `the pipeline ${pipeline} wrote to the same destination before (r_${runId}): unless it was renamed, each deletes what the other sends`
  return { code: 'OTHER_PIPELINE' satisfies QualityCode, field: '', message, count: 1, lines: [] }
}

/** Codes of notes on one run or on changes since the last read. The run of an unchanged source does not repeat these notes. */
const notRepeated: ReadonlySet<string> = new Set([
  'COLUMN_VANISHED',
  'FILL_RATE_FELL',
  'OPT_OUTS_FELL',
  'MOST_CHANGED',
  'IDS_CHANGED',
  'PRICE_MOVED',
  'PRICES_DOUBTFUL',
  'LINKS_DOUBTFUL',
  'OUT_OF_STOCK_ROSE',
  'OTHER_PIPELINE',
  'DESTINATION_CHANGED',
  'PAUSE_ELSEWHERE',
  'ROWS_ERODED',
  'DO_NOT_REACH_UNREAD',
  'SANDBOX_REPLACED',
  'IMAGE_BROKEN',
] satisfies QualityCode[])

/** Returns the last complete snapshot of the destination, without backfills. Another pipeline may have read it. */
async function lastSnapshot(db: Database, destinationId: number): Promise<LastSnapshot | undefined> {
  const [row] = await db.query<
    Row<'snapshot', 'id' | 'run_id' | 'definition_hash' | 'suppression_version' | 'sources' | 'counts'> &
      Row<'run', 'warnings' | 'columns' | 'pipeline'> & {
        good_valid: number | null
        good_sources: unknown
        must_reread: boolean
        is_recent: boolean
      }
  >(
    `select s.id, s.run_id, s.definition_hash, s.suppression_version, s.sources, s.counts, r.pipeline, r.warnings, r.columns,
       s.closed_at between statement_timestamp() - interval '1 day' and statement_timestamp() as is_recent,
       (good.counts ->> 'valid')::int as good_valid, good.sources as good_sources,
       -- Guards of the plan, which is stored together with the snapshot; later runs over the same snapshot do not count.
       exists (select from plan p where p.snapshot_id = s.id and jsonb_array_length(p.guards) > 0)
         -- A later backfill or incomplete read changed the desired content.
         or exists (select from snapshot n where n.destination_id = s.destination_id and n.id > s.id and n.status in ('closed', 'incomplete'))
         -- The row of an erased person is valid in the stored counts, and suppressed in the next read. The first plan over a snapshot is
         -- stored with it, so that it states the erasures that its read knew.
         or exists (select from erased_key x where x.destination_id = s.destination_id and x.erasure_id > (
           select min((p.review ->> 'erasures')::bigint) from plan p where p.snapshot_id = s.id)) as must_reread
     from snapshot s join run r on r.id = s.run_id left join lateral (
       select g.counts, g.sources from snapshot g join run q on q.id = g.run_id
       where g.destination_id = s.destination_id and g.status = 'closed' and q.trigger <> 'backfill' and q.options ->> 'source' is null
         and not exists (select from plan p where p.snapshot_id = g.id and jsonb_array_length(p.guards) > 0)
       order by g.id desc limit 1) good on true
     where s.destination_id = $1 and s.status = 'closed' and r.trigger <> 'backfill' and r.options ->> 'source' is null
     order by s.id desc limit 1`,
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
    goodValid: row.good_valid ?? undefined,
    goodSources: row.good_sources === null ? [] : decodeSources(row.good_sources, row.id),
    warnings: decodeWarnings(row.warnings, row.run_id),
    columns: decodeColumns(row.columns, row.run_id),
    mustReread: row.must_reread,
    isRecent: row.is_recent,
  }
}

/**
 * Compares every source with the last complete snapshot: a local file by its digest, a server by its answer (304). Stops at the first
 * changed source. `opened` has that source if it was requested from a server, so that it is not requested twice.
 *
 * If the snapshot is older than a day, a source on a server counts as changed: a wrong cache or ETag would otherwise hide every later
 * change forever, opt-outs too.
 */
async function sameBytes(
  deps: EngineDeps,
  pipeline: Pipeline,
  { sources, isRecent }: Pick<LastSnapshot, 'sources' | 'isRecent'>,
  gate: DigestGate,
): Promise<{ readonly same: boolean; readonly opened: ReadonlyMap<number, OpenedSource> }> {
  const opened = new Map<number, OpenedSource>()
  if (sources.length !== pipeline.sources.length) return { same: false, opened }
  for (const [i, definition] of pipeline.sources.entries()) {
    const previous = sources[i]
    if (previous === undefined) return { same: false, opened }
    const local = await hashSource(definition, previous.bytes)
    if (local === 'other size') return { same: false, opened }
    if (local) {
      if (local.sha256 !== previous.sha256) return { same: false, opened }
      continue
    }
    if (!isRecent || (previous.etag === undefined && previous.lastModified === undefined)) return { same: false, opened }
    const { openSource } = await import('../../sources/openSource.ts')
    const source = await openSource(definition, {
      env: deps.env,
      log: deps.log,
      previous,
      gate,
      ...(deps.signal ? { signal: deps.signal } : {}),
    })
    if (!source.unchanged) {
      opened.set(i, source)
      return { same: false, opened }
    }
    await source.close()
  }
  return { same: true, opened }
}

/**
 * Returns the do-not-reach lists of the account that the pipeline respects, the sum of the versions of their desired content, and notes on
 * lists that were never read. The service has one list per account (docs/spec-notes.md#audience-uploads). If another list replaced a list
 * at the service, the replaced list still suppresses its former members (docs/guarantees.md#suppression-wins).
 */
async function suppressionOf(
  deps: EngineDeps,
  pipeline: Pipeline,
): Promise<{ readonly destinationIds: readonly number[]; readonly version: number; readonly notes: readonly WarningSummary[] }> {
  const { destination } = pipeline
  const type = destinationOf(destination.kind)
  if (!type.heedsSuppression(destination)) return { destinationIds: [], version: 0, notes: [] }
  const rows = await deps.db.query<Row<'destination', 'id' | 'desired_version' | 'target_id'> & { is_read: boolean }>(
    `select id, desired_version, target_id,
       exists (select from snapshot s where s.destination_id = destination.id and s.status in ('closed', 'incomplete')) as is_read
     from destination where service = $1 and kind = any($3) and account_id = $2 order by id`,
    [deps.service.origin, type.identity(destination).accountId, kindsWhere(({ suppresses }) => suppresses)],
  )
  const unread = (pipeline.suppressedBy ?? []).filter(({ targetId }) => !rows.some((row) => row.is_read && row.target_id === targetId))
  const notes = unread.map(({ name }): WarningSummary => {
    const message = `the do-not-reach pipeline ${name} was never read, so its people are sent: sluice run ${name} first`
    return { code: 'DO_NOT_REACH_UNREAD' satisfies QualityCode, field: name, message, count: 1, lines: [] }
  })
  // Versions only rise, so an equal sum means that no list changed.
  return { destinationIds: rows.map(({ id }) => id), version: rows.reduce((sum, row) => sum + Number(row.desired_version), 0), notes }
}
