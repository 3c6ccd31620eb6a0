/**
 * Freezes planned operations: writes them as batches and entries, by COPY in the plan's transaction. Bodies are final, so every
 * attempt sends the same bytes (docs/guarantees.md).
 */
import type { Transaction } from '../../db/database.ts'
import { createHash, type Hash } from 'node:crypto'
import type { Destination } from '../../destinations/destination.ts'
import { Packer, type PackedBatch } from '../../destinations/pack.ts'
import { copyBatches, reserveBatchIds, type FrozenBatch } from '../../db/batches/insert.ts'
import { templateOf, writeEntries, type FrozenEntries } from '../../db/entries/write.ts'
import { crashPoint } from '../crashPoint.ts'
import type { Change, PlannedOperation } from './operations.ts'

/** Totals of a plan, or of its parts so far. */
export interface Frozen {
  readonly batches: number
  /** Number of products or users by change, also if they share an operation. */
  readonly entries: Readonly<Record<Change, number>>
  /** SHA-256 over all bodies in order, not finished. */
  readonly bodies: Hash
  /** Number of requests by class of limit, for the estimate of minutes. */
  readonly requests: Readonly<Record<string, number>>
}

export const nothingFrozen = (): Frozen => ({
  batches: 0,
  entries: { create: 0, update: 0, delete: 0, renewal: 0 },
  bodies: createHash('sha256'),
  requests: {},
})

interface Collected {
  readonly batch: PackedBatch<PlannedOperation>
  readonly op: PlannedOperation['op']
  readonly phase: 1 | 2
}

interface FreezeContext {
  readonly planId: string
  readonly destinationId: number
  /** Number of the run, for a first load with implied keys, whose operations are ordered by record key; otherwise undefined. */
  readonly loadId: number | undefined
  /** `seq` of the last batch that the plan has already; 0 if it has none. */
  readonly lastSeq: number
}

/**
 * Batches are written together once they have so many operations or bytes of bodies: two batches of people, or some 130 of products.
 * More operations cost memory (80,000: 448 MB instead of 308 for a million users). Fewer bytes cost time, because each COPY has a buffer
 * (two batches of products: 23.5 s of Node's processor instead of 13.4 for 200,000 products).
 */
const operationsAtATime = 5_000
const bytesAtATime = 4_000_000

/** Writes operations as batches. Returns the sum of their totals and of `before`, which does not change. */
export async function freeze(
  tx: Transaction,
  destination: Destination,
  operations: AsyncIterable<readonly PlannedOperation[]>,
  context: FreezeContext & { readonly onProgress: (done: number) => void },
  before: Frozen = nothingFrozen(),
): Promise<Frozen> {
  const bodies = before.bodies.copy()
  const entries = { ...before.entries }
  const requests = { ...before.requests }
  let batches = 0
  let done = 0
  let collected: Collected[] = []
  const together = { operations: 0, bytes: 0 }
  // Resolves when the last written batches are stored. Postgres stores them while the next ones are collected.
  let writing = Promise.resolve()
  const write = async () => {
    const group = collected
    const firstSeq = context.lastSeq + batches - group.length + 1
    collected = []
    together.operations = 0
    together.bytes = 0
    await writing
    writing = writeBatches(tx, destination, group, { ...context, firstSeq })
    // Prevents an unhandled rejection: the next `await writing` throws the error.
    writing.catch(() => undefined)
    context.onProgress(done)
  }
  const take = (batch: PackedBatch<PlannedOperation> | undefined) => {
    const first = batch?.items[0]
    if (!batch || !first) return
    bodies.update(batch.body)
    batches++
    done += batch.items.length
    const limitClass = destination.limitClass(first.op)
    requests[limitClass] = (requests[limitClass] ?? 0) + 1
    collected.push({ batch, op: first.op, phase: first.phase })
    together.operations += batch.items.length
    together.bytes += batch.body.length
  }

  let current: { packer: Packer<PlannedOperation>; op: PlannedOperation['op']; phase: 1 | 2 } | undefined
  // Ids that differ only in case never share a request (docs/inputs.md, case 59): the later one goes to a batch behind all others.
  const folded = new Set<string>()
  // A service that compares ids without case has one product under the old and the new id. So the new id is put in phase 2, after the old one
  // was deleted.
  const deleted = new DeletedIds(destination)
  let waiting: PlannedOperation[] = []
  const collides = ({ recordKey }: PlannedOperation) =>
    destination.collisionOf !== undefined && folded.has(destination.collisionOf(recordKey))
  const add = (operation: PlannedOperation) => {
    if (!current || current.op !== operation.op || current.phase !== operation.phase) {
      take(current?.packer.flush())
      folded.clear()
      current = {
        packer: new Packer(destination.frame(operation.op), destination.limits(operation.op)),
        op: operation.op,
        phase: operation.phase,
      }
    }
    const full = current.packer.add(operation)
    if (full) folded.clear()
    if (destination.collisionOf !== undefined) folded.add(destination.collisionOf(operation.recordKey))
    take(full)
  }
  try {
    for await (const portion of operations) {
      for (const operation of portion) {
        // Counts users, and not operations, like all run counts.
        entries[operation.change] += operation.users
        const renamed = deleted.follow(operation)
        if (renamed === 'collides' || (current?.op === operation.op && collides(operation))) {
          waiting.push(renamed === undefined ? operation : { ...operation, phase: 2 })
          continue
        }
        add(renamed === undefined ? operation : { ...operation, phase: 2 })
        if (together.operations >= operationsAtATime || together.bytes >= bytesAtATime) await write()
      }
    }
  } catch (error) {
    // If a COPY failed, throws its error, because it caused the other one. The connection must be free before the rollback.
    await writing
    throw error
  }
  waiting.sort((a, b) => a.phase - b.phase)
  while (waiting.length > 0) {
    take(current?.packer.flush())
    folded.clear()
    const again = waiting
    waiting = []
    for (const operation of again) {
      if (collides(operation)) waiting.push(operation)
      else add(operation)
    }
  }
  take(current?.packer.flush())
  if (collected.length > 0) await write()
  await writing
  return { batches: before.batches + batches, entries, bodies, requests }
}

/** Maximum number of deleted ids that a plan compares with the ids that it puts. */
const mostCompared = 20_000

/** Ids that a plan deletes, in the form in which ids collide. Empty for people. */
class DeletedIds {
  readonly #destination: Destination
  readonly #ids = new Set<string>()

  constructor(destination: Destination) {
    this.#destination = destination
  }

  /**
   * Adds a delete. Returns `collides` for an operation that puts an id which the plan deletes in another case. Above `mostCompared` deletes,
   * every put may do so, and must wait for them.
   */
  follow({ op, recordKey }: PlannedOperation): 'collides' | 'may collide' | undefined {
    if (op !== 'delete' && this.#ids.size === 0) return undefined
    if (this.#ids.size > mostCompared) return op === 'delete' ? undefined : 'may collide'
    const folded = this.#destination.collisionOf?.(recordKey)
    if (folded === undefined) return undefined
    if (op !== 'delete') return this.#ids.has(folded) ? 'collides' : undefined
    this.#ids.add(folded)
    return undefined
  }
}

async function writeBatches(
  tx: Transaction,
  destination: Destination,
  collected: readonly Collected[],
  context: FreezeContext & { readonly firstSeq: number },
): Promise<void> {
  const ids = await reserveBatchIds(tx, collected.length)
  const frozen: { batch: FrozenBatch; entries: FrozenEntries }[] = []
  for (const [i, { batch, op, phase }] of collected.entries()) {
    const id = ids[i]
    const [first] = batch.items
    if (id === undefined || first === undefined) throw new Error('each batch has an id and an operation')
    const template = templateOf(destination, { op, ...batch })
    let userCount = 0
    let expiresAtMs = Number.POSITIVE_INFINITY
    for (const item of batch.items) {
      userCount += item.users
      if (item.expiresAtMs !== null && item.expiresAtMs < expiresAtMs) expiresAtMs = item.expiresAtMs
    }
    frozen.push({
      batch: {
        id,
        planId: context.planId,
        destinationId: context.destinationId,
        seq: context.firstSeq + i,
        phase,
        operation: op,
        body: template === undefined ? batch.body : undefined,
        sha256: batch.sha256,
        entryCount: batch.items.length,
        userCount,
        expiresAtMs: Number.isFinite(expiresAtMs) ? expiresAtMs : undefined,
        load: context.loadId === undefined ? undefined : { id: context.loadId, firstKey: first.recordKey },
      },
      entries: { batchId: id, op, ...batch, template },
    })
  }
  await copyBatches(
    tx,
    frozen.map(({ batch }) => batch),
  )
  crashPoint('plan.batches_written')
  await writeEntries(
    tx,
    context.destinationId,
    destination,
    frozen.map(({ entries }) => entries),
  )
}
