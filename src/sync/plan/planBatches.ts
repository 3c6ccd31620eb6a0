/** Writes the batches of a plan by COPY in the plan's transaction, and computes their totals. */
import { createHash, type Hash } from 'node:crypto'
import { copyBatches, reserveBatchIds, type FrozenBatch } from '../../db/batches/insert.ts'
import type { Transaction } from '../../db/database.ts'
import type { Destination } from '../../destinations/destination.ts'
import { crashPoint } from '../crashPoint.ts'
import type { Change } from '../../model/report.ts'

/** Totals of a plan, or of its parts so far. */
export interface Frozen {
  readonly batches: number
  /** Number of products or users by change, also if they share an operation. */
  readonly entries: Readonly<Record<Change, number>>
  /** Unfinished SHA-256 over the SHA-256 of all bodies in order. */
  readonly bodies: Hash
  /** Number of requests by class of limit, for the estimate of minutes. */
  readonly requests: Readonly<Record<string, number>>
}

/** Returns the totals of a plan without batches. */
export const nothingFrozen = (): Frozen => ({
  batches: 0,
  entries: { create: 0, update: 0, delete: 0, renewal: 0 },
  bodies: createHash('sha256'),
  requests: {},
})

/** Plan, or part of a plan, whose operations are frozen. */
export interface FreezeContext {
  readonly tx: Transaction
  readonly destination: Destination
  readonly planId: string
  readonly destinationId: number
  /** `seq` of the last batch that the plan has already; 0 if it has none. */
  readonly lastSeq: number
  /** Called with the number of operations that were frozen so far. */
  readonly onProgress: (done: number) => void
}

/**
 * Collected batches are written once they have this many operations, or bytes of bodies: two batches of people, or some 130 of products.
 * More operations cost memory (80,000: 448 MB instead of 308 for a million users). Fewer bytes cost time, because each COPY has a buffer
 * (two batches of products: 23.5 s of Node's processor instead of 13.4 for 200,000 products).
 */
const operationsPerWrite = 5_000
const bytesPerWrite = 4_000_000

/** Collected batch, with the entries of its operations. */
interface Collected<Entries> {
  readonly batch: Omit<FrozenBatch, 'id' | 'planId' | 'destinationId'>
  readonly entries: Entries
}

/**
 * Batches of one plan, written in the order of `push`. Postgres stores them while the next ones are collected. After the last batch the
 * caller must call `write`. Then, and also after an error, the caller must await `stored`, because the connection is not free before.
 */
export class PlanBatches<Entries extends object> {
  /** Number of products or users by change; the caller adds to it. */
  readonly entries: Record<Change, number>
  readonly #context: FreezeContext
  readonly #writeEntries: (entries: readonly (Entries & { readonly batchId: number })[]) => Promise<void>
  readonly #bodies: Hash
  readonly #requests: Record<string, number>
  #batches: number
  #seq: number
  #done = 0
  #collected: Collected<Entries>[] = []
  #operations = 0
  #bytes = 0
  #writing = Promise.resolve()

  /** `before`: totals of earlier parts, which do not change. `writeEntries`: stores the entries of stored batches. */
  constructor(
    context: FreezeContext,
    before: Frozen,
    writeEntries: (entries: readonly (Entries & { readonly batchId: number })[]) => Promise<void>,
  ) {
    this.#context = context
    this.#writeEntries = writeEntries
    this.entries = { ...before.entries }
    this.#bodies = before.bodies.copy()
    this.#requests = { ...before.requests }
    this.#batches = before.batches
    this.#seq = context.lastSeq
  }

  /** Collects a batch. `bodyBytes`: length of its whole body, also if only the template is stored. */
  push(batch: Omit<Collected<Entries>['batch'], 'seq'>, bodyBytes: number, entries: Entries): void {
    this.#bodies.update(batch.sha256)
    this.#batches++
    this.#done += batch.entryCount
    const limitClass = this.#context.destination.limitClass(batch.operation)
    this.#requests[limitClass] = (this.#requests[limitClass] ?? 0) + 1
    this.#collected.push({ batch: { ...batch, seq: ++this.#seq }, entries })
    this.#operations += batch.entryCount
    this.#bytes += bodyBytes
  }

  /** True if the collected batches should be written. */
  get isFull(): boolean {
    return this.#operations >= operationsPerWrite || this.#bytes >= bytesPerWrite
  }

  /**
   * Starts to store the collected batches, and resolves once the batches before them are stored. `after`: resolves once everything is
   * stored that must precede the collected batches, such as their records. If it fails, storing the batches fails with its error.
   */
  async write(after?: Promise<void>): Promise<void> {
    if (this.#collected.length === 0 && after === undefined) return
    const collected = this.#collected
    this.#collected = []
    this.#operations = 0
    this.#bytes = 0
    const earlierWrites = this.#writing
    this.#writing = Promise.all([earlierWrites, after]).then(() => this.#store(collected))
    // Prevents an unhandled rejection: the next `await` throws the error.
    this.#writing.catch(() => undefined)
    await earlierWrites
    this.#context.onProgress(this.#done)
  }

  /** Waits until the written batches are stored. Throws the error of a failed COPY, which is the cause of any other error. */
  async stored(): Promise<void> {
    await this.#writing
  }

  /** Returns the totals of the earlier parts and of all batches so far. */
  totals(): Frozen {
    return { batches: this.#batches, entries: this.entries, bodies: this.#bodies, requests: this.#requests }
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
    await copyBatches(
      tx,
      collected.map(({ batch }, index) => ({ ...batch, id: idOf(index), planId, destinationId })),
    )
    crashPoint('plan.batches_written')
    await this.#writeEntries(collected.map(({ entries }, index) => ({ ...entries, batchId: idOf(index) })))
  }
}
