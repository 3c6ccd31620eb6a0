/** Counts the batches that a push of this process has claimed, and limits how many it may claim. */
import type { ClaimedBatch } from '../../db/batches/claim.ts'

/** Maximum number of batches claimed by one statement. */
const maxClaimsAtOnce = 4
/** With this many unrecorded answers no batch is claimed: the database is the bottleneck, and further claims would only hold leases. */
const maxUnrecordedAnswers = 24

/**
 * Claimed batches: those without an answer, and those whose answer is not recorded yet. A batch uses a slot (one request in
 * flight) until it is answered. It uses memory until its answer is recorded, because its bytes may be needed for a split. Slots, bytes and
 * unrecorded answers limit the claims.
 */
export class ClaimedBatches {
  readonly #maxBytes: number
  readonly #underWay = new Set<ClaimedBatch>()
  readonly #answered = new Set<ClaimedBatch>()
  /** Bytes of the largest batch so far. */
  #largest = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Ids of the claimed batches whose answers are not recorded yet. */
  get ids(): readonly number[] {
    return [...this.#underWay, ...this.#answered].map(({ id }) => id)
  }

  /** Number of claimed batches whose answers are not recorded yet. */
  get count(): number {
    return this.#underWay.size + this.#answered.size
  }

  /**
   * Returns the number of batches that may be claimed now, at most `maxClaimsAtOnce`. `slots`: number of requests that may be in flight.
   * Assumes that each batch is as large as the largest one so far; before the first batch, returns at most one. If no batch is claimed and
   * a slot is free, returns at least one, even if the largest batch exceeds the limit of bytes.
   */
  room(slots: number): number {
    if (this.#answered.size >= maxUnrecordedAnswers) return 0
    const byBytes = this.#largest === 0 ? 1 : Math.floor((this.#maxBytes - this.#bytes) / this.#largest)
    const room = Math.min(maxClaimsAtOnce, slots - this.#underWay.size, this.count === 0 ? Math.max(1, byBytes) : byBytes)
    return Math.max(0, room)
  }

  /** Registers a claimed batch. */
  claimed(batch: ClaimedBatch): void {
    this.#underWay.add(batch)
    this.#largest = Math.max(this.#largest, batch.body.length)
  }

  /** Registers that a claimed batch was answered. */
  answered(batch: ClaimedBatch): void {
    this.#underWay.delete(batch)
    this.#answered.add(batch)
  }

  /** Registers that this push has finished a batch: its answer is recorded, there was nothing to send, or an error was thrown. */
  released(batch: ClaimedBatch): void {
    this.#underWay.delete(batch)
    this.#answered.delete(batch)
  }

  get #bytes(): number {
    let bytes = 0
    for (const { body } of this.#underWay) bytes += body.length
    for (const { body } of this.#answered) bytes += body.length
    return bytes
  }
}
