import { hintOf } from '../../../mapping/rejectCodes.ts'
import type { MappedRecord, Reject } from '../../../model/record.ts'

interface Seen {
  readonly lines: number[]
  readonly contents: Set<string>
}

/**
 * Finds rows with the same key, by the rules of a run (sync/read/resolveStage.ts). Equal content counts as duplicates; different
 * content rejects all rows of the key. Rows with the key of an opted-out row are skipped, because the opted-out row wins.
 */
export class RepeatedKeys {
  readonly #seen = new Map<string, Seen>()

  add(record: MappedRecord): void {
    if (record.kind === 'member' && !record.desired) return
    const key = Buffer.from(record.key).toString('base64')
    const content = contentOf(record)
    const seen = this.#seen.get(key)
    if (seen === undefined) this.#seen.set(key, { lines: [record.line], contents: new Set([content]) })
    else {
      seen.lines.push(record.line)
      seen.contents.add(content)
    }
  }

  /**
   * Returns duplicates and rejects. `field`: the field that identifies a row. `last`: true if the last row of a key wins
   * (`duplicates: last`).
   */
  settle(field: string, last: boolean): { readonly duplicates: number; readonly rejects: readonly Reject[] } {
    const rejects: Reject[] = []
    let duplicates = 0
    for (const { lines, contents } of this.#seen.values()) {
      if (contents.size === 1 || last) duplicates += lines.length - 1
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
    return { duplicates, rejects }
  }
}

function contentOf(record: MappedRecord): string {
  if (record.kind === 'product') return record.json
  const { identifiers, effectiveAtMs, expiresAtMs } = record
  return `${Buffer.concat(identifiers).toString('base64')} ${effectiveAtMs} ${expiresAtMs}`
}
