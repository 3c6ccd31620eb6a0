/** Maps the rows of one source, writes them to the temporary table `stage`, and checks the source as a whole. */
import type { Connection } from '../../db/database.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import { unconsentedFileWarnings } from '../../mapping/members/bindTests.ts'
import { withholdsByDefault } from '../../mapping/statistics/qualityCodes.ts'
import type { RecordCode } from '../../mapping/rejectCodes.ts'
import { SharedLines } from '../../mapping/sharedLines.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { Reject, SourceRow, Warning } from '../../model/record.ts'
import type { WarningSummary } from '../../model/report.ts'
import { rejectIfEnded } from './endedMembership.ts'
import type { DigestGate } from './recordGate.ts'
import type { RejectWriter } from './rejectWriter.ts'
import type { CheckingMapper } from './sourceQuality.ts'
import { partitionStage, stageWriters, type StageTally, type StageWriter } from './stageTable.ts'
import { identifierNotes, withConsentHint } from './unmappedNotes.ts'
import { UnseenColumns } from './unseenColumns.ts'
import type { WarningCounter } from './warningCounter.ts'

/** State that all sources of a read share, with their sums so far. */
export interface Staging {
  readonly tx: Connection
  readonly pipeline: Pipeline
  readonly startedAtMs: number
  /** Skips raw rows that the last complete read had (a *gated* read). In a full read, `canSkip` is false and no row is skipped. */
  readonly gate: DigestGate
  readonly writerClass: (typeof stageWriters)[keyof typeof stageWriters]
  readonly mapper: CheckingMapper
  readonly tally: StageTally
  readonly rejects: RejectWriter
  /** Warnings counted row by row, by code and field. */
  readonly warnings: WarningCounter
  /** Warnings on sources as a whole. */
  readonly notes: WarningSummary[]
  /**
   * Notes on columns of emails or phone numbers that no setting uses, by column. The note of a later source replaces that of an earlier
   * one, because its count includes the rows of the earlier source.
   */
  readonly unmapped: Map<string, WarningSummary>
  readonly facts: SourceFacts[]
  /** Columns of the first source that has any: those of its first row, or its header if it has no rows. */
  columns: readonly string[]
  /** Parsed rows, without rows that the gate skipped. */
  read: number
  /** Rows rejected by the mapper or as expired. Rows that contradict each other are rejected later. */
  rejected: number
  /** Rows that `only:` and `except:` filter out. */
  filtered: number
  /** True if a note depends on all rows. Then a gated read is repeated as a full read. */
  needsFullRead: boolean
  /** True while V8's space for new objects may grow (`letYoungGrow`). */
  youngSpaceMayGrow: boolean
  /** Number of read rows at which the table `stage` is partitioned; undefined after that, or if it is never partitioned. */
  partitionFrom: number | undefined
}

/** Maximum number of bytes of rows that wait while Postgres partitions the stage or stores digests: some 15,000 members. */
const maxWaitingBytes = 2_000_000

/** Source to stage, with the facts of earlier reads. */
interface SourceToStage {
  readonly uri: string
  /** Entry of the archive that is read; undefined if none is configured. */
  readonly archiveEntry: string | undefined
  /** True if one header has the columns of all rows, or if the format is unknown (`formats/openFormat.ts`). */
  readonly isTable: boolean
  /** Facts of the last read of the source. */
  readonly previous: SourceFacts | undefined
  /** Facts of the reference read (`LastSnapshot.referenceValid`). */
  readonly reference: SourceFacts | undefined
}

/** Stages one source. The caller calls `add` for each row, `flush` after some rows, and then `end`, or `abort` after an error. */
export class SourceStager {
  readonly #staging: Staging
  /** Number of the source, from 0. */
  readonly #index: number
  readonly #source: SourceToStage
  readonly #lines = new SharedLines()
  readonly #requiredColumns: readonly RequiredColumns[]
  /** Required columns that no row had so far. */
  readonly #unseen: UnseenColumns
  /** Counts before this source: rows read, and rows skipped by the gate. */
  readonly #before: { readonly read: number; readonly skipped: number }
  #writer: StageWriter
  /** Promise of the statements that must end before the COPY of `#writer` begins; undefined for the first COPY. */
  #beforeThisCopy: Promise<unknown> | undefined
  /** Columns of the first row; undefined before it. */
  #firstColumns: readonly string[] | undefined
  /** Warnings on `#firstColumns`; for a source without rows, on its header. */
  #firstWarnings: readonly Warning[] = []

  constructor(staging: Staging, index: number, source: SourceToStage) {
    const { gate, mapper, tx, tally, writerClass } = staging
    this.#staging = staging
    this.#index = index
    this.#source = source
    this.#requiredColumns = requiredColumnsOf(staging.pipeline)
    this.#unseen = new UnseenColumns([...new Set(this.#requiredColumns.flatMap(({ columns }) => columns))])
    this.#before = { read: staging.read, skipped: gate.skipped }
    this.#writer = new writerClass(tx, { source: index, tally })
    const previous = gate.canSkip ? source.previous : undefined
    gate.columns = previous?.columns ?? []
    mapper.begin(previous)
  }

  /** Maps and stages a row. `next`: the row after it, if it is known. */
  add(row: SourceRow, next: SourceRow | undefined): void {
    const staging = this.#staging
    this.#lines.register(row)
    this.#unseen.add(row)
    if (this.#firstColumns === undefined) {
      this.#firstColumns = row.columns
      this.#bindFirst(row.columns)
    }
    staging.read++
    const reject = this.#stage(row)
    if (reject === 'filtered') staging.filtered++
    else if (reject) {
      staging.rejected++
      if (reject.key) this.#writer.addRejectedKey(reject.key, row.line)
      staging.rejects.add(this.#lines.withRecordNamed(reject, this.#writer.recordKind, next), this.#index, staging.mapper.mask(row))
    }
  }

  /**
   * Writes rows, rejects and digests of raw rows if enough are collected. Partitions the table `stage` once `partitionFrom` rows were read.
   * To store digests or to partition the table, ends the COPY, and begins a new one afterwards.
   */
  async flush(): Promise<void> {
    const staging = this.#staging
    if (this.#writer.copy.full) await this.#writer.copy.flush()
    if (staging.rejects.full) await staging.rejects.flush()
    const { tx, tally } = staging
    const mustPartition = staging.partitionFrom !== undefined && staging.read >= staging.partitionFrom
    if (!mustPartition && tally.digests?.full !== true) return
    await this.#beforeThisCopy
    const ended = this.#writer.copy.end()
    const after = mustPartition ? ended.then(() => partitionStage(tx)) : ended
    if (mustPartition) staging.partitionFrom = undefined
    // Not awaited: rows are read and mapped while Postgres works.
    this.#beforeThisCopy = tally.digests?.store(tx, { isLast: false, after }) ?? after
    // Prevents an unhandled rejection: the next `await` throws the error.
    this.#beforeThisCopy.catch(() => undefined)
    this.#writer = new staging.writerClass(tx, {
      source: this.#index,
      tally,
      later: { after: this.#beforeThisCopy, maxWaitingBytes },
    })
  }

  /**
   * Ends the source, and adds its warnings and facts to `Staging`. `finalFacts`: facts after the last row.
   *
   * @throws {RunError} `FILE_SPREADSHEET_DAMAGE`, `FILE_MAPPING`
   */
  async end(finalFacts: SourceFacts): Promise<void> {
    const { previous, reference } = this.#source
    const staging = this.#staging
    await this.#beforeThisCopy
    await this.#writer.copy.end()
    const { pipeline, mapper, gate, warnings, notes, unmapped, facts, read } = staging
    const skipped = gate.skipped - this.#before.skipped
    const isAccepted = (code: string) => pipeline.guards.accept?.includes(code) === true
    const requiredColumnWarnings = this.#requiredColumnWarnings()
    const columnWarnings = [
      ...this.#columnWarnings(finalFacts.columns),
      ...(skipped === 0 ? requiredColumnWarnings : []),
      ...(destinationOf(pipeline.destination.kind).reachesPeople
        ? unconsentedFileWarnings(pipeline, finalFacts.columns, this.#source.archiveEntry ?? finalFacts.uri)
        : []),
    ]
    // A skipped row may have the required column, but its cells are not read.
    if (skipped > 0 && requiredColumnWarnings.some(({ code }) => !isAccepted(code))) staging.needsFullRead = true
    const report = mapper.reportUnmapped()
    // A note that `guards.accept` accepts gets no consent hint. After a gated read the hint could be another one than after a full read. A
    // hint alone is no reason to repeat the read in full.
    const hinted = <Note extends Pick<WarningSummary, 'code' | 'field' | 'message' | 'hint'>>(note: Note): Note =>
      isAccepted(note.code) ? note : withConsentHint(note, report)
    for (const warning of columnWarnings) warnings.add(hinted(warning))
    const skippedCounts = gate.canSkip ? gate.takeCounts() : undefined
    const result = mapper.finish(finalFacts, { previous, reference, skippedCounts })
    for (const summary of result.rowWarnings) warnings.addSummary(hinted(summary))
    notes.push(...result.warnings)
    const unmappedNotes = identifierNotes(report)
    for (const note of unmappedNotes) unmapped.set(note.field, note)
    // Only a full read shows which share of all rows has an identifier in an unmapped column.
    if (result.needsFullRead || unmappedNotes.length > 0) staging.needsFullRead = true
    facts.push({ ...finalFacts, quality: result.figures, rows: read - this.#before.read + skipped })
  }

  /** Aborts the COPY after the source failed. If a statement before this COPY failed, throws its error, because that is the cause. */
  async abort(): Promise<void> {
    this.#writer.copy.abort()
    await this.#beforeThisCopy
  }

  #bindFirst(columns: readonly string[]): void {
    if (this.#staging.columns.length === 0) this.#staging.columns = columns
    this.#firstWarnings = this.#bind(columns)
  }

  /** Binds the mapper to columns, and returns the warnings on them. */
  #bind(columns: readonly string[]): readonly Warning[] {
    return this.#staging.mapper.bindHeader(columns, this.#source.uri, this.#source.isTable)
  }

  /** Returns the warnings on the final columns. In JSON and XML even the last row may add a column. */
  #columnWarnings(final: readonly string[]): readonly Warning[] {
    // The header of a file without rows is checked too.
    if (this.#firstColumns === undefined && final.length > 0) this.#bindFirst(final)
    const isGrown = this.#firstColumns !== undefined && this.#firstColumns.length !== final.length
    return isGrown ? mergedWarnings(this.#firstWarnings, this.#bind(final)) : this.#firstWarnings
  }

  /** Returns the warnings on required columns that no mapped row has; none if no row was mapped. */
  #requiredColumnWarnings(): readonly Warning[] {
    if (this.#firstColumns === undefined) return []
    const { names } = this.#unseen
    return this.#requiredColumns.flatMap(({ columns, warning }) => (columns.every((name) => names.includes(name)) ? [warning] : []))
  }

  /** Maps a row and stages the record. Returns a reject or `filtered` if the row has no record to stage. */
  #stage(row: SourceRow): Reject | 'filtered' | undefined {
    const { gate, mapper, startedAtMs } = this.#staging
    const digest = gate.digestOf(row.line)
    const { record, reject, filtered, optedOut } = mapper.map(row)
    if (optedOut !== undefined) this.#writer.addOptOuts(optedOut, row.line)
    if (filtered) return 'filtered'
    if (reject) return reject
    if (!record) throw new Error('a mapper must return a record or a reject')
    const ended = rejectIfEnded(record, startedAtMs)
    if (ended !== undefined) {
      if (record.kind === 'member' && record.withoutConsent !== undefined) this.#writer.addOptOuts(record.withoutConsent, row.line)
      return ended
    }
    this.#writer.add(record, digest, mapper.featureSet())
    return undefined
  }
}

/** Columns of which a source must have at least one, and the warning if no row has any of them. */
interface RequiredColumns {
  readonly columns: readonly string[]
  readonly warning: Warning
}

/**
 * Returns the columns of consent tests, of filters, and of `expires_at`. A missing cell counts as empty. So a consent test or a filter of a
 * missing column may let every row pass. Without its end from `expires_at`, a membership lasts for `expires_in`.
 */
function requiredColumnsOf({ consent, filters, guards, map, destination }: Pipeline): readonly RequiredColumns[] {
  const tests = consent === undefined || consent === 'none' ? [] : consent
  const expiresAt = destinationOf(destination.kind).reachesPeople ? map['expires_at'] : undefined
  const hasOtherValue = expiresAt?.constant !== undefined || expiresAt?.default !== undefined || expiresAt?.compute !== undefined
  const expiryColumns = expiresAt === undefined || hasOtherValue ? [] : expiresAt.columns
  const unknownHint =
    guards.accept?.includes('CONSENT_UNKNOWN') === true
      ? {}
      : { hint: 'guards: { accept: [CONSENT_UNKNOWN] }, if the export omits this column for people who agreed; else correct consent' }
  const required = (columns: readonly string[], code: RecordCode, effect: string): RequiredColumns => {
    const [name = ''] = columns
    const hint = code === 'CONSENT_UNKNOWN' ? unknownHint : {}
    return { columns, warning: { line: 0, code, field: name, message: `no row has the column "${name}", by which ${effect}`, ...hint } }
  }
  return [
    ...tests.map(({ column }) => required([column], 'CONSENT_UNKNOWN', 'consent: decides who may be reached')),
    ...filters.map(({ keep, column }) => required([column], 'FILTER_UNKNOWN', `${keep ? 'only' : 'except'}: selects the rows to send`)),
    ...(expiryColumns.length === 0 ? [] : [required(expiryColumns, 'EXPIRY_UNKNOWN', 'map: { expires_at: … } ends the memberships')]),
  ]
}

/**
 * Returns the warnings on the final columns. Of the warnings on the first columns, adds those whose code stops the run. Rows before a new
 * column were mapped without it, so their warnings stay true.
 */
function mergedWarnings(atStart: readonly Warning[], atEnd: readonly Warning[]): readonly Warning[] {
  const isRepeated = (warning: Warning) => atEnd.some(({ code, field }) => code === warning.code && field === warning.field)
  return [...atEnd, ...atStart.filter((warning) => withholdsByDefault(warning.code) && !isRepeated(warning))]
}
