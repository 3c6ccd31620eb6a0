import type { MappedRecord, Reject, SourceRow } from '../model/record.ts'

/**
 * Detects rows on the line of another row, as in XML and JSON without line ends. A line number does not identify such a row, so the
 * messages of its reject also name the record.
 */
export class SharedLines {
  /** Line of the row registered last, and its position among the rows of this line, from 1. */
  #line = 0
  #position = 0

  /** Registers a row; called for every row, in the order of the source. */
  register(row: SourceRow): void {
    this.#position = row.line === this.#line ? this.#position + 1 : 1
    this.#line = row.line
  }

  /**
   * Returns the reject of the row registered last. If another row has its line, adds the record's id, or its position in the line, to the
   * messages. `next`: the next row; undefined at the end.
   */
  withRecordNamed(reject: Reject, kind: MappedRecord['kind'], next: SourceRow | undefined): Reject {
    if (this.#position === 1 && next?.line !== reject.line) return reject
    // The key of a member is a digest that the user cannot find in the source.
    const record =
      kind === 'product' && reject.key !== undefined
        ? `id ${JSON.stringify(Buffer.from(reject.key).toString())}`
        : `record ${this.#position} of the line`
    const named = (message: string) => `${message} (${record})`
    const more = reject.more?.map((fault) => ({ ...fault, message: named(fault.message) }))
    return { ...reject, message: named(reject.message), ...(more === undefined ? {} : { more }) }
  }
}
