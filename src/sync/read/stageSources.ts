/** Maps the rows of the sources, and stages them in a temporary table by COPY. */
import type { Connection } from '../../db/database.ts'
import { StagedDigests } from '../../db/digests.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import { createMapper } from '../../destinations/createMapper.ts'
import { storableText } from '../../storableText.ts'
import type { ReadStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { SourceRow } from '../../model/record.ts'
import { openSource, type OpenedSource } from '../../sources/openSource.ts'
import { withoutValidators } from '../../sources/openedSource.ts'
import { crashPoint } from '../crashPoint.ts'
import { interruptedError, type EngineDeps } from '../engine.ts'
import type { DigestGate } from './recordGate.ts'
import type { LastSnapshot } from './lastSnapshot.ts'
import { keepMemoryFlat, letYoungGrow } from '../../flatMemory.ts'
import { RejectWriter } from './rejectWriter.ts'
import { IdentifierFactsCollector, type IdentifierFacts } from './identifierFacts.ts'
import { KeyHistogram } from './keyHistogram.ts'
import { RepeatDetector } from './repeatDetector.ts'
import { createCheckingMapper } from './sourceQuality.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'
import { findFile } from '../../sources/file/localFile.ts'
import { formerSources } from './formerSources.ts'
import { collectOptedOut } from './optedOut.ts'
import { isTable } from '../../formats/openFormat.ts'
import { SourceStager, type Staging } from './sourceStager.ts'
import { analyzeStage, stageWriters, type StageTally } from './stageTable.ts'
import { WarningCounter } from './warningCounter.ts'
import type { WarningSummary } from '../../model/report.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Number of rows of a full read after which V8's space for new objects stops growing. */
const rowsWithGrowingSpace = 30_000
/** A first load of members partitions its table `stage` after this multiple of `usersInFirstPart` rows. Partitioning takes 0.1 s. */
const firstPartsBeforePartition = 8

export interface StageContext {
  readonly deps: EngineDeps
  readonly tx: Connection
  readonly pipeline: Pipeline
  readonly run: ClaimedRun
  /** Last complete read of the destination, not by a backfill; undefined if there is none. Always undefined for a backfill. */
  readonly last: LastSnapshot | undefined
}

/** Result of staging all sources. */
export interface Staged
  extends
    Readonly<Pick<StageTally, 'valid' | 'optedOut' | 'keyHistogram'>>,
    Readonly<Pick<Staging, 'read' | 'rejected' | 'filtered' | 'columns' | 'needsFullRead' | 'facts'>> {
  /** Number of collected digests of raw valid rows. Undefined for a gated read, which skips rows that the last complete read had. */
  readonly digestCount: number | undefined
  /** True if a key may be staged twice; false if every key is certainly unique. */
  readonly mayRepeat: boolean
  /** Number of identifiers in the table `opted_out`. */
  readonly optedOutIdentifiers: number
  /** Facts about the staged identifiers; undefined if `StageContext.last` is given. */
  readonly identifiers: IdentifierFacts | undefined
  readonly warnings: readonly WarningSummary[]
}

/**
 * Reads every source to its end into the table `stage`, stores the rejects, and fills the table `opted_out`. `opened`: sources that are
 * open already, by their number. After an error, the rejects found so far stay stored.
 *
 * @throws {RunError} `RUN_INTERRUPTED` after an abort of the signal; and errors of a source (unreadable, damaged, wrong header) or of its
 * checks
 */
export async function stageSources(
  { deps, tx, pipeline, run, last }: StageContext,
  opened: ReadonlyMap<number, OpenedSource>,
  gate: DigestGate,
  statistics: ReadStatistics,
): Promise<Staged> {
  keepMemoryFlat()
  const youngSpaceMayGrow = !gate.canSkip
  if (youngSpaceMayGrow) letYoungGrow()
  const type = destinationOf(pipeline.destination.kind)
  const writerClass = stageWriters[type.keys]
  const { keysAreDigests } = writerClass
  const tally: StageTally = {
    valid: 0,
    optedOut: 0,
    partlyOptedOut: 0,
    unsentOptOuts: 0,
    withBothForms: 0,
    lastLine: 0,
    placeInLine: 0,
    keys: new RepeatDetector({ areDigests: keysAreDigests }),
    identifiers: last === undefined ? new IdentifierFactsCollector() : undefined,
    keyHistogram: keysAreDigests ? new KeyHistogram() : undefined,
    digests: gate.canSkip ? undefined : new StagedDigests(),
  }
  const staging: Staging = {
    tx,
    pipeline,
    startedAtMs: run.startedAtMs,
    gate,
    writerClass,
    mapper: createCheckingMapper(createMapper(pipeline, new Date(deps.clock.now())), statistics, type),
    tally,
    rejects: new RejectWriter(deps.db, run.id),
    warnings: new WarningCounter(),
    notes: [],
    unmapped: new Map(),
    needsFullRead: false,
    facts: [],
    columns: [],
    read: 0,
    rejected: 0,
    filtered: 0,
    youngSpaceMayGrow,
    partitionFrom: last === undefined && keysAreDigests ? deps.settings.usersInFirstPart * firstPartsBeforePartition : undefined,
  }

  // Stored facts name a local file by its absolute path, so the addresses to compare with them are made absolute too.
  const uris = await Promise.all(pipeline.sources.map(async ({ uri }) => (isLocalFile(uri) ? findFile(uri).catch(() => uri) : uri)))
  const patterns = pipeline.sources.map(({ uri }) => uri)
  const previous = formerSources(uris, last?.sources ?? [], patterns)
  const reference = formerSources(uris, last?.referenceSources ?? [], patterns)
  for (const [index, definition] of pipeline.sources.entries()) {
    const source = opened.get(index) ?? (await openWithoutValidators(deps, definition, previous[index], gate))
    const { uri, member } = definition
    const toStage = {
      uri,
      archiveEntry: member,
      isTable: isTable(source.detected?.format),
      previous: previous[index],
      reference: reference[index],
    }
    await stageSource(deps, staging, source, new SourceStager(staging, index, toStage))
  }

  const { keys, identifiers, digests, valid, optedOut, keyHistogram } = tally
  await digests?.store(tx, { isLast: true })
  crashPoint('read.staged')
  const mayRepeat = keys.finish()
  // A first load without repeats and opt-outs needs no statistics: Postgres plans its joins in the same way without them.
  if (last !== undefined || mayRepeat || optedOut + tally.partlyOptedOut + tally.unsentOptOuts > 0) await analyzeStage(tx)
  const optedOutIdentifiers = type.reachesPeople ? await collectOptedOut(tx, tally) : 0
  const warnings = [...staging.notes, ...staging.unmapped.values(), ...staging.warnings.summaries()].map(
    // A message may contain a value with a NUL.
    (warning): WarningSummary => ({ ...warning, message: storableText(warning.message) }),
  )
  const { read, rejected, filtered, columns, needsFullRead, facts } = staging
  const counts = { read, rejected, filtered, valid, digestCount: digests?.count, optedOut, optedOutIdentifiers }
  return { ...counts, columns, needsFullRead, facts, keyHistogram, mayRepeat, identifiers: identifiers?.finish(), warnings }
}

/** Reads one source to its end, and closes it. */
async function stageSource(deps: EngineDeps, staging: Staging, source: OpenedSource, stager: SourceStager): Promise<void> {
  const report = () => deps.onProgress?.({ stage: 'read', done: staging.read + staging.gate.skipped, rejected: staging.rejected })
  try {
    for await (const rows of source.rows) {
      if (deps.signal?.aborted) throw interruptedError()
      // `rows[at + 1]` is undefined for the last row of the batch.
      for (let at = 0; at < rows.length; at++) stager.add(rows[at] as SourceRow, rows[at + 1])
      await stager.flush()
      if (staging.youngSpaceMayGrow && staging.read >= rowsWithGrowingSpace) {
        keepMemoryFlat()
        staging.youngSpaceMayGrow = false
      }
      report()
    }
    // Batches have no rows that the gate skips, so those after the last batch are not reported yet.
    if (staging.gate.canSkip) report()
    await stager.end(source.facts())
  } catch (error) {
    await stager.abort()
    throw error
  } finally {
    await source.close()
    await staging.rejects.flush()
  }
}

/** Opens a source. Sends the server no conditional request, so that it returns all bytes of an unchanged source too. */
async function openWithoutValidators(
  deps: EngineDeps,
  definition: SourceDefinition,
  previous: SourceFacts | undefined,
  gate: DigestGate,
): Promise<OpenedSource> {
  return openSource(definition, {
    env: deps.env,
    log: deps.log,
    gate,
    ...(deps.signal ? { signal: deps.signal } : {}),
    ...(previous ? { previous: withoutValidators(previous) } : {}),
  })
}
