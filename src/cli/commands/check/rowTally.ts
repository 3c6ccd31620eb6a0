import type { SourceFacts } from '../../../formats/rows.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import { createMapper } from '../../../destinations/createMapper.ts'
import type { DescribingMapper } from '../../../mapping/mapper.ts'
import {
  identifierTypes,
  type MappedRecord,
  type PackedIdentifier,
  type Reject,
  type SourceRow,
  type Warning,
} from '../../../model/record.ts'
import { unconsentedFileWarnings } from '../../../mapping/members/bindTests.ts'
import { redactPersonalData } from '../../../mapping/redactPersonalData.ts'
import { SharedLines } from '../../../mapping/sharedLines.ts'
import { rejectIfEnded } from '../../../sync/read/endedMembership.ts'
import { createCheckingMapper, type CheckingMapper } from '../../../sync/read/sourceQuality.ts'
import { identifierNotes, withConsentHint } from '../../../sync/read/unmappedNotes.ts'
import type { SampleRecord, SourceCheck } from '../../reports/check.ts'
import { recordOf } from '../../../unknownValue.ts'
import type { RelatedOutcomes, RelatedRows } from './relatedRows.ts'
import { destinationOf } from '../../../destinations/index.ts'
import type { Destination } from '../../../destinations/destination.ts'

const maxSamples = 3

/**
 * Outcomes of the mapped rows of a source, with their numbers. `columns`: of the header, or of the first row; empty before a row was read.
 * `warnings` about unmapped columns of consent or identifiers have a hint with the setting for this file.
 */
export interface RowOutcomes extends Pick<
  SourceCheck,
  'rows' | 'valid' | 'suppressed' | 'duplicates' | 'columns' | 'records' | 'warnings'
> {
  /** Rows that `only:` or `except:` left out. */
  readonly filtered: number
  /** Columns that fill the fields; undefined until a header was read. */
  readonly mapping: ReturnType<DescribingMapper['describe']> | undefined
  /** At most one for each row, in the order of the lines. */
  readonly rejects: readonly Reject[]
}

/** Maps the rows of one source and counts their outcomes. */
export class RowTally {
  readonly #pipeline: Pipeline
  readonly #type: Destination
  readonly #uri: string
  /** Mapper without the checks of `#mapper`. It describes which columns fill the fields. */
  readonly #describing: DescribingMapper
  readonly #mapper: CheckingMapper
  readonly #records: SampleRecord[] = []
  readonly #rejects: Reject[] = []
  readonly #related: RelatedRows
  readonly #source: number
  readonly #nowMs: number
  readonly #lines = new SharedLines()
  readonly #warnings: Warning[] = []
  #rows = 0
  #valid = 0
  #suppressed = 0
  #filtered = 0
  #duplicates = 0
  #columns: readonly string[] = []
  #mapping: RowOutcomes['mapping']
  #isTable = true

  /** `source`: number of the source, from 0. `related`: rows of all sources of the pipeline. */
  constructor(pipeline: Pipeline, source: number, related: RelatedRows, today: Date) {
    this.#nowMs = today.getTime()
    this.#pipeline = pipeline
    this.#type = destinationOf(pipeline.destination.kind)
    this.#source = source
    this.#related = related
    this.#uri = pipeline.sources[source]?.uri ?? ''
    this.#describing = createMapper(pipeline, today)
    this.#mapper = createCheckingMapper(this.#describing)
  }

  /** Sets whether all rows have the same columns (`formats/openFormat.ts`). Call this before the first row. */
  begin({ isTable }: { readonly isTable: boolean }): void {
    this.#isTable = isTable
  }

  get rows(): number {
    return this.#rows
  }

  /**
   * Maps and counts one row. `next`: the following row, if known; its line shows whether both rows share a line.
   *
   * @throws {RunError} FILE_COLUMN_MISSING, FILE_DUPLICATE_COLUMN, at the first row
   */
  add(row: SourceRow, next: SourceRow | undefined): void {
    if (this.#rows === 0) this.#readHeader(row.columns)
    this.#rows++
    const { record, reject, filtered, optedOut, warnings } = this.#mapper.map(row)
    if (optedOut !== undefined && this.#type.reachesPeople) this.#related.addOptOuts(optedOut)
    this.#warnings.push(...warnings)
    this.#lines.register(row)
    const unusable = reject ?? (record && rejectIfEnded(record, this.#nowMs))
    if (unusable) this.#rejects.push(this.#lines.withRecordNamed(unusable, this.#type.keys === 'products' ? 'product' : 'member', next))
    if (filtered) this.#filtered++
    if (unusable !== undefined && record?.kind === 'member') this.#related.addOptOuts(record.withoutConsent ?? [])
    if (!record || unusable) return
    if (record.kind === 'member' && !record.desired) this.#suppressed++
    else this.#valid++
    this.#related.add(record, this.#source)
    if (this.#records.length < maxSamples) this.#records.push(sampleOf(record, row, this.#mapper.mask(row)))
  }

  /** Counts valid rows as duplicates, suppressed or rejected if another row makes them so. Call this once, after the last row. */
  addRelated({ duplicates, suppressed, rejects }: RelatedOutcomes): void {
    this.#duplicates = duplicates
    this.#suppressed += suppressed
    this.#valid -= duplicates + suppressed + rejects.length
    this.#rejects.push(...rejects)
    this.#rejects.sort((a, b) => a.line - b.line)
  }

  /**
   * Adds the warnings that need the whole source. Call this only for a source that was read to its end.
   *
   * @throws {RunError} FILE_SPREADSHEET_DAMAGE or FILE_MAPPING if too many rows are damaged or have swapped columns
   * @throws {RunError} as `add`, for a source without rows
   */
  finish(facts: SourceFacts): void {
    // A header without rows is checked too.
    if (this.#rows === 0 && facts.columns.length > 0) this.#readHeader(facts.columns)
    const { warnings: notes } = this.#mapper.finish(facts)
    this.#warnings.push(...notes.map(({ code, field, message, lines }) => ({ code, field, message, line: lines[0] ?? 0 })))
  }

  outcomes(): RowOutcomes {
    return {
      rows: this.#rows,
      valid: this.#valid,
      suppressed: this.#suppressed,
      filtered: this.#filtered,
      duplicates: this.#duplicates,
      columns: this.#columns.map(redactPersonalData),
      mapping: this.#mapping,
      records: this.#records,
      rejects: this.#rejects,
      warnings: this.#allWarnings(),
    }
  }

  #allWarnings(): readonly Warning[] {
    const unmapped = this.#mapper.reportUnmapped()
    const identifiers = identifierNotes(unmapped).map(({ code, field, message, lines, hint }) => ({
      line: lines[0] ?? 0,
      code,
      field,
      message,
      ...(hint === undefined ? {} : { hint }),
    }))
    return [...this.#warnings.map((warning) => withConsentHint(warning, unmapped)), ...identifiers]
  }

  #readHeader(columns: readonly string[]): void {
    this.#columns = columns
    this.#mapping = this.#describing.describe(columns)
    this.#warnings.push(...this.#mapper.bindHeader(columns, this.#uri, this.#isTable))
    const file = this.#pipeline.sources[this.#source]?.member ?? this.#uri
    if (this.#type.reachesPeople) this.#warnings.push(...unconsentedFileWarnings(this.#pipeline, columns, file))
  }
}

/** Returns a record as `check` shows it: the fields of a product, or the masked cells and shortened identifiers of a person. */
function sampleOf(record: MappedRecord, row: SourceRow, masked: readonly string[]): SampleRecord {
  if (record.kind === 'product') {
    return { line: record.line, fields: recordOf(JSON.parse(record.json)) }
  }
  const fields = Object.fromEntries(
    row.columns.map((column, i) => [redactPersonalData(column), masked[i] ?? '']).filter(([, value]) => value !== ''),
  )
  return { line: record.line, fields, identifiers: record.identifiers.map(describeIdentifier), desired: record.desired }
}

/** Shortens a digest, because a digest is personal data too. Shows only the first character of a `partner_user_id`. */
function describeIdentifier(packed: PackedIdentifier): { readonly type: string; readonly value: string } {
  const type = identifierTypes[(packed[0] ?? 0) - 1] ?? 'unknown'
  return {
    type,
    value: type === 'partner_user_id' ? `${[...packed.subarray(1).toString()][0] ?? ''}***` : `${packed.subarray(1, 7).toString('hex')}…`,
  }
}
