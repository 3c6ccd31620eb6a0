/** Splits and merges frozen batches: whole entries move to new batches, byte for byte; no entry is ever edited (docs/guarantees.md#idempotent-resend). */
import type { Destination } from '../destinations/destination.ts'
import { pack } from '../destinations/pack.ts'
import type { ClaimedBatch } from './batches.ts'
import type { Queryable } from './database.ts'
import { entriesOf, expandEntries } from './entries.ts'

export interface Part {
  /** Places in the parent's body, rising. */
  readonly ords: readonly number[]
  readonly status: 'pending' | 'ambiguous'
  readonly attempts: number
  readonly wrongAlike: number
  readonly reason: string | null
  readonly waitMs: number
}

interface Slice {
  readonly ord: number
  readonly bytes: Buffer
  readonly users: number
  readonly expiresAt: Date | null
}

/**
 * Moves entries of a batch that the caller holds into new batches of the same plan, at its end. Entries that no part names stay
 * with the parent; the caller writes the parent's next state. Returns the new ids, in the order of the parts.
 */
export async function splitBatch(tx: Queryable, destination: Destination, batch: ClaimedBatch, parts: readonly Part[]): Promise<number[]> {
  await expandEntries(tx, [batch.id])
  const slices = await readSlices(tx, batch)
  // Two concurrent splits of one plan would take the same numbers.
  await tx.query('select from plan where id = $1 for update', [batch.planId])
  const ids: number[] = []
  for (const part of parts) {
    const chosen = part.ords.map((ord) => {
      const slice = slices.get(ord)
      if (slice === undefined) throw new Error(`batch ${batch.id} has no entry ${ord}`)
      return slice
    })
    const cut = pack(chosen, destination.frame(batch.operation))
    const expiries = chosen.flatMap((slice) => (slice.expiresAt === null ? [] : [slice.expiresAt.getTime()]))
    const [row] = await tx.query<{ id: string }>(
      `insert into batch (plan_id, destination_id, seq, phase, operation, status, body, body_sha256, entry_count, user_count, parent_id, expires_at,
         attempts, wrong_alike, reason, next_attempt_at)
       select $1, $2, (select max(seq) + 1 from batch where plan_id = $1), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
         case when $15::float8 > 0 then statement_timestamp() + $15::float8 * interval '1 millisecond' end
       returning id`,
      [
        batch.planId,
        batch.destinationId,
        batch.phase,
        batch.operation,
        part.status,
        cut.body,
        cut.sha256,
        chosen.length,
        chosen.reduce((sum, slice) => sum + slice.users, 0),
        batch.id,
        expiries.length === 0 ? null : new Date(Math.min(...expiries)),
        part.attempts,
        part.wrongAlike,
        part.reason,
        part.waitMs,
      ],
    )
    const id = Number(row?.id)
    await tx.execute(
      `update entry e set batch_id = $2, ord = x.place, byte_offset = x.byte_offset
       from unnest($3::int[], $4::int[], $5::int[]) as x (ord, place, byte_offset) where e.batch_id = $1 and e.ord = x.ord`,
      [batch.id, id, part.ords, part.ords.map((_, place) => place), [...cut.offsets]],
    )
    ids.push(id)
  }
  return ids
}

/**
 * Moves all entries of unclaimed batches into one new batch, the batches in the order given. The caller has locked them and knows
 * that none is under way; they end as split.
 */
export async function mergeBatches(
  tx: Queryable,
  destination: Destination,
  ids: readonly number[],
  part: Omit<Part, 'ords' | 'status' | 'waitMs'> & { readonly parentId: number },
): Promise<void> {
  const [first] = await tx.query<{
    plan_id: string
    destination_id: number
    phase: number
    operation: ClaimedBatch['operation']
    ambiguous: boolean
    expires_at: Date | null
  }>(
    `select min(plan_id) as plan_id, min(destination_id) as destination_id, min(phase) as phase, min(operation) as operation, bool_or(status = 'ambiguous') as ambiguous, min(expires_at) as expires_at
     from batch where id = any($1::bigint[])`,
    [ids],
  )
  await expandEntries(tx, ids)
  const rows = await tx.query<{ batch_id: string; ord: number; bytes: Buffer; users: number }>(
    `select e.batch_id, e.ord, substring(b.body from e.byte_offset + 1 for e.byte_length) as bytes, e.users
     from batch b join entry e on e.batch_id = b.id where b.id = any($1::bigint[]) order by array_position($1::bigint[], b.id), e.ord`,
    [ids],
  )
  if (first === undefined || rows.length === 0) return
  const merged = pack(rows, destination.frame(first.operation))
  await tx.query('select from plan where id = $1 for update', [first.plan_id])
  const [row] = await tx.query<{ id: string }>(
    `insert into batch (plan_id, destination_id, seq, phase, operation, status, body, body_sha256, entry_count, user_count, parent_id, expires_at, attempts, wrong_alike, reason)
     select $1, $2, (select max(seq) + 1 from batch where plan_id = $1), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 returning id`,
    [
      first.plan_id,
      first.destination_id,
      first.phase,
      first.operation,
      first.ambiguous ? 'ambiguous' : 'pending',
      merged.body,
      merged.sha256,
      rows.length,
      rows.reduce((sum, entry) => sum + entry.users, 0),
      part.parentId,
      first.expires_at,
      part.attempts,
      part.wrongAlike,
      part.reason,
    ],
  )
  await tx.execute(
    `update entry e set batch_id = $1, ord = x.place, byte_offset = x.byte_offset
     from unnest($2::bigint[], $3::int[], $4::int[], $5::int[]) as x (batch_id, ord, place, byte_offset) where e.batch_id = x.batch_id and e.ord = x.ord`,
    [row?.id, rows.map((entry) => entry.batch_id), rows.map((entry) => entry.ord), rows.map((_, place) => place), [...merged.offsets]],
  )
  await tx.execute(
    `update batch set status = 'split', reason = 'set_aside', settled_at = statement_timestamp() where id = any($1::bigint[])`,
    [ids],
  )
}

/** Returns the places of the entries that are still in the batch. */
export async function remainingOrds(tx: Queryable, batchId: number): Promise<number[]> {
  const rows = await tx.query<{ ord: number }>(`select e.ord from ${entriesOf('$1::bigint')} e order by e.ord`, [batchId])
  return rows.map((row) => row.ord)
}

async function readSlices(tx: Queryable, batch: ClaimedBatch): Promise<Map<number, Slice>> {
  const rows = await tx.query<{ ord: number; byte_offset: number; byte_length: number; users: number; expires_at: Date | null }>(
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
