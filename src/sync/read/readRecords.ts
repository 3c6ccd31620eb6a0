/**
 * Reads the rows of a snapshot: all rows, or only rows that the last complete snapshot does not have (a gated read;
 * docs/architecture.md#three-gates-work-that-is-skipped-safely).
 */
import type { Connection } from '../../db/database.ts'
import { basename } from 'node:path'
import { z } from 'zod'
import { dropBuffers } from '../../flatMemory.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { shownAddress } from '../../shownAddress.ts'
import { storedStatistics, createReadStatistics, type StoredStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { OpenedSource } from '../../sources/openSource.ts'
import { collectUnseenKeys, dropStagedDigests, loadDigests, loadQuality, type UnseenDigests } from '../../db/digests.ts'
import { jsonColumn } from '../../db/jsonColumn.ts'
import { deleteRejects } from '../../db/rejects.ts'
import type { RunRow } from '../../db/runs.ts'
import { fillConflictCells } from './conflictCells.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { KnownDigests } from './knownDigests.ts'
import type { DigestGate } from './recordGate.ts'
import type { RecordCode } from '../../mapping/rejectCodes.ts'
import type { RowCounts, WarningSummary } from '../../model/report.ts'
import { resolveStage } from './resolveStage.ts'
import { collectOptedOut, unstagedRecordsHaveOptedOut } from './optedOut.ts'
import { stageSources, type Staged } from './stageSources.ts'
import { analyzeStage, stagedKind } from './stageTable.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Inputs of a read. */
export interface ReadContext {
  readonly deps: EngineDeps
  readonly tx: Connection
  readonly pipeline: Pipeline
  readonly run: RunRow
  /** Ids of the do-not-reach lists that the pipeline respects. */
  readonly suppressedBy: readonly number[]
  /** Facts about the sources from the last complete read of the pipeline's own sources; empty without one, and for a backfill. */
  readonly previous: readonly SourceFacts[]
  /** Sources of the last complete read in whose plan no guard fired; empty without one. */
  readonly lastGood: readonly SourceFacts[]
  /** True without an earlier complete read of the pipeline's own sources, and for a backfill. */
  readonly first: boolean
}

/** Maximum number of known records in memory (at most 29 bytes each). A larger file is read in full, with constant memory. */
const mostKnown = 5_000_000

/** Maximum number of columns of JSON or XML with which a gated read starts, far below `ReadLimits.columns`. */
const mostColumns = 256

/**
 * Returns true if unchanged records may be skipped. All records must be read:
 * - if `expires_at` is mapped, because the outcome of a row then depends on the time;
 * - for standard input, which cannot be read twice;
 * - with `guards.hold`, which needs all rows, and for a source with `join:`;
 * - with `duplicates: last` after a read with repeated keys (`repeats`): the rows that lost have no record, so they would count as new,
 *   and each gated read would end as a full read;
 * - if a source other than CSV or TSV has more than `mostColumns` columns.
 * Tables with row groups are read without a gate (`formats/openFormat.ts`), so their records have no digests (`knownRecords`).
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

const frequent = z.object({ counts: z.record(z.string(), z.number()), slack: z.number() })
const storedQuality: z.ZodType<StoredStatistics> = z.object({
  items: z.array(z.tuple([z.string(), z.string(), z.string()])),
  sets: z.array(z.tuple([z.number().nullable(), z.number()])),
  currencies: z.array(z.string()),
  groups: frequent,
  identifiers: frequent,
  due: z.boolean(),
})
/** Decodes the column `record_quality.quality`. */
export const decodeQuality = jsonColumn('record_quality', 'quality', storedQuality)

/** Records of the last complete snapshot, for a gated read. */
export interface KnownRecords {
  readonly digests: KnownDigests
  /** Warnings that the skipped records would have. */
  readonly quality: StoredStatistics
}

/**
 * Loads the digests of the last complete snapshot with their statistics. Returns undefined if a full read is needed: if not every valid
 * record has a digest, there are too many records or outdated digests, or the statistics require it. `last`: row counts of that snapshot.
 */
export async function knownRecords(tx: Connection, destinationId: number, last: RowCounts): Promise<KnownRecords | undefined> {
  const stored = await loadDigests(tx, destinationId)
  if (stored === undefined || stored.count !== last.valid || stored.stored > mostKnown) return undefined
  const quality = decodeQuality(stored.quality, destinationId)
  if (quality.due) return undefined
  // If the last read had repeated rows, digests are searched everywhere. If only the likely places were searched, a repeat that is not
  // found would count as new. The result would be the same, but every gated read would end as a full read.
  const known = new KnownDigests(stored.stored, { everywhere: last.duplicates > 0 })
  for await (const { chunk, digests, featureSets, outdated } of stored.chunks()) {
    known.add(chunk, digests, featureSets, outdated)
    // Called after every four megabytes of digests.
    if (chunk % 64 === 63) dropBuffers()
  }
  return { digests: known, quality }
}

/** Result of reading all sources. */
export interface ReadRecords {
  readonly staged: Staged
  readonly rows: RowCounts
  /** Known digests that no row had; undefined for a full read. */
  readonly unseen: readonly UnseenDigests[] | undefined
  /** Statistics of the current rows, for the next read. */
  readonly quality: StoredStatistics
}

/**
 * Reads all sources. With `known`, skips the known records. Returns undefined if a full read is needed: if a row contradicts, repeats,
 * removes or opts out a record that was skipped, or if new and skipped rows together may exceed a limit. Then nothing stays staged, and
 * the rejects are deleted.
 */
export async function readRecords(
  context: ReadContext,
  opened: ReadonlyMap<number, OpenedSource>,
  gate: DigestGate,
  known: KnownRecords | undefined,
): Promise<ReadRecords | undefined> {
  const { deps, tx, pipeline, run } = context
  if (known) gate.setKnown(known.digests)
  // A full read uses only the frequent values of the last read (`createReadStatistics`).
  const before = known?.quality ?? (await lastQuality(tx, run.destinationId))
  const statistics = createReadStatistics(before, { gated: known !== undefined, sources: pipeline.sources.length })
  const staged = await stageSources(deps, pipeline, {
    tx,
    runId: run.id,
    startedAtMs: run.startedAtMs,
    previous: context.previous,
    lastGood: context.lastGood,
    opened,
    gate,
    statistics,
    first: context.first,
  })
  crashPoint('read.staged')
  // A first load joins the stage with nothing, unless keys repeat or rows opt out. A diff analyzes it later.
  if (!context.first || staged.mayRepeat || staged.optedOut + staged.withholding + staged.unsentOptOuts > 0) await analyzeStage(tx)
  const type = destinationOf(pipeline.destination.kind)
  const optedOutIdentifiers = type.reachesPeople ? await collectOptedOut(tx, staged) : 0
  const unseen = known?.digests.unseen()
  if (unseen) {
    await collectUnseenKeys(tx, run.destinationId, unseen)
    // Removing an identifier from a list also removes the skipped records that have it.
    const removesSkipped = type.removesBy === 'identifier' && staged.optedOut > 0
    const isShared = optedOutIdentifiers > 0 && (await unstagedRecordsHaveOptedOut(tx, run.destinationId))
    if (removesSkipped || isShared || staged.doubts.length > 0 || (await meetsUnstaged(tx, run.destinationId))) {
      await tx.query('truncate stage, opted_out')
      await tx.query('drop table unseen_key')
      await deleteRejects(deps.db, [run.id])
      return undefined
    }
  }
  // No transaction is open yet, so the rejects of conflicting rows are committed immediately. A failed run keeps them, like all rejects.
  const resolved = await resolveStage(tx, staged, {
    runId: run.id,
    keyField: type.keyField,
    removesBy: type.removesBy,
    duplicates: pipeline.duplicates ?? 'reject',
    sources: sourceNames(pipeline),
    suppressedBy: context.suppressedBy,
    erasures: type.reachesPeople ? { destinationId: run.destinationId, service: deps.service.origin } : undefined,
    optedOutIdentifiers,
  })
  if (resolved.conflicting > 0) await fillConflictCells(deps, pipeline, run.id)
  const areCollected = staged.digests === staged.valid && resolved.valid === staged.valid && resolved.sharedRows === 0
  if (known === undefined && !areCollected) await dropStagedDigests(tx)
  const rows = {
    read: staged.read + gate.unchanged + gate.repeated,
    rejected: staged.rejected + resolved.conflicting,
    duplicates: resolved.duplicates + gate.repeated,
    suppressed: resolved.suppressed,
    ...(pipeline.filters.length === 0 ? {} : { filtered: staged.filtered }),
    valid: resolved.valid + gate.unchanged,
  }
  const warnings = resolved.sharedRows === 0 ? staged.warnings : [...staged.warnings, optedOutNote(resolved.sharedRows)]
  return { staged: { ...staged, warnings }, rows, unseen, quality: storedStatistics(statistics) }
}

/** Returns the file name of each source; with the number of the source if several have that name. */
export function sourceNames({ sources }: Pick<Pipeline, 'sources'>): readonly string[] {
  const names = sources.map(({ uri }) => basename(shownAddress(uri)))
  return names.map((name, index) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (source ${index + 1})`))
}

async function lastQuality(tx: Connection, destinationId: number): Promise<StoredStatistics | undefined> {
  const stored = await loadQuality(tx, destinationId)
  return stored === undefined ? undefined : decodeQuality(stored, destinationId)
}

function optedOutNote(rows: number): WarningSummary {
  const message = `${rows === 1 ? '1 row shares an identifier' : `${rows} rows share identifiers`} with rows that opted out: these identifiers are not sent`
  return { code: 'IDENTIFIER_OPTED_OUT' satisfies RecordCode, field: '', message, count: rows, lines: [] }
}

/**
 * Returns true if a staged row has the key of a skipped record. Deletes rejected rows with such a key, which do not count, because they
 * change nothing.
 */
async function meetsUnstaged(tx: Connection, destinationId: number): Promise<boolean> {
  const unstaged = `select from record r where r.destination_id = ${destinationId} and r.key = s.key and r.status = 'live'
    and not exists (select from unseen_key l where l.key = s.key)`
  const meets = async () => (await tx.query(`select from stage s where exists (${unstaged}) limit 1`)).length === 1
  if (!(await meets())) return false
  await tx.query(`delete from stage s where s.kind = ${stagedKind.rejected} and exists (${unstaged})`)
  return meets()
}
