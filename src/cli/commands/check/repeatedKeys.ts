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
interface Repeats {
  readonly duplicates: number
  readonly optedOut: number
  readonly rejects: readonly Reject[]
}

/**
 * Finds the rows of all sources of a pipeline that have the same key, and resolves them by the rules of a run (sync/read/resolveStage.ts).
 * An opted-out row opts out all rows of its key. Other rows with equal content are duplicates. Different content rejects all rows of the
 * key.
 */
export class RepeatedKeys {
  readonly #names: readonly string[]
  readonly #seen = new Map<string, Seen>()

  /** `names`: those of the sources, for messages. */
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
   * Returns, for one source, the rejects of conflicting rows, and the numbers of duplicates and of rows that another row of their key opts
   * out. `field`: the field that identifies a row. `last`: true if the last row of a key wins (`duplicates: last`).
   */
  resolve(source: number, field: string, last: boolean): Repeats {
    const rejects: Reject[] = []
    let duplicates = 0
    let optedOut = 0
    for (const seen of this.#seen.values()) {
      const { rows, contents } = seen
      const own = rows.filter((row) => row.source === source)
      if (own.length === 0) continue
      if (seen.optedOut) optedOut += own.length
      // Of duplicates, the first row stays; with `last`, the last one.
      else if (contents.size === 1 || last) duplicates += own.length - (rows.at(last ? -1 : 0)?.source === source ? 1 : 0)
      else
        for (const { line } of own)
          rejects.push({
            line,
            code: 'DUPLICATE_CONFLICT',
            field,
            message: `the same ${field} is in ${this.#places(rows)} with different content`,
            hint: hintOf('DUPLICATE_CONFLICT'),
          })
    }
    return { duplicates, optedOut, rejects }
  }

  /** Returns at most ten lines, with their sources if there are several. */
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
