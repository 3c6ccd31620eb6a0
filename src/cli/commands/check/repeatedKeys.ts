import { hintOf } from '../../../mapping/rejectCodes.ts'
import type { MappedRecord, Reject } from '../../../model/record.ts'

/** Rows of one key. */
interface Seen {
  /** Source and line of the rows that did not opt out themselves. */
  readonly rows: { readonly source: number; readonly line: number }[]
  /** Different contents of these rows. */
  readonly contents: Set<string>
  optedOut: boolean
}

/** Outcomes of the rows of one source that share their key with other rows. */
export interface Repeats {
  duplicates: number
  /** Number of rows that another row of their key opts out. */
  optedOut: number
  /** Rejects of rows with different content. */
  readonly rejects: Reject[]
}

/**
 * Finds the rows that have the same key, in all sources of a pipeline. Resolves them by the rules of a run (sync/read/resolveStage.ts):
 * - An opted-out row opts out all rows of its key.
 * - Otherwise rows with equal content are duplicates, and different content rejects all rows of the key.
 * - With `duplicates: last`, all rows but the last are duplicates, and none is rejected.
 * - A run merges the identifiers of the rows of a do-not-reach list. So all rows but one are duplicates, and none is rejected.
 */
export class RepeatedKeys {
  readonly #names: readonly string[]
  readonly #seen = new Map<string, Seen>()

  /** `names`: names of the sources, for messages. */
  constructor(names: readonly string[]) {
    this.#names = names
  }

  /** Registers the record of a mapped row. Call this in the order of the sources, numbered from 0. */
  add(record: MappedRecord, source: number): void {
    const key = Buffer.from(record.key).toString('base64')
    let seen = this.#seen.get(key)
    if (seen === undefined) this.#seen.set(key, (seen = { rows: [], contents: new Set(), optedOut: false }))
    if (record.kind === 'member' && !record.desired) seen.optedOut = true
    else {
      seen.rows.push({ source, line: record.line })
      seen.contents.add(contentOf(record))
    }
  }

  /**
   * Returns the outcomes for each source, by its number. `field`: the field that identifies a row. `winner`: the row of a key that stays.
   * `mergesRows`: true for a do-not-reach list.
   */
  resolve(field: string, { winner, mergesRows }: { readonly winner: 'first' | 'last'; readonly mergesRows: boolean }): readonly Repeats[] {
    const repeats = this.#names.map((): Repeats => ({ duplicates: 0, optedOut: 0, rejects: [] }))
    for (const { rows, contents, optedOut } of this.#seen.values()) {
      const kept = rows.at(winner === 'last' ? -1 : 0)
      const isConflict = contents.size > 1 && winner === 'first' && !mergesRows
      for (const row of rows) {
        const ofSource = repeats[row.source]
        if (ofSource === undefined) continue
        if (optedOut) ofSource.optedOut++
        else if (isConflict) ofSource.rejects.push(this.#conflict(row.line, field, rows))
        else if (row !== kept) ofSource.duplicates++
      }
    }
    return repeats
  }

  #conflict(line: number, field: string, rows: Seen['rows']): Reject {
    const message = `the same ${field} is in ${this.#places(rows)} with different content`
    return { line, code: 'DUPLICATE_CONFLICT', field, message, hint: hintOf('DUPLICATE_CONFLICT') }
  }

  /** Returns at most ten lines, each with its source if the rows are in several sources. */
  #places(rows: Seen['rows']): string {
    const shown = rows.slice(0, 10)
    if (rows[0]?.source === rows.at(-1)?.source) return `lines ${shown.map(({ line }) => line).join(', ')}`
    return shown.map(({ source, line }) => `line ${line} of ${this.#names[source]}`).join(', ')
  }
}

/** Returns a text that is equal for records of one key with the same content. */
function contentOf(record: MappedRecord): string {
  if (record.kind === 'product') return record.json
  const { identifiers, effectiveAtMs, expiresAtMs } = record
  return `${Buffer.concat(identifiers).toString('base64')} ${effectiveAtMs} ${expiresAtMs}`
}
