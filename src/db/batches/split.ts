/**
 * Splits and merges frozen batches. Whole entries move to new batches; the bytes of a user or product never change
 * (docs/guarantees.md#idempotent-resend).
 */
import type { Destination } from '../../destinations/destination.ts'
import { halveOperation } from '../../destinations/renderUserOperation.ts'
import { pack, Packer } from '../../destinations/requestBodies.ts'
import { expandEntries } from '../entries/expand.ts'
import { copyEntryPart, deleteEntry, moveEntries } from '../entries/outcomes.ts'
import { entriesOf } from '../entries/read.ts'
import type { Queryable } from '../queryable.ts'
import type { DbRow } from '../row.ts'
import type { ClaimedBatch } from './claim.ts'
import { insertFollowing, lockEndOfPlan } from './insert.ts'
import { endMerged } from './release.ts'

/** Part of a batch, and the state of the new batch. */
export interface Part {
  /** Places in the body of the parent, ascending. */
  readonly ords: readonly number[]
  readonly maybeApplied: boolean
  /** True if the new batch has no attempts left in this run. */
  readonly parked: boolean
  readonly attempts: number
  /** Number of consecutive complete answers with wrong counts. */
  readonly miscounts: number
  readonly reason: string | null
  /** Milliseconds until the new batch may be sent; 0: immediately. */
  readonly waitMs: number
}

/** Entry with its bytes. */
interface Slice {
  readonly ord: number
  readonly bytes: Buffer
  readonly users: number
  readonly expiresAt: Date | null
}

/**
 * Moves entries of a batch that the caller has claimed into new batches at the end of the same plan. Entries that are in no part
 * stay with the parent. The caller writes the next state of the parent. Returns the new ids, in the order of the parts.
 */
export async function splitBatch(tx: Queryable, destination: Destination, batch: ClaimedBatch, parts: readonly Part[]): Promise<number[]> {
  await expandEntries(tx, [batch.id])
  const slices = await readSlices(tx, batch)
  await lockEndOfPlan(tx, batch.planId)
  const ids: number[] = []
  for (const { ords, ...next } of parts) {
    const chosen = ords.map((ord) => {
      const slice = slices.get(ord)
      if (slice === undefined) throw new Error(`batch ${batch.id} has no entry ${ord}`)
      return slice
    })
    const packed = pack(chosen, destination.frame(batch.operation))
    const expiries = chosen.flatMap((slice) => (slice.expiresAt === null ? [] : [slice.expiresAt.getTime()]))
    const id = await insertFollowing(tx, {
      ...next,
      ...ofParent(batch),
      body: packed.body,
      sha256: packed.sha256,
      entryCount: chosen.length,
      userCount: chosen.reduce((sum, slice) => sum + slice.users, 0),
      expiresAt: expiries.length === 0 ? null : new Date(Math.min(...expiries)),
    })
    const moved = ords.map((ord) => ({ batchId: batch.id, ord }))
    await moveEntries(tx, id, moved, packed.offsets)
    ids.push(id)
  }
  return ids
}

/**
 * Halves a claimed batch of one operation on several users. Each half of its users becomes an operation in a new batch, at the end of the
 * same plan. The caller writes the next state of the batch. `nexts`: state of the two new batches. Returns false and changes nothing if the
 * stored identifiers of the operation are not those in its bytes.
 */
export async function halveSingleOperation(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  nexts: readonly [Omit<Part, 'ords'>, Omit<Part, 'ords'>],
): Promise<boolean> {
  await expandEntries(tx, [batch.id])
  const [entry] = await tx.query<DbRow<'entry', 'ord' | 'record_key' | 'keys' | 'byte_offset' | 'byte_length' | 'expires_at'>>(
    'select ord, record_key, keys, byte_offset, byte_length, expires_at from entry where batch_id = $1',
    [batch.id],
  )
  if (entry === undefined) return false
  const halves = halveOperation(batch.body.subarray(entry.byte_offset, entry.byte_offset + entry.byte_length), entry.keys)
  if (halves === undefined) return false
  const [left, right] = halves
  const parts = [
    { half: left, next: nexts[0], recordKey: entry.record_key },
    { half: right, next: nexts[1], recordKey: await recordKeyOfUser(tx, batch.destinationId, right.firstUser) },
  ]
  await lockEndOfPlan(tx, batch.planId)
  for (const { half, next, recordKey } of parts) {
    const packed = pack([half], destination.frame(batch.operation))
    const to = await insertFollowing(tx, {
      ...next,
      ...ofParent(batch),
      body: packed.body,
      sha256: packed.sha256,
      entryCount: 1,
      userCount: half.users,
      expiresAt: entry.expires_at,
    })
    const [offset = 0] = packed.offsets
    const [length = 0] = packed.lengths
    const { keys, users } = half
    await copyEntryPart(tx, { batchId: batch.id, ord: entry.ord }, { to, recordKey, keys, users, offset, length })
  }
  await deleteEntry(tx, { batchId: batch.id, ord: entry.ord })
  return true
}

/**
 * Returns the key of the record under which a user is sent. An erased person has none: then returns the first identifier, as a delete of
 * this person has (`entry.record_key`).
 */
async function recordKeyOfUser(tx: Queryable, destinationId: number, keys: readonly Buffer[]): Promise<Buffer> {
  const [row] = await tx.query<{ readonly group_key: Buffer }>(
    `select m.group_key from remote m where m.destination_id = $1 and m.key = any($2::bytea[]) and m.group_key is not null
     order by array_position($2::bytea[], m.key) limit 1`,
    [destinationId, keys],
  )
  const key = row?.group_key ?? keys[0]
  if (key === undefined) throw new Error('a user must have an identifier')
  return key
}

/**
 * Moves all entries of the batches `ids` into one new batch, in the order of `ids`. Ends the old batches as split. The batches must be of
 * one plan. The caller must have locked them, and none may be in flight. Does nothing if they have no entries.
 *
 * Uses several new batches if one would be larger than a request may be. A halved operation on several users is two operations, so the
 * parts of a full request may have too many.
 */
export async function mergeBatches(
  tx: Queryable,
  destination: Destination,
  ids: readonly number[],
  part: Omit<Part, 'ords' | 'maybeApplied' | 'parked' | 'waitMs'> & { readonly parentId: number },
): Promise<void> {
  await expandEntries(tx, ids)
  const [combined] = await tx.query<
    DbRow<'batch', 'plan_id' | 'destination_id' | 'phase' | 'operation' | 'maybe_applied' | 'expires_at'> & { readonly bytes: number }
  >(
    `select min(plan_id) as plan_id, min(destination_id) as destination_id, min(phase) as phase, min(operation) as operation, bool_or(maybe_applied) as maybe_applied, min(expires_at) as expires_at,
       max(length(body)) as bytes
     from batch where id = any($1::bigint[])`,
    [ids],
  )
  const rows = await tx.query<DbRow<'entry', 'batch_id' | 'ord' | 'users'> & { readonly bytes: Buffer }>(
    `select e.batch_id, e.ord, substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes, e.users
     from batch b join entry e on e.batch_id = b.id where b.id = any($1::bigint[]) order by array_position($1::bigint[], b.id), e.ord`,
    [ids],
  )
  if (combined === undefined || rows.length === 0) return
  const { entries, bytes } = destination.limits
  const packer = new Packer<(typeof rows)[number]>(destination.frame(combined.operation), {
    entries,
    bytes: Math.max(bytes, combined.bytes),
  })
  const merged = [...rows.map((row) => packer.add(row)), packer.flush()].filter((packed) => packed !== undefined)
  await lockEndOfPlan(tx, combined.plan_id)
  for (const { body, sha256, items, offsets } of merged) {
    const id = await insertFollowing(tx, {
      ...part,
      planId: combined.plan_id,
      destinationId: combined.destination_id,
      phase: combined.phase,
      operation: combined.operation,
      maybeApplied: combined.maybe_applied,
      parked: false,
      body,
      sha256,
      entryCount: items.length,
      userCount: items.reduce((sum, entry) => sum + entry.users, 0),
      expiresAt: combined.expires_at,
      waitMs: 0,
    })
    const moved = items.map((row) => ({ batchId: row.batch_id, ord: row.ord }))
    await moveEntries(tx, id, moved, offsets)
  }
  await endMerged(tx, ids)
}

/** Returns the places of the entries that are still in the batch, ascending. `where`: SQL condition on the entry `e`. */
export async function remainingOrds(tx: Queryable, batchId: number, where = 'true'): Promise<number[]> {
  const rows = await tx.query<DbRow<'entry', 'ord'>>(`select e.ord from ${entriesOf('$1::bigint')} e where ${where} order by e.ord`, [
    batchId,
  ])
  return rows.map((row) => row.ord)
}

async function readSlices(tx: Queryable, batch: ClaimedBatch): Promise<Map<number, Slice>> {
  const rows = await tx.query<DbRow<'entry', 'ord' | 'byte_offset' | 'byte_length' | 'users' | 'expires_at'>>(
    'select ord, byte_offset, byte_length, users, expires_at from entry where batch_id = $1 order by ord',
    [batch.id],
  )
  return new Map(
    rows.map((row) => [
      row.ord,
      {
        ord: row.ord,
        bytes: batch.body.subarray(row.byte_offset, row.byte_offset + row.byte_length),
        users: row.users,
        expiresAt: row.expires_at,
      },
    ]),
  )
}

/** Returns what a part has in common with the batch that is split. */
function ofParent(batch: ClaimedBatch) {
  return {
    planId: batch.planId,
    destinationId: batch.destinationId,
    parentId: batch.id,
    phase: batch.phase,
    operation: batch.operation,
  }
}
