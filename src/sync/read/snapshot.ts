/**
 * Reads the sources of a pipeline into a snapshot. If bytes, definition and do-not-reach lists are those of the last complete snapshot,
 * reads no rows and uses that snapshot (docs/architecture.md#three-gates-work-that-is-skipped-safely).
 */
import type { Pipeline } from '../../model/pipeline.ts'
import { hashOfDefinitionAndRules } from '../../mapping/mapper.ts'
import type { StoredStatistics } from '../../mapping/statistics/readStatistics.ts'
import { noteOf, notePropertiesOf } from '../../mapping/statistics/qualityCodes.ts'
import { hashSource } from '../../sources/hashSource.ts'
import type { OpenedSource } from '../../sources/openSource.ts'
import type { Connection } from '../../db/database.ts'
import { raiseDesiredVersion } from '../../db/destinations.ts'
import { digestKey, type UnseenDigests } from '../../db/digests.ts'
import { readsBackfillSource } from '../../db/runs/request.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import { discardSnapshot, openSnapshot, sourcesOfUnplannedReads, storeSources } from '../../db/snapshots.ts'
import type { DbRow } from '../../db/row.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import {
  erosionNotes,
  optOutNotesOfFallenSources,
  fallenSources,
  lostIds,
  type LostIds,
  validRowsOfInterruptedLoad,
  unreadOptOutNotes,
  type FallenSource,
} from './fallenRows.ts'
import { formerDestinationNotes } from './formerDestination.ts'
import { loadLastSnapshot, type LastSnapshot } from './lastSnapshot.ts'
import type { ReadContext } from './readRecords.ts'
import type { RowCounts, WarningSummary } from '../../model/report.ts'
import type { IdentifierFacts } from './identifierFacts.ts'
import type { KeyHistogram } from './keyHistogram.ts'
import { DigestGate } from './recordGate.ts'
import { createStage } from './stageTable.ts'
import { destinationOf, kindsWhere } from '../../destinations/index.ts'

/**
 * Type of a read:
 *
 * - `full`: no row is skipped.
 * - `gated`: rows that the last complete snapshot has are skipped and not staged. The temporary table `unseen_key` has the keys of the
 *   stored records whose digest no row has.
 */
export type ReadMode = 'full' | 'gated'

export interface SnapshotResult {
  readonly snapshotId: number
  readonly rows: RowCounts
  /** `unchanged`: no source changed, and the table `stage` is empty. */
  readonly reading: ReadMode | 'unchanged'
  /** Stored digests that no row of a gated read has; empty for other reads. */
  readonly unseen: readonly UnseenDigests[]
  /**
   * Number of valid rows of the reference read (`LastSnapshot.referenceValid`). If no snapshot is complete: number of valid rows of the
   * last interrupted first load. Undefined without either, and for a backfill.
   */
  readonly previousValid: number | undefined
  /** Sources with far fewer rows than in the reference read; empty if the pipeline has only one source. */
  readonly fallenSources: readonly FallenSource[]
  /** Rows without a readable id, if there are more than in the reference read; undefined if the destination has people. */
  readonly lostIds: LostIds | undefined
  /** Reason why the end of a source is not proven; undefined if the read is complete. */
  readonly incompleteReason: string | undefined
  /** Ids of the account's do-not-reach lists; empty if the pipeline ignores these lists. */
  readonly suppressedBy: readonly number[]
  /** Proof that the ends of the sources were reached, or why one end is not proven. */
  readonly proof: string
  readonly warnings: readonly WarningSummary[]
  /** Statistics to store with the digests; undefined if nothing was read. */
  readonly quality?: StoredStatistics
  /** Facts about the staged identifiers; undefined if an earlier read was complete. A backfill always has them. */
  readonly identifiers?: IdentifierFacts
  /** Numbers of valid staged people by the prefix of their key; absent for products, and if nothing was read. */
  readonly keyHistogram?: KeyHistogram
}

/**
 * Reads the sources into a new snapshot and the temporary table `stage`, or returns the last snapshot if nothing changed. Stores the
 * warnings and columns with the run. If the read fails, discards the new snapshot and throws the error.
 */
export async function readSnapshot(deps: EngineDeps, tx: Connection, pipeline: Pipeline, run: ClaimedRun): Promise<SnapshotResult> {
  const { destinationId, id: runId } = run
  const definitionHash = hashOfDefinitionAndRules(pipeline)
  const suppression = await findDoNotReachLists(deps, pipeline)
  const notes = [...suppression.notes, ...(await formerDestinationNotes(deps, pipeline, run))]
  const last = readsBackfillSource(run) ? undefined : await loadLastSnapshot(deps.db, destinationId)
  const isComparable =
    !run.options.full &&
    last?.mustReread === false &&
    last.definitionHash === definitionHash &&
    last.suppressionVersion === suppression.version
  const comparable = isComparable ? last : undefined
  const key = await digestKey(deps.db, destinationId)
  const context: ReadContext = { deps, tx, pipeline, run, suppressedBy: suppression.listIds, last, comparable, digestKey: key }
  const gate = new DigestGate(key)
  const { isUnchanged, opened } = await compareSources(deps, pipeline, comparable, gate)
  try {
    await createStage(tx)
    if (comparable !== undefined && isUnchanged) return await unchangedResult(context, comparable, notes)
    const snapshotId = await deps.db.transaction(async (transaction) => {
      const newSnapshot = { destinationId, runId, definitionHash, suppressionVersion: suppression.version }
      const { id, afterInterruptedRead } = await openSnapshot(transaction, newSnapshot)
      // People of waiting plans may have opted out in the interrupted read.
      if (afterInterruptedRead && destinationOf(pipeline.destination.kind).reachesPeople)
        await raiseDesiredVersion(transaction, destinationId, 1)
      return id
    })
    crashPoint('read.opened')
    try {
      return await readInto(snapshotId, context, notes, opened, gate)
    } catch (error) {
      await discardSnapshot(deps.db, snapshotId)
      throw error
    }
  } finally {
    // After an error, an opened source may still be unread. Closing a source twice is safe.
    for (const source of opened.values()) await source.close()
  }
}

async function unchangedResult(
  { deps, run, suppressedBy }: ReadContext,
  last: LastSnapshot,
  notes: readonly WarningSummary[],
): Promise<SnapshotResult> {
  deps.onProgress?.({ stage: 'read', done: last.rows.read, total: last.rows.read })
  const warnings = [...notes, ...last.warnings.filter(({ code }) => notePropertiesOf(code).ofOneRun !== true)]
  await updateRun(deps.db, run, { columns: last.columns, warnings })
  return {
    snapshotId: last.id,
    rows: last.rows,
    reading: 'unchanged',
    unseen: [],
    previousValid: last.referenceValid,
    fallenSources: [],
    lostIds: undefined,
    incompleteReason: undefined,
    suppressedBy,
    proof: 'source unchanged since the last complete read',
    warnings,
  }
}

/** Reads the sources into an open snapshot. `notes`: notes that do not depend on the rows. */
async function readInto(
  snapshotId: number,
  context: ReadContext,
  notes: readonly WarningSummary[],
  opened: ReadonlyMap<number, OpenedSource>,
  gate: DigestGate,
): Promise<SnapshotResult> {
  const { deps, pipeline, run, last, suppressedBy } = context
  // Imported late, because a run with unchanged sources needs none of these modules.
  const { readRecords } = await import('./readRecords.ts')
  const { staged, rows, unseen, quality } = await readRecords(context, opened, gate)
  const unproven = staged.facts.find(({ completeness }) => !completeness.complete)
  const incompleteReason = unproven === undefined ? undefined : (unproven.completeness.reason ?? unproven.completeness.proof)
  const { guardsDeletes, keys } = destinationOf(pipeline.destination.kind)
  const lastIsOfOtherPipeline = last !== undefined && last.pipeline !== pipeline.name && guardsDeletes
  const referenceSources = last?.referenceSources ?? []
  const patterns = pipeline.sources.map(({ uri }) => uri)
  const unplanned = incompleteReason === undefined ? [] : await sourcesOfUnplannedReads(deps.db, run.destinationId)
  const warnings = [
    ...notes,
    ...staged.warnings,
    ...(incompleteReason === undefined
      ? []
      : [endUnprovenNote(incompleteReason), ...unreadOptOutNotes(staged.facts, [referenceSources, ...unplanned])]),
    ...(incompleteReason === undefined && guardsDeletes ? optOutNotesOfFallenSources(staged.facts, referenceSources, patterns) : []),
    ...(lastIsOfOtherPipeline ? [otherPipelineNote(last)] : []),
    ...(await erosionNotes(deps.db, pipeline, run, rows, last?.referenceValid)),
  ]
  await updateRun(deps.db, run, { columns: staged.columns, warnings })
  await storeSources(deps.db, snapshotId, staged.facts)
  return {
    snapshotId,
    rows,
    reading: unseen === undefined ? 'full' : 'gated',
    unseen: unseen ?? [],
    previousValid: last === undefined ? await validRowsOfInterruptedLoad(deps.db, run) : last.referenceValid,
    fallenSources: fallenSources(staged.facts, referenceSources, patterns),
    lostIds: keys === 'products' ? lostIds(staged.facts, referenceSources) : undefined,
    incompleteReason,
    suppressedBy,
    proof:
      incompleteReason === undefined
        ? [...new Set(staged.facts.map(({ completeness }) => completeness.proof))].join(', ')
        : `end not proven: ${incompleteReason}`,
    warnings,
    quality,
    ...(staged.identifiers === undefined ? {} : { identifiers: staged.identifiers }),
    ...(staged.keyHistogram === undefined ? {} : { keyHistogram: staged.keyHistogram }),
  }
}

function endUnprovenNote(reason: string): WarningSummary {
  const message = `the end of the source is not proven (${reason}): missing rows are not deleted`
  return noteOf('END_UNPROVEN', message)
}

/** Returns the note that another pipeline, perhaps of another folder, wrote to this destination before. */
function otherPipelineNote({ pipeline, runId }: LastSnapshot): WarningSummary {
  const message = `the pipeline ${pipeline} wrote to the same destination before (r_${runId}): unless it was renamed, each deletes what the other sends`
  return noteOf('OTHER_PIPELINE', message)
}

/**
 * Compares every source with the read `last`: a local file by its digest, a server by its answer (304). Stops at the first changed source.
 * `isUnchanged`: true if `last` is given and no source changed. `opened` has the changed source if it was requested from a server, so that
 * it is not requested twice.
 *
 * If `last` is older than a day, a source on a server counts as changed. Otherwise a wrong cache or ETag would hide every later change
 * forever, opt-outs too.
 */
async function compareSources(
  deps: EngineDeps,
  pipeline: Pipeline,
  last: LastSnapshot | undefined,
  gate: DigestGate,
): Promise<{ readonly isUnchanged: boolean; readonly opened: ReadonlyMap<number, OpenedSource> }> {
  const opened = new Map<number, OpenedSource>()
  if (last?.sources.length !== pipeline.sources.length) return { isUnchanged: false, opened }
  for (const [i, definition] of pipeline.sources.entries()) {
    const previous = last.sources[i]
    if (previous === undefined) return { isUnchanged: false, opened }
    const localHash = await hashSource(definition, previous.bytes)
    if (localHash === 'other size') return { isUnchanged: false, opened }
    if (localHash) {
      if (localHash.sha256 !== previous.sha256) return { isUnchanged: false, opened }
      continue
    }
    const hasValidator = previous.etag !== undefined || previous.lastModified !== undefined
    if (!last.isRecent || !hasValidator) return { isUnchanged: false, opened }
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
      return { isUnchanged: false, opened }
    }
    await source.close()
  }
  return { isUnchanged: true, opened }
}

/**
 * Finds the account's do-not-reach lists; none if the pipeline ignores these lists. Returns their ids, the sum of the versions of their
 * desired content, and notes on lists that were never read. The service has one list per account (docs/spec-notes.md#audience-uploads). If
 * another list replaced a list at the service, the replaced list still suppresses its former members
 * (docs/guarantees.md#suppression-wins).
 */
async function findDoNotReachLists(
  deps: EngineDeps,
  pipeline: Pipeline,
): Promise<{ readonly listIds: readonly number[]; readonly version: number; readonly notes: readonly WarningSummary[] }> {
  const { destination } = pipeline
  const type = destinationOf(destination.kind)
  if (!type.appliesSuppression(destination)) return { listIds: [], version: 0, notes: [] }
  const rows = await deps.db.query<DbRow<'destination', 'id' | 'desired_version' | 'target_id'> & { is_read: boolean }>(
    `select d.id, d.desired_version, d.target_id,
       exists (select from snapshot s where s.destination_id = d.id and s.status in ('closed', 'incomplete')) as is_read
     from destination d where d.service = $1 and d.kind = any($3) and d.account_id = $2 order by d.id`,
    [deps.service.origin, type.identity(destination).accountId, kindsWhere(({ suppresses }) => suppresses)],
  )
  const unread = (pipeline.suppressedBy ?? []).filter(({ targetId }) => !rows.some((row) => row.is_read && row.target_id === targetId))
  const notes = unread.map(({ name }) =>
    noteOf('DO_NOT_REACH_UNREAD', `the do-not-reach pipeline ${name} was never read, so its people are sent: sluice run ${name} first`, {
      field: name,
    }),
  )
  // Versions only rise, so an equal sum means that no list changed.
  const version = rows.reduce((sum, row) => sum + Number(row.desired_version), 0)
  return { listIds: rows.map(({ id }) => id), version, notes }
}
