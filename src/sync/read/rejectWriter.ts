import type { Reject } from '../../model/record.ts'
import type { Database } from '../../db/database.ts'
import { insertRejects, type NewReject } from '../../db/rejects.ts'
import { storableText } from '../../storableText.ts'

/** Number of rejects in memory from which on `full` is true. */
const maxRejectsInMemory = 500

/** Writes rejects to Postgres outside of the run's transaction, so that a failed run keeps its rejects. */
export class RejectWriter {
  readonly #db: Database
  readonly #runId: number
  #rows: NewReject[] = []

  constructor(db: Database, runId: number) {
    this.#db = db
    this.#runId = runId
  }

  /** True once the caller should call `flush`. */
  get full(): boolean {
    return this.#rows.length >= maxRejectsInMemory
  }

  /** Adds a reject. `source`: number of its source, from 0. `cells`: original cells of the row, masked if personal. */
  add(reject: Reject, source: number, cells: readonly string[]): void {
    this.#rows.push({
      line: reject.line,
      source,
      code: reject.code,
      field: reject.field,
      message: storableText(reject.message),
      hint: reject.hint,
      record_key: reject.key ? `\\x${Buffer.from(reject.key).toString('hex')}` : null,
      cells: cells.map(storableText),
      more: (reject.more ?? []).map((fault) => ({ ...fault, message: storableText(fault.message) })),
    })
  }

  /** Writes the added rejects. Must be called after the last one. */
  async flush(): Promise<void> {
    if (this.#rows.length === 0) return
    const rows = this.#rows
    this.#rows = []
    await insertRejects(this.#db, this.#runId, rows)
  }
}
