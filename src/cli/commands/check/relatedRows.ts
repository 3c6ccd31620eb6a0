import { hintOf } from '../../../mapping/rejectCodes.ts'
import type { MappedRecord, PackedIdentifier, Reject } from '../../../model/record.ts'

/** Row with a record, except a row that opts out. */
interface RelatedRow {
  readonly source: number
  readonly line: number
  /** Packed identifiers in Latin-1; empty for products. */
  readonly identifiers: readonly string[]
  /** Content without the identifiers. */
  readonly content: string
}

/** Rows of one key. `optedOut`: true if a row of the key opts out. */
interface RowsOfKey {
  readonly rows: RelatedRow[]
  optedOut: boolean
}

/** Outcomes of the rows of one source that other rows change. */
export interface RelatedOutcomes {
  duplicates: number
  /** Number of rows that another row opts out, by its key or its identifiers. */
  suppressed: number
  /** Rejects of rows with different content. */
  readonly rejects: Reject[]
}

interface ResolveOptions {
  /** Field that identifies a row. */
  readonly keyField: string
  /** Row of a key that stays. */
  readonly winner: 'first' | 'last'
  /** `identifier`: for a do-not-reach list. */
  readonly removesBy: 'key' | 'identifier'
}

/**
 * Finds the rows that have the same key or opted-out identifiers, in all sources of a pipeline. Resolves them by the rules of a run
 * (sync/read/resolveStage.ts):
 * - No row sends an identifier that another row opts out. A row without any other identifier is opted out.
 * - An opted-out row opts out all rows of its key.
 * - Otherwise rows with equal content are duplicates, and different content rejects all rows of the key.
 * - With `duplicates: last`, all rows but the last are duplicates, and none is rejected.
 * - A row of a do-not-reach list is suppressed if it has an identifier that another row removes.
 * - A run merges the identifiers of the rows of a do-not-reach list. So all rows but one are duplicates, and none is rejected.
 */
export class RelatedRows {
  readonly #sourceNames: readonly string[]
  readonly #rowsByKey = new Map<string, RowsOfKey>()
  readonly #optedOut = new Set<string>()
  /** Pairs of both forms of one identifier. */
  readonly #bothForms: (readonly [string, string])[] = []

  /** `names`: names of the sources, for messages. */
  constructor(names: readonly string[]) {
    this.#sourceNames = names
  }

  /** Registers the record of a mapped row. Call this in the order of the sources, numbered from 0. */
  add(record: MappedRecord, source: number): void {
    const key = Buffer.from(record.key).toString('base64')
    let rowsOfKey = this.#rowsByKey.get(key)
    if (rowsOfKey === undefined) this.#rowsByKey.set(key, (rowsOfKey = { rows: [], optedOut: false }))
    const { line } = record
    if (record.kind === 'product') {
      rowsOfKey.rows.push({ source, line, identifiers: [], content: record.json })
      return
    }
    this.addOptOuts(record.withoutConsent ?? [])
    if (record.desired) {
      const content = `${record.effectiveAtMs} ${record.expiresAtMs}`
      rowsOfKey.rows.push({ source, line, identifiers: record.identifiers.map(textOf), content })
      const forms = (record.bothForms ?? []).map(textOf)
      for (let i = 0; i + 1 < forms.length; i += 2) this.#bothForms.push([forms[i] ?? '', forms[i + 1] ?? ''])
    } else {
      rowsOfKey.optedOut = true
      this.addOptOuts(record.identifiers)
    }
  }

  /** Registers identifiers that a row opts out. */
  addOptOuts(identifiers: readonly PackedIdentifier[]): void {
    for (const identifier of identifiers) this.#optedOut.add(textOf(identifier))
  }

  /** Returns the outcomes for each source, by its number. */
  resolve(options: ResolveOptions): readonly RelatedOutcomes[] {
    const outcomes = this.#sourceNames.map((): RelatedOutcomes => ({ duplicates: 0, suppressed: 0, rejects: [] }))
    if (options.removesBy === 'identifier') this.#resolveDoNotReach(outcomes)
    else {
      this.#optOutOtherForms()
      for (const rowsOfKey of this.#rowsByKey.values()) this.#resolveKey(rowsOfKey, options, outcomes)
    }
    return outcomes
  }

  /** Opts out both forms of each identifier of which one is opted out. */
  #optOutOtherForms(): void {
    for (const [one, other] of this.#bothForms) {
      if (this.#optedOut.has(one)) this.#optedOut.add(other)
      else if (this.#optedOut.has(other)) this.#optedOut.add(one)
    }
  }

  #resolveKey({ rows, optedOut }: RowsOfKey, { keyField, winner }: ResolveOptions, outcomes: readonly RelatedOutcomes[]): void {
    const hasOnlyOptedOut = ({ identifiers }: RelatedRow) => identifiers.length > 0 && identifiers.every((one) => this.#optedOut.has(one))
    if (optedOut || rows.some(hasOnlyOptedOut)) {
      countSuppressed(rows, outcomes)
      return
    }
    if (winner === 'first' && new Set(rows.map((row) => this.#contentOf(row))).size > 1) {
      for (const { source, line } of rows) outcomes[source]?.rejects.push(this.#conflict(line, keyField, rows))
    } else countDuplicates(rows, winner, outcomes)
  }

  #resolveDoNotReach(outcomes: readonly RelatedOutcomes[]): void {
    // A row whose key is removed also removes its own identifiers.
    const removed = new Set(this.#optedOut)
    for (const { rows, optedOut } of this.#rowsByKey.values())
      if (optedOut) for (const { identifiers } of rows) for (const identifier of identifiers) removed.add(identifier)
    for (const { rows } of this.#rowsByKey.values()) {
      const isRemoved = ({ identifiers }: RelatedRow) => identifiers.some((one) => removed.has(one))
      countSuppressed(rows.filter(isRemoved), outcomes)
      countDuplicates(
        rows.filter((row) => !isRemoved(row)),
        'first',
        outcomes,
      )
    }
  }

  /** Returns a text that is equal for rows of one key if a run finds their content equal. */
  #contentOf({ identifiers, content }: RelatedRow): string {
    const kept = identifiers.filter((one) => !this.#optedOut.has(one))
    // A run hashes a row without some of its identifiers by another function, so it never equals a whole row.
    return `${kept.length === identifiers.length} ${kept.join(' ')} ${content}`
  }

  #conflict(line: number, field: string, rows: readonly RelatedRow[]): Reject {
    const message = `the same ${field} is in ${this.#places(rows)} with different content`
    return { line, code: 'DUPLICATE_CONFLICT', field, message, hint: hintOf('DUPLICATE_CONFLICT') }
  }

  /** Returns at most ten lines, each with its source if the rows are in several sources. */
  #places(rows: readonly RelatedRow[]): string {
    const shown = rows.slice(0, 10)
    const [first, last] = [rows[0], rows.at(-1)]
    if (first?.source === last?.source)
      return first?.line === last?.line
        ? `${rows.length} records of line ${first?.line}`
        : `lines ${shown.map(({ line }) => line).join(', ')}`
    return shown.map(({ source, line }) => `line ${line} of ${this.#sourceNames[source]}`).join(', ')
  }
}

function countSuppressed(rows: readonly RelatedRow[], outcomes: readonly RelatedOutcomes[]): void {
  for (const { source } of rows) {
    const outcome = outcomes[source]
    if (outcome !== undefined) outcome.suppressed++
  }
}

/** Counts all rows but the winner as duplicates. */
function countDuplicates(rows: readonly RelatedRow[], winner: ResolveOptions['winner'], outcomes: readonly RelatedOutcomes[]): void {
  const winningRow = rows.at(winner === 'last' ? -1 : 0)
  for (const row of rows) {
    const outcome = outcomes[row.source]
    if (row !== winningRow && outcome !== undefined) outcome.duplicates++
  }
}

function textOf(identifier: PackedIdentifier): string {
  return identifier.toString('latin1')
}
