/** Claimed batches of this process, and the number that it may still claim. */
import type { ClaimedBatch } from '../../db/batches/claim.ts'

/** Batches taken by one statement. */
const claimAtOnce = 4
/** Maximum of answers that wait to be recorded: with more, the database is too slow, and more requests would only take leases. */
const mostAnswered = 24

/**
 * Counts batches by stage. Until its answer a batch uses a slot; until its answer is recorded it uses memory, because its bytes may
 * have to be split. Bounded by slots, by bytes and by answers that wait.
 */
export class InHand {
  readonly #maxBytes: number
  #underWay = 0
  #answered = 0
  #bytes = 0
  #largest = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get count(): number {
    return this.#underWay + this.#answered
  }

  /** Returns the number of batches that may be claimed now; at least one if none is claimed. */
  room(slots: number): number {
    if (this.#answered >= mostAnswered) return 0
    const byBytes = this.#largest === 0 ? 1 : Math.floor((this.#maxBytes - this.#bytes) / this.#largest)
    const room = Math.min(claimAtOnce, slots - this.#underWay, this.count === 0 ? Math.max(1, byBytes) : byBytes)
    return Math.max(0, room)
  }

  claimed(batch: ClaimedBatch): void {
    this.#underWay++
    this.#bytes += batch.body.length
    this.#largest = Math.max(this.#largest, batch.body.length)
  }

  answered(): void {
    this.#underWay--
    this.#answered++
  }

  released(batch: ClaimedBatch, stage: 'under way' | 'answered'): void {
    if (stage === 'answered') this.#answered--
    else this.#underWay--
    this.#bytes -= batch.body.length
  }
}
