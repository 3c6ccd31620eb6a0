import { createHash, type Hash } from 'node:crypto'
import { copyBatches, reserveBatchIds, type FrozenBatch } from '../../db/batches/insert.ts'
import type { Transaction } from '../../db/database.ts'
import type { Destination } from '../../destinations/destination.ts'
import { crashPoint } from '../crashPoint.ts'
import type { Change } from '../../model/report.ts'

/** Totals of the frozen operations of a plan, or of its parts so far. Frozen: stored in the final bodies of batches (requests). */
export interface FrozenTotals {
  readonly batches: number
  /** Number of products or users by change. An operation may have several users. */
  readonly countsByChange: Readonly<Record<Change, number>>
  /** SHA-256 over the SHA-256 of all bodies in order. Later batches can still be added. */
  readonly bodiesHash: Hash
  /** Number of requests by class of rate limit, for the estimate of minutes. */
  readonly requests: Readonly<Record<string, number>>
}

export const noTotals = (): FrozenTotals => ({
  batches: 0,
  countsByChange: { create: 0, update: 0, delete: 0, renewal: 0 },
  bodiesHash: createHash('sha256'),
  requests: {},
})

/** Plan whose operations are frozen. */
export interface FreezeContext {
  readonly tx: Transaction
  readonly destination: Destination
  readonly planId: string
  readonly destinationId: number
  /** `seq` of the last batch of earlier parts; 0 if there are none. */
  readonly lastSeq: number
  readonly onProgress: (done: number) => void
}

/**
 * Collected batches are written once they have this many operations or bytes: two batches of people, or some 130 of products. More
 * operations cost memory (80,000: 448 MB instead of 308 for a million users). Fewer bytes cost time (two batches of products: 23.5 s of
 * Node's processor instead of 13.4 for 200,000 products).
 */
const operationsPerWrite = 5_000
const bytesPerWrite = 4_000_000

interface Collected<Entries> {
  readonly batch: Omit<FrozenBatch, 'id' | 'planId' | 'destinationId'>
  readonly entries: Entries
}

/**
 * Writer of the batches of one plan. Writes by COPY in the order of `add`, while the caller collects the next batches. After the last
 * batch, the caller must call `write`. At the end, and also after an error, it must call `awaitStored`, because the connection is not free
 * before.
 */
export class PlanBatches<Entries extends object> {
  /** Number of products or users by change. The caller must add to it. */
  readonly countsByChange: Record<Change, number>
  readonly #context: FreezeContext
  readonly #writeEntries: (entries: readonly (Entries & { readonly batchId: number })[]) => Promise<void>
  readonly #bodiesHash: Hash
  readonly #requests: Record<string, number>
  #batches: number
  #seq: number
  #done = 0
  #collected: Collected<Entries>[] = []
  #operations = 0
  #bytes = 0
  #writing = Promise.resolve()

  /** `earlierTotals`: totals of earlier parts; not changed. `writeEntries`: stores the entries of stored batches. */
  constructor(
    context: FreezeContext,
    earlierTotals: FrozenTotals,
    writeEntries: (entries: readonly (Entries & { readonly batchId: number })[]) => Promise<void>,
  ) {
    this.#context = context
    this.#writeEntries = writeEntries
    this.countsByChange = { ...earlierTotals.countsByChange }
    this.#bodiesHash = earlierTotals.bodiesHash.copy()
    this.#requests = { ...earlierTotals.requests }
    this.#batches = earlierTotals.batches
    this.#seq = context.lastSeq
  }

  /** Collects a batch. `bodyBytes`: length of its body, also if only the template is stored. */
  add(batch: Omit<Collected<Entries>['batch'], 'seq'>, bodyBytes: number, entries: Entries): void {
    this.#bodiesHash.update(batch.sha256)
    this.#batches++
    this.#done += batch.entryCount
    const limitClass = this.#context.destination.limitClass(batch.operation)
    this.#requests[limitClass] = (this.#requests[limitClass] ?? 0) + 1
    this.#collected.push({ batch: { ...batch, seq: ++this.#seq }, entries })
    this.#operations += batch.entryCount
    this.#bytes += bodyBytes
  }

  get isFull(): boolean {
    return this.#operations >= operationsPerWrite || this.#bytes >= bytesPerWrite
  }

  /**
   * Starts to store the collected batches. Resolves once the batches of the previous call are stored. `after`: the collected batches are
   * stored after this promise, such as the COPY of their records.
   */
  async write(after?: Promise<void>): Promise<void> {
    if (this.#collected.length === 0 && after === undefined) return
    const collected = this.#collected
    this.#collected = []
    this.#operations = 0
    this.#bytes = 0
    const earlierWrites = this.#writing
    this.#writing = Promise.all([earlierWrites, after]).then(() => this.#store(collected))
    // The next `write` or `awaitStored` throws the error.
    this.#writing.catch(() => undefined)
    await earlierWrites
    this.#context.onProgress(this.#done)
  }

  /** Waits until the written batches are stored. Throws the error of a failed COPY. */
  async awaitStored(): Promise<void> {
    await this.#writing
  }

  /** Returns the totals, including earlier parts. */
  totals(): FrozenTotals {
    return { batches: this.#batches, countsByChange: this.countsByChange, bodiesHash: this.#bodiesHash, requests: this.#requests }
  }

  async #store(collected: readonly Collected<Entries>[]): Promise<void> {
    if (collected.length === 0) return
    const { tx, planId, destinationId } = this.#context
    const ids = await reserveBatchIds(tx, collected.length)
    const idOf = (index: number) => {
      const id = ids[index]
      if (id === undefined) throw new Error('each batch must have an id')
      return id
    }
    const batches = collected.map(({ batch }, index) => ({ ...batch, id: idOf(index), planId, destinationId }))
    await copyBatches(tx, batches)
    crashPoint('plan.batches_written')
    await this.#writeEntries(collected.map(({ entries }, index) => ({ ...entries, batchId: idOf(index) })))
  }
}
