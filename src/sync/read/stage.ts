/**
 * Stages the mapped rows of the sources in a temporary table by COPY. Memory does not grow with the feed, because the raw text of a row
 * is dropped once the row is staged.
 */
import type { Transaction } from '../../db/database.ts'
import { RunError } from '../../errors.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import { createMapper } from '../../destinations/createMapper.ts'
import type { QualityStatistics } from '../../mapping/qualityStatistics.ts'
import { withholdingCodes } from '../../mapping/qualityCodes.ts'
import type { Reject, Row, Warning } from '../../model/record.ts'
import type { RecordCode } from '../../mapping/rejectCodes.ts'
import { openSource, type OpenedSource } from '../../sources/openSource.ts'
import type { EngineDeps } from '../engine.ts'
import type { DigestGate } from './recordGate.ts'
import { keepMemoryFlat, letYoungGrow } from '../../flatMemory.ts'
import { SharedLines } from '../../mapping/sharedLines.ts'
import { RejectWriter } from './rejectWriter.ts'
import { IdentifierWatch, type IdentifierFacts } from './identifierWatch.ts'
import { KeySpread } from './keySpread.ts'
import { RepeatWatch } from './repeatWatch.ts'
import { UnseenColumns } from './unseenColumns.ts'
import { watchMapper, withConsentHint, type WatchedMapper } from './sourceQuality.ts'
import { partitionStage, stageWriters, type StageTally, type StageWriter } from './stageTable.ts'
import { WarningCounter } from './warningCounter.ts'
import type { WarningSummary } from '../../model/report.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Number of rows after which a full read limits V8's space for new objects again. */
const rowsUntilFlat = 30_000
/** Number of first parts whose rows a first load stages before its stage is partitioned, because that takes 0.1 s. */
const firstPartsUntilPartitioned = 8

/** Result of staging all sources. Counts are numbers of rows. */
export interface Staged {
  /** Parsed rows, without rows that the gate skipped. */
  readonly read: number
  /** Rows rejected by the mapper; SQL finds conflicts between rows later. */
  readonly rejected: number
  /** Rows that `only:` and `except:` filter out. */
  readonly filtered: number
  /** Rows staged as valid. */
  readonly valid: number
  /** Rows staged as opted out, or as removed by `remove:`. */
  readonly optedOut: number
  /** Valid rows that opt out some of their identifiers. */
  readonly withholding: number
  /** Filtered rows that opt out identifiers. */
  readonly filteredOut: number
  /** False if every key was staged once. */
  readonly mayRepeat: boolean
  /** Facts about the staged identifiers; undefined unless `first` is true. */
  readonly identifiers: IdentifierFacts | undefined
  /** Keys of the rows staged as valid; undefined for products. */
  readonly spread: KeySpread | undefined
  readonly facts: readonly SourceFacts[]
  readonly warnings: readonly WarningSummary[]
  /** Columns of the first row of all sources. */
  readonly columns: readonly string[]
  /** Codes of rejects and notes that only a full read can decide; empty for a full read. */
  readonly doubts: readonly string[]
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
    readonly tx: Transaction
    readonly runId: number
    readonly startedAtMs: number
    readonly previous: readonly SourceFacts[]
    readonly lastGood: readonly SourceFacts[]
    readonly opened: ReadonlyMap<number, OpenedSource>
    readonly gate?: DigestGate
    readonly statistics: QualityStatistics
    /** True without an earlier complete read of the pipeline's own sources, and for a backfill. */
    readonly first: boolean
  },
): Promise<Staged> {
  keepMemoryFlat()
  const gated = options.gate?.canSkip === true
  let growing = !gated
  let isPartitioned = false
  if (growing) letYoungGrow()
  const type = destinationOf(pipeline.destination.kind)
  const mapper = watchMapper(createMapper(pipeline, new Date(deps.clock.now())), options.statistics, type)
  const warnings = new WarningCounter()
  const rejects = new RejectWriter(deps.db, options.runId)
  const facts: SourceFacts[] = []
  const notes: WarningSummary[] = []
  let columns: readonly string[] = []
  const doubts: string[] = []
  let read = 0
  let rejected = 0
  let filtered = 0
  const Stage = stageWriters[type.keys]
  const tally: StageTally = {
    valid: 0,
    optedOut: 0,
    withholding: 0,
    filteredOut: 0,
    keys: new RepeatWatch({ areDigests: Stage.keysAreDigests }),
    identifiers: options.first ? new IdentifierWatch() : undefined,
    spread: Stage.keysAreDigests ? new KeySpread() : undefined,
  }

  for (const [index, definition] of pipeline.sources.entries()) {
    const source = options.opened.get(index) ?? (await openWhole(deps, definition, options.previous[index], options.gate))
    let writer = new Stage(options.tx, index, tally)
    const previous = options.previous[index]
    if (gated && options.gate) options.gate.columns = previous?.columns ?? []
    mapper.begin(gated ? previous : undefined)
    let started: readonly string[] | undefined
    const lines = new SharedLines()
    const deciding = decidingColumnsOf(pipeline)
    const unseen = new UnseenColumns([...new Set(deciding.flatMap(({ columns: names }) => names))])
    const skipped = skippedBy(options.gate)
    const readBefore = read
    let atStart: readonly Warning[] = []
    try {
      for await (const rows of source.rows) {
        if (deps.signal?.aborted) throw interrupted()
        for (let at = 0; at < rows.length; at++) {
          const row = rows[at] as Row // below the length
          lines.register(row)
          unseen.add(row)
          if (started === undefined) {
            started = row.columns
            if (columns.length === 0) columns = row.columns
            atStart = mapper.start(row.columns, definition.uri)
          }
          read++
          const reject = stageRow(mapper, row, writer, options)
          if (reject === 'filtered') filtered++
          else if (reject) {
            rejected++
            if (reject.key) writer.addRejectedKey(reject.key, row.line)
            rejects.add(lines.nameRecord(reject, writer.recordKind, rows[at + 1]), index, mapper.mask(row))
          }
        }
        if (writer.copy.full) await writer.copy.flush()
        if (rejects.full) await rejects.flush()
        if (
          !isPartitioned &&
          options.first &&
          Stage.keysAreDigests &&
          read >= deps.settings.usersInFirstPart * firstPartsUntilPartitioned
        ) {
          await writer.copy.end()
          await partitionStage(options.tx)
          writer = new Stage(options.tx, index, tally)
          isPartitioned = true
        }
        if (growing && read >= rowsUntilFlat) {
          keepMemoryFlat()
          growing = false
        }
        deps.onProgress?.({ stage: 'read', done: read, rejected })
      }
      await writer.copy.end()
      const ended = source.facts()
      // The header of a file without rows is checked too.
      if (started === undefined && ended.columns.length > 0) {
        if (columns.length === 0) columns = ended.columns
        atStart = mapper.start(ended.columns, definition.uri)
      }
      // Rows of JSON and XML have their own columns, so even the last row may add one.
      const grown = started !== undefined && started.length !== ended.columns.length
      const ofHeader = grown ? mergedWarnings(atStart, mapper.start(ended.columns, definition.uri)) : atStart
      const unread = mapper.unread?.()
      // Notes that `guards.accept` has get no hint: a hint may differ between a gated and a full read, which would require a full read.
      const hinted = <Note extends Pick<WarningSummary, 'code' | 'field' | 'message'>>(note: Note): Note =>
        unread === undefined || pipeline.guards.accept?.includes(note.code) === true ? note : withConsentHint(note, unread)
      for (const warning of ofHeader) warnings.add(hinted(warning))
      // A skipped row is equal to one of the last read, which was checked.
      if (started !== undefined && skippedBy(options.gate) === skipped)
        for (const { columns: names, warning } of deciding)
          if (names.every((name) => unseen.names.includes(name))) warnings.add(hinted(warning))
      const result = mapper.finish(ended, previous, gated ? options.gate?.takeCounts() : undefined, options.lastGood[index])
      for (const summary of result.counted) warnings.addSummary(hinted(summary))
      notes.push(...result.warnings)
      doubts.push(...result.doubts)
      facts.push({ ...ended, quality: result.figures, rows: read - readBefore + skippedBy(options.gate) - skipped })
    } catch (error) {
      writer.copy.abort()
      throw error
    } finally {
      await source.close()
      await rejects.flush()
    }
  }
  const { valid, optedOut, withholding, filteredOut, keys } = tally
  const mayRepeat = keys.possible
  keys.free()
  return {
    read,
    rejected,
    filtered,
    valid,
    optedOut,
    withholding,
    filteredOut,
    mayRepeat,
    identifiers: tally.identifiers?.finish(),
    spread: tally.spread,
    facts,
    warnings: [...notes, ...warnings.summaries()],
    columns,
    doubts,
  }
}

/** Columns that decide what is sent, and the warning for a source in which no row has any of them. */
interface DecidingColumns {
  readonly columns: readonly string[]
  readonly warning: Warning
}

/**
 * Returns the columns that decide which rows are sent, and how long. A missing cell counts as empty, so a test or a filter of a missing
 * column may let every row pass, and without its end every membership would last for `expires_in`.
 */
function decidingColumnsOf({ consent, filters, map, destination }: Pipeline): readonly DecidingColumns[] {
  const tests = consent === undefined || consent === 'none' ? [] : consent
  const end = destinationOf(destination.kind).reachesPeople ? map['expires_at'] : undefined
  const ends = end === undefined || end.constant !== undefined || end.default !== undefined || end.compute !== undefined ? [] : end.columns
  const missing = (columns: readonly string[], code: RecordCode, what: string): DecidingColumns => {
    const [first = ''] = columns
    return { columns, warning: { line: 0, code, field: first, message: `no row has the column "${first}", by which ${what}` } }
  }
  return [
    ...tests.map(({ column }) => missing([column], 'CONSENT_UNKNOWN', 'consent: decides who may be reached')),
    ...filters.map(({ keep, column }) => missing([column], 'FILTER_UNKNOWN', `${keep ? 'only' : 'except'}: selects the rows to send`)),
    ...(ends.length === 0 ? [] : [missing(ends, 'EXPIRY_UNKNOWN', 'map: { expires_at: … } ends the memberships')]),
  ]
}

/** Returns the number of rows that the gate skipped so far; 0 without a gate. */
function skippedBy(gate: DigestGate | undefined): number {
  return gate === undefined ? 0 : gate.unchanged + gate.repeated
}

/**
 * Returns the warnings on the final columns, and the warnings on the first columns that stop the run, because rows before a later column
 * appeared may have their cause.
 */
function mergedWarnings(atStart: readonly Warning[], atEnd: readonly Warning[]): readonly Warning[] {
  const same = (warning: Warning) => atEnd.some(({ code, field }) => code === warning.code && field === warning.field)
  return [...atEnd, ...atStart.filter((warning) => withholdingCodes.includes(warning.code) && !same(warning))]
}

/** Opens a source to read all its bytes: the request to a server is not conditional. */
async function openWhole(
  deps: EngineDeps,
  definition: SourceDefinition,
  last: SourceFacts | undefined,
  gate: DigestGate | undefined,
): Promise<OpenedSource> {
  return openSource(definition, {
    env: deps.env,
    log: deps.log,
    ...(deps.signal ? { signal: deps.signal } : {}),
    ...(gate ? { gate } : {}),
    ...(last ? { previous: withoutValidators(last) } : {}),
  })
}

function withoutValidators(last: SourceFacts): SourceFacts {
  const { etag: _, lastModified: __, ...facts } = last
  return facts
}

/** Returns the error of a run that a signal stopped, or that another process ended. */
export function interrupted(): RunError {
  return new RunError('RUN_INTERRUPTED', 'stopped by a signal; what was confirmed is kept', {
    hint: 'run the same command again to continue',
  })
}

/** Maps a row and stages the record. Returns a reject or `filtered` if the row has no record to stage. */
function stageRow(
  mapper: WatchedMapper,
  row: Row,
  writer: StageWriter,
  options: { readonly startedAtMs: number; readonly gate?: DigestGate },
): Reject | 'filtered' | undefined {
  const digest = options.gate?.digestOf(row.line)
  const { record, reject, filtered, optedOut } = mapper.map(row)
  if (optedOut !== undefined) writer.addFiltered(optedOut, row.line)
  if (filtered) return 'filtered'
  if (reject) return reject
  if (!record) throw new Error('a mapper must return a record or a reject')
  if (record.kind === 'member' && record.expiresAtMs !== undefined && record.expiresAtMs <= options.startedAtMs) {
    return {
      line: row.line,
      code: 'EXPIRES_AT_INVALID',
      field: 'expires_at',
      message: 'the membership has already ended',
      hint: 'give a later expires_at, or leave the row out',
      key: record.key,
    }
  }
  writer.add(record, digest, mapper.featureSet())
  return undefined
}
