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
  // Two ids collide if the service may treat them as one product, such as `sku-1` and `SKU-1`. If one is deleted and the other is put, the
  // put is in phase 2, after the delete.
  const deleted = new DeletedIds(destination)
  // Operations whose id collides with an id in the current batch, or with a deleted id. Their batches follow all others.
  let waiting: PlannedOperation[] = []
  try {
    for await (const portion of operations) {
      for (const operation of portion) {
        // Counts of a run are products or users. An operation may have several users.
        batches.countsByChange[operation.change] += operation.users
        if (operation.op === 'delete') deleted.add(operation)
        const collision = operation.op === 'delete' ? undefined : deleted.collisionWith(operation)
        const next: PlannedOperation = collision === undefined ? operation : { ...operation, phase: 2 }
        if (collision === 'certain' || packer.collides(next)) waiting.push(next)
        else packer.add(next)
        if (batches.isFull) await batches.write()
      }
    }
    waiting.sort((a, b) => a.phase - b.phase)
    while (waiting.length > 0) {
      packer.end()
      const toPack = waiting
      waiting = []
      for (const operation of toPack) {
        if (packer.collides(operation)) waiting.push(operation)
        else packer.add(operation)
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

/**
 * Packs operations into batches. All operations of a batch have one type (upsert or delete) and one phase. Colliding ids must not share a
 * batch (docs/inputs.md, case 59), so the caller must not add an operation for which `collides` returns true.
 */
class BatchPacker {
  readonly #destination: Destination
  readonly #onBatch: (batch: PackedBatch<PlannedOperation>, firstOperation: PlannedOperation) => void
  #current: { readonly packer: Packer<PlannedOperation>; readonly op: PlannedOperation['op']; readonly phase: 1 | 2 } | undefined
  /** Ids in the current batch, in the form in which colliding ids are equal (`Destination.collisionOf`). */
  readonly #ids = new Set<string>()

  constructor(destination: Destination, onBatch: (batch: PackedBatch<PlannedOperation>, firstOperation: PlannedOperation) => void) {
    this.#destination = destination
    this.#onBatch = onBatch
  }

  collides({ op, recordKey }: PlannedOperation): boolean {
    if (this.#current?.op !== op) return false
    const id = this.#destination.collisionOf?.(recordKey)
    return id !== undefined && this.#ids.has(id)
  }

  /** Adds an operation to the current batch. Begins a new batch for another type or phase, or if the operation does not fit. */
  add(operation: PlannedOperation): void {
    const { op, phase, recordKey } = operation
    if (this.#current?.op !== op || this.#current.phase !== phase) {
      this.end()
      this.#current = { packer: new Packer(this.#destination.frame(op), this.#destination.limits), op, phase }
    }
    this.#finish(this.#current.packer.add(operation))
    const id = this.#destination.collisionOf?.(recordKey)
    if (id !== undefined) this.#ids.add(id)
  }

  end(): void {
    this.#finish(this.#current?.packer.flush())
  }

  #finish(batch: PackedBatch<PlannedOperation> | undefined): void {
    const firstOperation = batch?.items[0]
    if (batch === undefined || firstOperation === undefined) return
    this.#ids.clear()
    this.#onBatch(batch, firstOperation)
  }
}

/** Maximum number of deleted ids that a plan compares with the ids that it puts. */
const maxComparedIds = 20_000

/** Ids that a plan deletes, in the form in which colliding ids are equal. Empty for people. */
class DeletedIds {
  readonly #destination: Destination
  readonly #ids = new Set<string>()

  constructor(destination: Destination) {
    this.#destination = destination
  }

  add({ recordKey }: PlannedOperation): void {
    if (this.#ids.size > maxComparedIds) return
    const id = this.#destination.collisionOf?.(recordKey)
    if (id !== undefined) this.#ids.add(id)
  }

  /**
   * Returns `certain` if the id of a put collides with a deleted id. After more than `maxComparedIds` deletes, returns `possible` for every
   * put. Must be called after all deletes were added.
   */
  collisionWith({ recordKey }: PlannedOperation): 'certain' | 'possible' | undefined {
    if (this.#ids.size === 0) return undefined
    if (this.#ids.size > maxComparedIds) return 'possible'
    const id = this.#destination.collisionOf?.(recordKey)
    return id !== undefined && this.#ids.has(id) ? 'certain' : undefined
  }
}
