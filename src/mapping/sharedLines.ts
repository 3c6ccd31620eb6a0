import type { MappedRecord, Reject, Row } from '../model/record.ts'

/**
 * Detects rows that share their line with another row, as in XML and JSON without line ends. A line number does not identify such a row, so
 * the messages of its reject also name the record.
 */
export class SharedLines {
  #line = 0
  #nth = 0

  /** Registers a row; called for every row, in the order of the source. */
  register(row: Row): void {
    this.#nth = row.line === this.#line ? this.#nth + 1 : 1
    this.#line = row.line
  }

  /**
   * Returns the reject of the row registered last, with the record's id, or its position in the line, added to the messages. Returns the
   * reject unchanged if no other row has its line. `next`: the row after the row registered last; undefined at the end.
   */
  nameRecord(reject: Reject, kind: MappedRecord['kind'], next: Row | undefined): Reject {
    if (this.#nth === 1 && next?.line !== reject.line) return reject
    // The key of a member is a digest, which the user cannot find in the source.
    const record =
      kind === 'product' && reject.key !== undefined
        ? `id ${JSON.stringify(Buffer.from(reject.key).toString())}`
        : `record ${this.#nth} of the line`
    const named = (message: string) => `${message} (${record})`
    const more = reject.more?.map((fault) => ({ ...fault, message: named(fault.message) }))
    return { ...reject, message: named(reject.message), ...(more === undefined ? {} : { more }) }
  }
}
