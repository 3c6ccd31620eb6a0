import type { SourceFacts } from '../../formats/rows.ts'
import type { Pipeline, SourceDefinition } from '../../pipeline/definition.ts'
import { createMapper, type DescribingMapper } from '../../records/createMapper.ts'
import { identifierTypes, type MappedRecord, type PackedIdentifier, type Reject, type Row, type Warning } from '../../records/record.ts'
import { guardRejects } from '../../sync/plan/guard.ts'
import { watchMapper, type WatchedMapper } from '../../sync/read/sourceQuality.ts'
import type { GuardVerdict } from '../../sync/report.ts'
import type { SampleRecord } from '../render/check.ts'
import { groupRejects } from '../render/rejects.ts'

const sampleSize = 3

/** What the rows of one source become under a pipeline. */
export class RowTally {
  readonly #pipeline: Pipeline
  readonly #uri: string
  readonly #plain: DescribingMapper
  readonly #mapper: WatchedMapper
  readonly records: SampleRecord[] = []
  readonly rejects: Reject[] = []
  readonly warnings: Warning[] = []
  rows = 0
  valid = 0
  suppressed = 0
  columns: readonly string[] = []
  /** Undefined until there was a header. */
  mapping: ReturnType<DescribingMapper['describe']> | undefined

  constructor(pipeline: Pipeline, definition: SourceDefinition, today: Date) {
    this.#pipeline = pipeline
    this.#uri = definition.uri
    this.#plain = createMapper(pipeline, today)
    this.#mapper = watchMapper(this.#plain)
  }

  /** @throws {RunError} FILE_COLUMN_MISSING, at the first row */
  add(row: Row): void {
    if (this.rows === 0) this.#begin(row.columns)
    this.rows++
    const { record, reject, warnings } = this.#mapper.map(row)
    this.warnings.push(...warnings)
    if (reject) this.rejects.push(reject)
    if (!record) return
    if (record.kind === 'member' && !record.wanted) this.suppressed++
    else this.valid++
    if (this.records.length < sampleSize) this.records.push(sample(record, row, this.#mapper.mask(row)))
  }

  /**
   * Judges a source that was read to its end: what would withhold a run of it.
   *
   * @throws {RunError} what refuses a whole file
   */
  finish(facts: SourceFacts): readonly GuardVerdict[] {
    // A header without rows is judged as well.
    if (this.rows === 0 && facts.columns.length > 0) this.#begin(facts.columns)
    const { warnings: notes } = this.#mapper.finish(facts, undefined)
    this.warnings.push(...notes.map(({ code, field, message, lines }) => ({ code, field, message, line: lines[0] ?? 0 })))
    const { guards, name } = this.#pipeline
    const tooMany = guardRejects({ guards, read: this.rows, rejected: this.rejects.length, pipeline: name })
    // What to mend stands with the most frequent reject, not in another check.
    return tooMany ? [{ ...tooMany, mend: groupRejects(this.rejects)[0]?.mend ?? tooMany.mend }] : []
  }

  #begin(columns: readonly string[]): void {
    this.columns = columns
    this.mapping = this.#plain.describe(columns)
    this.warnings.push(...this.#mapper.start(columns, this.#uri))
  }
}

function sample(record: MappedRecord, row: Row, masked: readonly string[]): SampleRecord {
  if (record.kind === 'product') {
    const fields: unknown = JSON.parse(record.json)
    // `json` is an object of product fields by its own contract (ProductRecord).
    return { line: record.line, fields: fields as Record<string, unknown> }
  }
  const fields = Object.fromEntries(row.columns.map((column, i) => [column, masked[i] ?? '']).filter(([, value]) => value !== ''))
  return { line: record.line, fields, identifiers: record.identifiers.map(describeIdentifier), wanted: record.wanted }
}

/** A digest is personal data too: its beginning is enough to compare by. A partner's own number is masked. */
function describeIdentifier(packed: PackedIdentifier): { readonly type: string; readonly value: string } {
  const type = identifierTypes[(packed[0] ?? 0) - 1] ?? 'unknown'
  return {
    type,
    value: type === 'partner_user_id' ? `${packed.subarray(1, 2).toString()}***` : `${packed.subarray(1, 7).toString('hex')}…`,
  }
}
