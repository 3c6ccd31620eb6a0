/** Limits how many batches a push of this process may claim. */
import type { ClaimedBatch } from '../../db/batches/claim.ts'

/** Maximum number of batches in one claim. */
const maxClaimsAtOnce = 4
/**
 * Number of unrecorded answers from which on no batch is claimed. The database is then the bottleneck, and other processes cannot claim
 * what this one has claimed.
 */
const maxUnrecordedAnswers = 24

/**
 * Keeps the claimed batches, and computes how many more may be claimed. A batch uses a slot (one request in flight) until it is answered.
 * It uses memory until its answer is recorded, because its bytes may be needed for a split.
 */
export class ClaimLimit {
  readonly #maxBytes: number
  readonly #unanswered = new Set<ClaimedBatch>()
  readonly #answered = new Set<ClaimedBatch>()
  #largestBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Ids of the claimed batches whose answers are not recorded yet. */
  get ids(): readonly number[] {
    return [...this.#unanswered, ...this.#answered].map(({ id }) => id)
  }

  /** Number of claimed batches whose answers are not recorded yet. */
  get count(): number {
    return this.#unanswered.size + this.#answered.size
  }

  /**
   * Returns the number of batches that may be claimed now. `slots`: number of requests that may be in flight. Assumes that each batch is as
   * large as the largest one so far; before the first batch, returns at most one. If no batch is claimed and a slot is free, returns at
   * least one, even above the limit of bytes.
   */
  claimableCount(slots: number): number {
    if (this.#answered.size >= maxUnrecordedAnswers) return 0
    const freeSlots = slots - this.#unanswered.size
    const fitting = this.#largestBytes === 0 ? 1 : Math.floor((this.#maxBytes - this.#bytes) / this.#largestBytes)
    const permitted = this.count === 0 ? Math.max(1, fitting) : fitting
    return Math.max(0, Math.min(maxClaimsAtOnce, freeSlots, permitted))
  }

  add(batch: ClaimedBatch): void {
    this.#unanswered.add(batch)
    this.#largestBytes = Math.max(this.#largestBytes, batch.body.length)
  }

  /** Frees the slot of an answered batch. */
  freeSlot(batch: ClaimedBatch): void {
    this.#unanswered.delete(batch)
    this.#answered.add(batch)
  }

  /** Removes a batch that this push has finished: its answer is recorded, there was nothing to send, or an error was thrown. */
  remove(batch: ClaimedBatch): void {
    this.#unanswered.delete(batch)
    this.#answered.delete(batch)
  }

  get #bytes(): number {
    let bytes = 0
    for (const { body } of this.#unanswered) bytes += body.length
    for (const { body } of this.#answered) bytes += body.length
    return bytes
  }
}
