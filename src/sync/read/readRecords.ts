/** Rows of a snapshot: all sources, whole or past the records that the last closed one knew (docs/benchmarks.md). */
import type pg from 'pg'
import { dropBuffers } from '../../flatMemory.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { storeStatistics, openStatistics, type StoredQuality } from '../../mapping/qualityStatistics.ts'
import type { OpenedSource } from '../../sources/openSource.ts'
import { collectLeftKeys, loadDigests, loadQuality, type UnseenDigests } from '../../db/digests.ts'
import type { RunRow } from '../../db/runs.ts'
import { fillConflictCells } from './conflictCells.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { KnownDigests } from './knownDigests.ts'
import type { DigestGate } from './recordGate.ts'
import type { RecordCode } from '../../mapping/rejectCodes.ts'
import type { RunCounts, WarningSummary } from '../../model/report.ts'
import { resolveStage } from './resolveStage.ts'
import { collectOptedOut, unstagedHoldOptedOut } from './optedOut.ts'
import { stageSources, type Staged } from './stage.ts'
import { stagedKind } from './stageTable.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Row counts. */
export type RowCounts = Pick<RunCounts, 'read' | 'rejected' | 'duplicates' | 'suppressed' | 'filtered' | 'valid'>

export interface ReadContext {
  readonly deps: EngineDeps
  readonly client: pg.PoolClient
  readonly pipeline: Pipeline
  readonly run: RunRow
  readonly suppressedBy: readonly number[]
  readonly previous: readonly SourceFacts[]
}

/** More known records than this are not held in memory (29 bytes each): such a file is read whole, in flat memory. */
const mostKnown = 5_000_000

/** Of JSON and XML, far below `ReadLimits.columns`: those of the last reading are taken over into the next while it is gated. */
const mostColumns = 256

/**
 * A row whose outcome depends on the time of the run must be looked at each time; standard input cannot be read twice; what
 * an owner has withhold a run is judged over all rows. Where the last of several rows stands, the others had no record, and
 * a gated reading would meet them again only to be given up. A joined file decides over rows whose bytes are as they were. `repeats`: rows of the last reading that gave way to others.
 */
export function isGateable(pipeline: Pipeline, previous: readonly SourceFacts[], repeats: number): boolean {
  return (
    !('expires_at' in pipeline.map) &&
    !(pipeline.duplicates === 'last' && repeats > 0) &&
    pipeline.guards.hold === undefined &&
    pipeline.sources.every(({ uri, join }) => uri !== '-' && join === undefined) &&
    previous.every(({ format, columns }) => columns.length <= mostColumns || format === 'csv' || format === 'tsv')
  )
}

export interface KnownRecords {
  readonly digests: KnownDigests
  /** Warnings that the skipped records would have. */
  readonly quality: StoredQuality
}

/** The digests of the last closed snapshot, if they stand for every valid record of it. */
export async function knownRecords(client: pg.PoolClient, destinationId: number, last: RowCounts): Promise<KnownRecords | undefined> {
  const stored = await loadDigests(client, destinationId)
  if (stored === undefined || stored.count !== last.valid || stored.stored > mostKnown) return undefined
  // Written by `storeStatistics` with the digests.
  const quality = stored.quality as StoredQuality
  if (quality.due) return undefined
  // A known record that comes again and is taken for new has the whole file read: right, but not every day.
  const known = new KnownDigests(stored.stored, { everywhere: last.duplicates > 0 })
  for await (const { chunk, digests, traits, gone } of stored.chunks()) {
    known.add(chunk, digests, traits, gone)
    // Every four megabytes.
    if (chunk % 64 === 63) dropBuffers()
  }
  return { digests: known, quality }
}

export interface ReadRecords {
  readonly staged: Staged
  readonly rows: RowCounts
  /** Undefined for a whole reading. */
  readonly unseen: readonly UnseenDigests[] | undefined
  /** Statistics of the current rows, for the next reading. */
  readonly quality: StoredQuality
}

/**
 * Reads all sources, whole or past the records that are known. Undefined: a gated reading met a row that contradicts, or
 * repeats, a record it did not stage, or so many doubtful rows that old and new ones together may be too many; only a whole
 * reading can tell.
 */
export async function readRecords(
  context: ReadContext,
  opened: ReadonlyMap<number, OpenedSource>,
  gate: DigestGate,
  known: KnownRecords | undefined,
): Promise<ReadRecords | undefined> {
  const { deps, client, pipeline, run } = context
  if (known) gate.use(known.digests)
  // A whole reading learns of the last one what stands on many rows, to count it apart.
  const before = known?.quality ?? ((await loadQuality(client, run.destinationId)) as StoredQuality | undefined)
  const books = openStatistics(before, known !== undefined)
  const staged = await stageSources(deps, pipeline, {
    client,
    runId: run.id,
    startedAtMs: run.startedAtMs,
    previous: context.previous,
    opened,
    gate,
    books,
  })
  crashPoint('read.staged')
  // What is joined and grouped by; the long columns would take five times as long.
  await client.query('analyze stage (key, kind)')
  const type = destinationOf(pipeline.destination.kind)
  const optedOut = type.reachesPeople ? await collectOptedOut(client, staged) : 0
  const unseen = known?.digests.unseen()
  if (unseen) {
    await collectLeftKeys(client, run.destinationId, unseen)
    // Who leaves a list by an identifier takes records along, staged or not.
    const takesAlong = type.leavesBy === 'identifier' && staged.leaving > 0
    const isShared = optedOut > 0 && (await unstagedHoldOptedOut(client, run.destinationId))
    if (takesAlong || isShared || staged.doubts.length > 0 || (await meetsUnstaged(client, run.destinationId))) {
      await client.query('truncate stage, opted_out')
      await client.query('drop table left_key')
      await deps.db.execute('delete from reject where run_id = $1', [run.id])
      return undefined
    }
  }
  // Conflicting rows are rejected beside the run's transaction, like all rejects; a run that fails keeps its reasons.
  const resolved = await resolveStage(client, staged, {
    runId: run.id,
    keyField: type.keyField,
    leavesBy: type.leavesBy,
    duplicates: pipeline.duplicates ?? 'reject',
    suppressedBy: context.suppressedBy,
    erasures: type.reachesPeople ? { destinationId: run.destinationId, service: deps.service.origin } : undefined,
    optedOut,
  })
  if (resolved.conflicting > 0) await fillConflictCells(deps, pipeline, run.id)
  const rows = {
    read: staged.read + gate.unchanged + gate.repeated,
    rejected: staged.rejected + resolved.conflicting,
    duplicates: resolved.duplicates + gate.repeated,
    suppressed: resolved.suppressed,
    ...(pipeline.filters.length === 0 ? {} : { filtered: staged.filtered }),
    valid: resolved.valid + gate.unchanged,
  }
  const warnings = resolved.sharedRows === 0 ? staged.warnings : [...staged.warnings, optedOutNote(resolved.sharedRows)]
  return { staged: { ...staged, warnings }, rows, unseen, quality: storeStatistics(books) }
}

function optedOutNote(rows: number): WarningSummary {
  const message = `${rows === 1 ? '1 row shares an identifier' : `${rows} rows share identifiers`} with rows that opted out: these identifiers are not sent`
  return { code: 'IDENTIFIER_OPTED_OUT' satisfies RecordCode, field: '', message, count: rows, lines: [] }
}

/** Returns true if a staged row has the key of an unchanged record. A rejected row changes nothing and is dropped. */
async function meetsUnstaged(client: pg.PoolClient, destinationId: number): Promise<boolean> {
  const unstaged = `select from record r where r.destination_id = ${destinationId} and r.key = s.key and r.status = 'live'
    and not exists (select from left_key l where l.key = s.key)`
  const meets = async () => (await client.query(`select from stage s where exists (${unstaged}) limit 1`)).rowCount === 1
  if (!(await meets())) return false
  await client.query(`delete from stage s where s.kind = ${stagedKind.rejected} and exists (${unstaged})`)
  return meets()
}
