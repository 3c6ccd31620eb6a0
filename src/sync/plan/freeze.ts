/**
 * Freezes planned operations: packs them into batches (requests), and stores their bodies or what the bodies are rebuilt from. So every
 * attempt of a request sends the same bytes (docs/guarantees.md#idempotent-resend).
 */
import type { Destination } from '../../destinations/destination.ts'
import { Packer, type PackedBatch } from '../../destinations/requestBodies.ts'
import { templateOf, writeEntries, type FrozenEntries } from '../../db/entries/write.ts'
import type { PlannedOperation } from './plannedOperation.ts'
import { noTotals, PlanBatches, type FreezeContext, type FrozenTotals } from './planBatches.ts'

/**
 * Writes operations as batches. Returns `earlierTotals` plus the totals of these batches. `implyingRunId`: id of the run if it is a first
 * load with implied keys (docs/decisions/implied-keys.md). Then the operations must be in the order of their record keys.
 */
export async function freeze(
  operations: AsyncIterable<readonly PlannedOperation[]>,
  context: FreezeContext & { readonly implyingRunId?: number | undefined },
  earlierTotals: FrozenTotals = noTotals(),
): Promise<FrozenTotals> {
  const { tx, destination, destinationId } = context
  const batches = new PlanBatches<Omit<FrozenEntries, 'batchId'>>(context, earlierTotals, (entries) =>
    writeEntries(tx, destinationId, destination, entries),
  )
  const packer = new BatchPacker(destination, (packed, firstOperation) => {
    const { body, sha256, ...rest } = packed
    const entries = { op: firstOperation.op, ...rest, template: templateOf(destination, { op: firstOperation.op, ...packed }) }
    const load = context.implyingRunId === undefined ? undefined : { id: context.implyingRunId, firstKey: firstOperation.recordKey }
    batches.add(
      { ...batchColumnsOf(packed, firstOperation), body: entries.template === undefined ? body : undefined, sha256, load },
      body.length,
      entries,
    )
  })
  try {
    for await (const portion of operations) {
      for (const operation of portion) {
        // Counts of a run are products or users. An operation may have several users.
        batches.countsByChange[operation.change] += operation.users
        packer.add(operation)
        if (batches.isFull) await batches.write()
      }
    }
    packer.end()
    await batches.write()
  } finally {
    await batches.awaitStored()
  }
  return batches.totals()
}

/** Returns the columns of a batch that follow from its operations. `expiresAtMs`: earliest end of its memberships. */
function batchColumnsOf({ items }: PackedBatch<PlannedOperation>, { op, phase }: PlannedOperation) {
  let userCount = 0
  let expiresAtMs = Number.POSITIVE_INFINITY
  for (const item of items) {
    userCount += item.users
    if (item.expiresAtMs !== null && item.expiresAtMs < expiresAtMs) expiresAtMs = item.expiresAtMs
  }
  return {
    phase,
    operation: op,
    entryCount: items.length,
    userCount,
    expiresAtMs: Number.isFinite(expiresAtMs) ? expiresAtMs : undefined,
  }
}

/** Maximum number of deleted ids that a plan compares with the ids that it puts. Above it, every put counts as colliding with one. */
const maxComparedIds = 20_000

/**
 * Packs operations into batches. All operations of a batch have one type (upsert or delete) and one phase.
 *
 * Two ids collide if the service may treat them as one product, such as `sku-1` and `SKU-1`. They must not share a batch (docs/inputs.md,
 * case 59). If one is deleted and the other is put, the put is in phase 2, after the delete.
 */
class BatchPacker {
  readonly #destination: Destination
  readonly #onBatch: (batch: PackedBatch<PlannedOperation>, firstOperation: PlannedOperation) => void
  #current: { readonly packer: Packer<PlannedOperation>; readonly op: PlannedOperation['op']; readonly phase: 1 | 2 } | undefined
  /** Ids in the current batch, in the form in which colliding ids are equal (`Destination.collisionOf`). Empty for people. */
  readonly #ids = new Set<string>()
  /** Ids that the plan deletes, in this form; at most one more than `maxComparedIds`. */
  readonly #deletedIds = new Set<string>()
  /** Operations whose id collides with an id in the current batch, or with a deleted id. Their batches follow all others. */
  #waiting: PlannedOperation[] = []

  constructor(destination: Destination, onBatch: (batch: PackedBatch<PlannedOperation>, firstOperation: PlannedOperation) => void) {
    this.#destination = destination
    this.#onBatch = onBatch
  }

  /** Adds an operation. All deletes must come before the first put. */
  add(operation: PlannedOperation): void {
    const id = this.#idOf(operation)
    const deleted = this.#deletedIds
    const areCompared = deleted.size <= maxComparedIds
    if (operation.op === 'delete') {
      if (id !== undefined && areCompared) deleted.add(id)
      if (!this.#pack(operation)) this.#waiting.push(operation)
      return
    }
    const collides = areCompared && id !== undefined && deleted.has(id)
    const put: PlannedOperation = collides || !areCompared ? { ...operation, phase: 2 } : operation
    if (collides || !this.#pack(put)) this.#waiting.push(put)
  }

  /** Packs the waiting operations, and ends the last batch. */
  end(): void {
    this.#waiting.sort((a, b) => a.phase - b.phase)
    while (this.#waiting.length > 0) {
      this.#endBatch()
      this.#waiting = this.#waiting.filter((operation) => !this.#pack(operation))
    }
    this.#endBatch()
  }

  #idOf({ recordKey }: PlannedOperation): string | undefined {
    return this.#destination.collisionOf?.(recordKey)
  }

  /**
   * Adds an operation to the current batch. Begins a new batch for another type or phase, or if the operation does not fit. Returns false,
   * and does not add it, if its id collides with an id in the current batch.
   */
  #pack(operation: PlannedOperation): boolean {
    const { op, phase } = operation
    const id = this.#idOf(operation)
    if (this.#current?.op === op && id !== undefined && this.#ids.has(id)) return false
    if (this.#current?.op !== op || this.#current.phase !== phase) {
      this.#endBatch()
      this.#current = { packer: new Packer(this.#destination.frame(op), this.#destination.limits), op, phase }
    }
    this.#finish(this.#current.packer.add(operation))
    if (id !== undefined) this.#ids.add(id)
    return true
  }

  #endBatch(): void {
    this.#finish(this.#current?.packer.flush())
  }

  #finish(batch: PackedBatch<PlannedOperation> | undefined): void {
    const firstOperation = batch?.items[0]
    if (batch === undefined || firstOperation === undefined) return
    this.#ids.clear()
    this.#onBatch(batch, firstOperation)
  }
}
