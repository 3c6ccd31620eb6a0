import type { MappedRecord, Reject, Row } from '../model/record.ts'

/**
 * Finds rows that share their line with another row (feeds and JSON without line ends). A line number does not identify such a row, so
 * the messages of its reject name the record.
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
   * Adds the record's id, or its position in the line, to the messages of a reject. Returns the reject unchanged if the row is alone
   * in its line. The reject must be of the row registered last. `next`: the row after that one; undefined at the end.
   */
  nameRecord(reject: Reject, kind: MappedRecord['kind'], next: Row | undefined): Reject {
    if (this.#nth === 1 && next?.line !== reject.line) return reject
    // The key of a member is a digest, so the position of the record is shown instead.
    const record =
      kind === 'product' && reject.key !== undefined
        ? `id ${JSON.stringify(Buffer.from(reject.key).toString())}`
        : `record ${this.#nth} of the line`
    const named = (message: string) => `${message} (${record})`
    const more = reject.more?.map((fault) => ({ ...fault, message: named(fault.message) }))
    return { ...reject, message: named(reject.message), ...(more === undefined ? {} : { more }) }
  }
}
