/**
 * Reads the rows of a snapshot. A full read takes all rows. A gated read skips the rows that the last complete snapshot has
 * (docs/architecture.md#three-gates-work-that-is-skipped-safely).
 */
import type { Connection } from '../../db/database.ts'
import { basename } from 'node:path'
import { z } from 'zod'
import { dropBuffers } from '../../flatMemory.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { shownAddress } from '../../shownAddress.ts'
import { isPlainRecord } from '../../unknownValue.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { storedStatistics, createReadStatistics, type StoredStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { OpenedSource } from '../../sources/openSource.ts'
import { collectUnseenKeys, deleteStagedDigests, loadDigests, loadQuality, type UnseenDigests } from '../../db/digests.ts'
import { jsonColumn } from '../../db/jsonColumn.ts'
import { hasRows } from '../../db/queryable.ts'
import { deleteRejects } from '../../db/rejects.ts'
import { fillConflictCells } from './conflictCells.ts'
import { KnownDigests } from './knownDigests.ts'
import { DigestGate } from './recordGate.ts'
import type { LastSnapshot } from './lastSnapshot.ts'
import type { RowCounts, WarningSummary } from '../../model/report.ts'
import { resolveStage } from './resolveStage.ts'
import { skippedRecordHasOptedOutIdentifier } from './optedOut.ts'
import { stageSources, type StageContext, type Staged } from './stageSources.ts'
import { stagedKind } from './stageTable.ts'
import { destinationOf } from '../../destinations/index.ts'

export interface ReadContext extends StageContext {
  /** Ids of the do-not-reach lists that the pipeline respects. */
  readonly suppressedBy: readonly number[]
  /**
   * `last` if unchanged bytes need no mapping: definition and do-not-reach lists are the same, and no full read is requested or required.
   * Otherwise undefined.
   */
  readonly comparable: LastSnapshot | undefined
  /** Key of the destination's record digests. */
  readonly digestKey: Buffer
}

/** Result of reading all sources. */
export interface ReadResult {
  readonly staged: Staged
  readonly rows: RowCounts
  /** Known digests that no row had; undefined for a full read. */
  readonly unseen: readonly UnseenDigests[] | undefined
  /** Statistics of the current rows, for the next read. */
  readonly quality: StoredStatistics
}

/** Reads all sources: in a gated read if it is possible, else in a full read. `opened`: sources that are open already, by their number. */
export async function readRecords(context: ReadContext, opened: ReadonlyMap<number, OpenedSource>, gate: DigestGate): Promise<ReadResult> {
  const known = await loadKnownRecords(context)
  if (known === undefined) return fullRead(context, opened, gate)
  const gated = await gatedRead(context, opened, gate, known)
  return gated ?? fullRead(context, new Map(), new DigestGate(context.digestKey))
}

/** Maximum number of known records in memory (at most 29 bytes each). With more, a full read is made, because its memory is constant. */
const maxKnownRecords = 5_000_000

/** Maximum number of columns of a JSON or XML source for a gated read, far below `ReadLimits.columns`. */
const maxGatedColumns = 256

/**
 * Returns true if unchanged records may be skipped. `previous`: facts of the sources from the last read. `repeats`: number of repeated rows
 * in the last read. All records must be read in these cases:
 *
 * - `expires_at` is mapped. The outcome of a row then depends on the time.
 * - A source is standard input, which cannot be read twice, or has `join:`.
 * - `guards.hold` is set. It needs all rows.
 * - `duplicates: last` is set, and the last read had repeated rows. Only the last row of a key has a digest, so the others count as new.
 *   Then each gated read would end as a full read.
 * - A source other than CSV or TSV has more than `maxGatedColumns` columns.
 * - A source is not CSV or TSV, and a preset (settings for a known export) may decide who is sent. The columns of JSON and XML include
 *   those of skipped rows. So a gated read would not notice that the other rows lack the consent column of the preset.
 *
 * Tables with row groups (one product over several rows) are read without a gate (`formats/openFormat.ts`). So their records have no
 * digests, and `loadKnownRecords` returns undefined.
 */
function isGateable(pipeline: Pipeline, previous: readonly SourceFacts[], repeats: number): boolean {
  if ('expires_at' in pipeline.map || pipeline.guards.hold !== undefined) return false
  if (pipeline.duplicates === 'last' && repeats > 0) return false
  if (pipeline.sources.some(({ uri, join }) => uri === '-' || join !== undefined)) return false
  return previous.every(({ format, columns }) => {
    const hasHeader = format === 'csv' || format === 'tsv'
    return hasHeader || (columns.length <= maxGatedColumns && !presetMayDecideWhoIsSent(pipeline))
  })
}

/**
 * Returns true if the consent tests of a preset may decide who is sent. The preset may be configured, or recognized by the columns. On a
 * do-not-reach list its tests decide who is removed, and a removal causes a full read anyway (`affectsSkipped`).
 */
function presetMayDecideWhoIsSent({ destination, preset, map, consent }: Pipeline): boolean {
  const mayUsePreset = preset !== undefined || Object.keys(map).length === 0
  return destinationOf(destination.kind).reachesPeople && mayUsePreset && consent === undefined
}

const frequent = z.object({ counts: z.record(z.string(), z.number()), slack: z.number() })
const storedQuality: z.ZodType<StoredStatistics> = z.preprocess(
  // An earlier version stored `due` under another name.
  (stored) => (isPlainRecord(stored) && 'needsFullRead' in stored ? { due: stored['needsFullRead'], ...stored } : stored),
  z.object({
    items: z.array(z.tuple([z.string(), z.string(), z.string()])),
    sets: z.array(z.tuple([z.number().nullable(), z.number()])),
    currencies: z.array(z.string()),
    groups: frequent,
    identifiers: frequent,
    due: z.boolean(),
  }),
)
/** Decodes the column `record_quality.quality`. */
export const decodeQuality = jsonColumn('record_quality', 'quality', storedQuality)

/** Records of the last complete snapshot, for a gated read. */
interface KnownRecords {
  readonly digests: KnownDigests
  /** Statistics of these records. */
  readonly quality: StoredStatistics
}

/**
 * Loads the digests of the last complete snapshot with their statistics. Returns undefined if a full read is needed:
 *
 * - `comparable` is undefined, or the pipeline is not gateable.
 * - Not every valid record has a digest.
 * - There are more than `maxKnownRecords` digests, also counting the outdated ones. Or too many of them are outdated (`loadDigests`).
 * - The statistics of the last read require it (`StoredStatistics.due`).
 */
async function loadKnownRecords({ tx, pipeline, run, comparable: last }: ReadContext): Promise<KnownRecords | undefined> {
  if (last === undefined || !isGateable(pipeline, last.sources, last.rows.duplicates)) return undefined
  const loaded = await loadDigests(tx, run.destinationId)
  if (loaded === undefined || loaded.count !== last.rows.valid || loaded.stored > maxKnownRecords) return undefined
  const quality = decodeQuality(loaded.quality, run.destinationId)
  if (quality.due) return undefined
  // A search of only the likely places may miss a repeated row. It would count as new, and the gated read would end as a full read.
  const known = new KnownDigests(loaded.stored, { everywhere: last.rows.duplicates > 0 })
  for await (const { chunk, digests, featureSets, outdated } of loaded.chunks()) {
    known.add(chunk, digests, featureSets, outdated)
    // 64 chunks have at most four megabytes of digests.
    if (chunk % 64 === 63) dropBuffers()
  }
  return { digests: known, quality }
}

async function fullRead(context: ReadContext, opened: ReadonlyMap<number, OpenedSource>, gate: DigestGate): Promise<ReadResult> {
  // A full read uses only the frequent values of the last read (`createReadStatistics`).
  const before = await lastQuality(context.tx, context.run.destinationId)
  const statistics = createReadStatistics(before, { gated: false, sourceCount: context.pipeline.sources.length })
  const staged = await stageSources(context, opened, gate, statistics)
  return { ...(await resolveRows(context, staged, gate)), unseen: undefined, quality: storedStatistics(statistics) }
}

/** Reads the rows that are not in `known`. If a full read is needed, removes the staged rows and the rejects, and returns undefined. */
async function gatedRead(
  context: ReadContext,
  opened: ReadonlyMap<number, OpenedSource>,
  gate: DigestGate,
  known: KnownRecords,
): Promise<ReadResult | undefined> {
  const { deps, tx, pipeline, run } = context
  gate.setKnown(known.digests)
  const statistics = createReadStatistics(known.quality, { gated: true, sourceCount: pipeline.sources.length })
  const staged = await stageSources(context, opened, gate, statistics)
  const unseen = known.digests.unseen()
  await collectUnseenKeys(tx, run.destinationId, unseen)
  if (await affectsSkipped(context, staged)) {
    await tx.query('truncate stage, opted_out, unseen_key')
    await deleteRejects(deps.db, [run.id])
    return undefined
  }
  await deleteRejectedOfSkipped(tx, run.destinationId)
  return { ...(await resolveRows(context, staged, gate)), unseen, quality: storedStatistics(statistics) }
}

/**
 * Returns true if a staged row contradicts, repeats, removes or opts out a record that was skipped. Also returns true if a note depends on
 * the skipped rows (`Staging.needsFullRead`).
 */
async function affectsSkipped({ tx, pipeline, run }: ReadContext, staged: Staged): Promise<boolean> {
  // Removing an identifier from a list also removes the skipped records that have it.
  const removesSkipped = destinationOf(pipeline.destination.kind).removesBy === 'identifier' && staged.optedOut > 0
  if (removesSkipped || staged.needsFullRead) return true
  if (staged.optedOutIdentifiers > 0 && (await skippedRecordHasOptedOutIdentifier(tx, run.destinationId))) return true
  return hasRows(tx, `select from stage s where s.kind <> ${stagedKind.rejected} and exists (${skippedRecord(run.destinationId)})`)
}

/** Deletes the rejected rows of the stage that have the key of a skipped record. The skipped record does not count as missing anyway. */
async function deleteRejectedOfSkipped(tx: Connection, destinationId: number): Promise<void> {
  await tx.query(`delete from stage s where s.kind = ${stagedKind.rejected} and exists (${skippedRecord(destinationId)})`)
}

/** Returns SQL of the skipped record with the key of the staged row `s`. */
const skippedRecord = (destinationId: number) => `select from record r
  where r.destination_id = ${destinationId} and r.key = s.key and r.status = 'live'
    and not exists (select from unseen_key uk where uk.key = s.key)`

/** Reduces the staged rows to one row per key, and returns their counts together with those of the skipped rows. */
async function resolveRows(
  { deps, tx, pipeline, run, suppressedBy }: ReadContext,
  staged: Staged,
  gate: DigestGate,
): Promise<Pick<ReadResult, 'staged' | 'rows'>> {
  const type = destinationOf(pipeline.destination.kind)
  // No transaction is open yet, so the rejects of conflicting rows are committed immediately. A failed run keeps them, like all rejects.
  const resolved = await resolveStage(tx, staged, {
    runId: run.id,
    destinationId: run.destinationId,
    keyField: type.keyField,
    removesBy: type.removesBy,
    duplicates: pipeline.duplicates ?? 'reject',
    sources: sourceNames(pipeline),
    suppressedBy,
    erasures: type.reachesPeople ? { destinationId: run.destinationId, service: deps.service.origin } : undefined,
  })
  if (resolved.conflicting > 0) await fillConflictCells(deps, pipeline, run.id, staged.facts)
  // If the collected digests are not those of the valid rows, they are deleted. The plan then collects them from the table `stage`
  // (docs/decisions/record-digest.md).
  const digestsAreOfValidRows = staged.digestCount === staged.valid && resolved.valid === staged.valid && resolved.affectedRows === 0
  if (!gate.canSkip && !digestsAreOfValidRows) await deleteStagedDigests(tx)
  const rows = {
    read: staged.read + gate.skipped,
    rejected: staged.rejected + resolved.conflicting,
    duplicates: resolved.duplicates + gate.repeated,
    suppressed: resolved.suppressed,
    ...(pipeline.filters.length === 0 ? {} : { filtered: staged.filtered }),
    valid: resolved.valid + gate.unchanged,
  }
  const warnings = resolved.affectedRows === 0 ? staged.warnings : [...staged.warnings, optedOutNote(resolved.affectedRows)]
  return { staged: { ...staged, warnings }, rows }
}

/** Returns the file name of each source. If several sources have that name, adds the number of the source. */
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
  return noteOf('IDENTIFIER_OPTED_OUT', message, { count: rows })
}
