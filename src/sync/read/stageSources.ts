/**
 * Stages the mapped rows of the sources in a temporary table by COPY. Memory is bounded for any feed, because the text of a row is dropped
 * once the row is staged.
 */
import type { Connection } from '../../db/database.ts'
import { StagedDigests } from '../../db/digests.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import { createMapper } from '../../destinations/createMapper.ts'
import { storable } from '../../mapping/text.ts'
import type { ReadStatistics } from '../../mapping/statistics/readStatistics.ts'
import type { Row } from '../../model/record.ts'
import { openSource, type OpenedSource } from '../../sources/openSource.ts'
import { interrupted, type EngineDeps } from '../engine.ts'
import type { DigestGate } from './recordGate.ts'
import { keepMemoryFlat, letYoungGrow } from '../../flatMemory.ts'
import { RejectWriter } from './rejectWriter.ts'
import { IdentifierWatch, type IdentifierFacts } from './identifierWatch.ts'
import { KeyHistogram } from './keyHistogram.ts'
import { RepeatDetector } from './repeatDetector.ts'
import { watchMapper } from './sourceQuality.ts'
import { isLocalFile } from '../../sources/sourceAddress.ts'
import { findFile } from '../../sources/file/localFile.ts'
import { formerSources } from './formerSources.ts'
import { isTable } from '../../formats/openFormat.ts'
import { SourceStager, type Staging } from './sourceStager.ts'
import { stageWriters, type StageTally } from './stageTable.ts'
import { WarningCounter } from './warningCounter.ts'
import type { WarningSummary } from '../../model/report.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Number of rows after which a full read limits V8's space for new objects again. */
const rowsUntilFlat = 30_000
/** Number of rows of a first load from which on its stage is partitioned, in multiples of `usersInFirstPart`. Partitioning takes 0.1 s. */
const firstPartsUntilPartitioned = 8

/** Result of staging all sources. */
export interface Staged
  extends
    Readonly<Pick<StageTally, 'valid' | 'optedOut' | 'withholding' | 'unsentOptOuts' | 'keyHistogram'>>,
    Readonly<Pick<Staging, 'read' | 'rejected' | 'filtered' | 'columns' | 'doubts' | 'facts'>> {
  /** Number of collected digests of valid rows; undefined for a gated read. */
  readonly digests: number | undefined
  /** False if no key was staged twice. */
  readonly mayRepeat: boolean
  /** Facts about the staged identifiers; undefined unless the option `first` of `stageSources` is true. */
  readonly identifiers: IdentifierFacts | undefined
  readonly warnings: readonly WarningSummary[]
}

/**
 * Reads every source to its end into the table `stage`, and stores the rejects. Throws errors of a source (unreadable, damaged, wrong
 * header) and of its checks; rejects that were written before are kept.
 *
 * @throws {RunError} `RUN_INTERRUPTED` after the signal, and other codes
 */
export async function stageSources(
  deps: EngineDeps,
  pipeline: Pipeline,
  options: {
    readonly tx: Connection
    readonly runId: number
    readonly startedAtMs: number
    readonly previous: readonly SourceFacts[]
    readonly lastGood: readonly SourceFacts[]
    readonly opened: ReadonlyMap<number, OpenedSource>
    readonly gate: DigestGate
    readonly statistics: ReadStatistics
    /** True without an earlier complete read of the pipeline's own sources, and for a backfill. */
    readonly first: boolean
  },
): Promise<Staged> {
  keepMemoryFlat()
  const { tx, startedAtMs, gate, first } = options
  let growing = !gate.canSkip
  if (growing) letYoungGrow()
  const type = destinationOf(pipeline.destination.kind)
  const writerClass = stageWriters[type.keys]
  const { keysAreDigests } = writerClass
  const tally: StageTally = {
    valid: 0,
    optedOut: 0,
    withholding: 0,
    unsentOptOuts: 0,
    keys: new RepeatDetector({ areDigests: keysAreDigests }),
    identifiers: first ? new IdentifierWatch() : undefined,
    keyHistogram: keysAreDigests ? new KeyHistogram() : undefined,
    digests: gate.canSkip ? undefined : new StagedDigests(),
  }
  const staging: Staging = {
    tx,
    pipeline,
    startedAtMs,
    gate,
    writerClass,
    mapper: watchMapper(createMapper(pipeline, new Date(deps.clock.now())), options.statistics, type),
    tally,
    rejects: new RejectWriter(deps.db, options.runId),
    warnings: new WarningCounter(),
    notes: [],
    unmapped: new Map(),
    doubts: [],
    facts: [],
    columns: [],
    read: 0,
    rejected: 0,
    filtered: 0,
    partitionFrom: first && keysAreDigests ? deps.settings.usersInFirstPart * firstPartsUntilPartitioned : undefined,
  }

  // Facts of a local file have its absolute path.
  const uris = await Promise.all(
    pipeline.sources.map(({ uri }) => (isLocalFile(uri) ? findFile(uri).catch(() => uri) : Promise.resolve(uri))),
  )
  const previousFacts = formerSources(uris, options.previous)
  const lastGood = formerSources(uris, options.lastGood)
  for (const [index, definition] of pipeline.sources.entries()) {
    const previous = previousFacts[index]
    const source = options.opened.get(index) ?? (await openWhole(deps, definition, previous, gate))
    const stager = new SourceStager(staging, index, {
      uri: definition.uri,
      isTable: isTable(source.detected?.format),
      previous,
    })
    try {
      for await (const rows of source.rows) {
        if (deps.signal?.aborted) throw interrupted()
        for (let at = 0; at < rows.length; at++) stager.add(rows[at] as Row, rows[at + 1]) // below the length
        await stager.flush()
        if (growing && staging.read >= rowsUntilFlat) {
          keepMemoryFlat()
          growing = false
        }
        deps.onProgress?.({ stage: 'read', done: staging.read, rejected: staging.rejected })
      }
      await stager.end(source.facts(), lastGood[index])
    } catch (error) {
      await stager.abort()
      throw error
    } finally {
      await source.close()
      await staging.rejects.flush()
    }
  }
  const { keys, identifiers, digests, ...counts } = tally
  await digests?.store(tx, { isLast: true })
  const warnings = [...staging.notes, ...staging.unmapped.values(), ...staging.warnings.summaries()].map(
    // A message may contain a value of a row, which may be cut within a surrogate pair.
    (warning): WarningSummary => ({ ...warning, message: storable(warning.message) }),
  )
  const { read, rejected, filtered, columns, doubts, facts } = staging
  return {
    read,
    rejected,
    filtered,
    columns,
    doubts,
    facts,
    ...counts,
    digests: digests?.count,
    mayRepeat: keys.finish(),
    identifiers: identifiers?.finish(),
    warnings,
  }
}

/** Opens a source to read all its bytes: the request to a server is not conditional. */
async function openWhole(
  deps: EngineDeps,
  definition: SourceDefinition,
  last: SourceFacts | undefined,
  gate: DigestGate,
): Promise<OpenedSource> {
  return openSource(definition, {
    env: deps.env,
    log: deps.log,
    gate,
    ...(deps.signal ? { signal: deps.signal } : {}),
    ...(last ? { previous: withoutValidators(last) } : {}),
  })
}

function withoutValidators(last: SourceFacts): SourceFacts {
  const { etag: _, lastModified: __, ...facts } = last
  return facts
}
