import { hintOf } from '../../../mapping/rejectCodes.ts'
import type { MappedRecord, Reject } from '../../../model/record.ts'

/** Rows of one key. */
interface Seen {
  /** Lines of the rows that did not opt out themselves. */
  readonly lines: number[]
  /** Different contents of these rows. */
  readonly contents: Set<string>
  optedOut: boolean
}

/**
 * Finds the rows of one source that have the same key, and resolves them by the rules of a run (sync/read/resolveStage.ts). An opted-out
 * row opts out all rows of its key. Other rows with equal content are duplicates. Different content rejects all rows of the key.
 */
export class RepeatedKeys {
  readonly #seen = new Map<string, Seen>()

  /** Registers the record of a mapped row. */
  add(record: MappedRecord): void {
    const key = Buffer.from(record.key).toString('base64')
    let seen = this.#seen.get(key)
    if (seen === undefined) this.#seen.set(key, (seen = { lines: [], contents: new Set(), optedOut: false }))
    if (record.kind === 'member' && !record.desired) seen.optedOut = true
    else {
      seen.lines.push(record.line)
      seen.contents.add(contentOf(record))
    }
  }

  /**
   * Returns the rejects of conflicting rows, and the numbers of duplicates and of rows that another row of their key opts out. `field`:
   * the field that identifies a row. `last`: true if the last row of a key wins (`duplicates: last`).
   */
  resolve(field: string, last: boolean): { readonly duplicates: number; readonly optedOut: number; readonly rejects: readonly Reject[] } {
    const rejects: Reject[] = []
    let duplicates = 0
    let optedOut = 0
    for (const seen of this.#seen.values()) {
      const { lines, contents } = seen
      if (seen.optedOut) optedOut += lines.length
      else if (contents.size === 1 || last) duplicates += lines.length - 1
      else
        for (const line of lines)
          rejects.push({
            line,
            code: 'DUPLICATE_CONFLICT',
            field,
            message: `the same ${field} is in lines ${lines.slice(0, 10).join(', ')} with different content`,
            hint: hintOf('DUPLICATE_CONFLICT'),
          })
    }
    return { duplicates, optedOut, rejects }
  }
}

/** Returns a text that is equal for records of one key with the same content. */
function contentOf(record: MappedRecord): string {
  if (record.kind === 'product') return record.json
  const { identifiers, effectiveAtMs, expiresAtMs } = record
  return `${Buffer.concat(identifiers).toString('base64')} ${effectiveAtMs} ${expiresAtMs}`
}
