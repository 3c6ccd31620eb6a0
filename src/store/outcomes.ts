/** What the judged entries of a batch prove of their keys, written inside the reconciling transaction (I1). */
import type { EntryOutcome } from '../destinations/destination.ts'
import type { ClaimedBatch } from './batches.ts'
import type { Queryable } from './database.ts'
import { openRound } from './rounds.ts'
import { withdrawnBy } from './withdrawn.ts'

/**
 * What became of an entry `e` of the batch `b`. Where all users of an update were confirmed, the batch's state says so and nothing
 * is written of each.
 */
export const entryOutcome = `case when b.status = 'settled' and e.outcome = 'pending' then 'confirmed' else e.outcome end`

interface Settling {
  readonly tx: Queryable
  readonly batch: ClaimedBatch
}

export async function writeOutcomes(tx: Queryable, batch: ClaimedBatch, outcomes: readonly EntryOutcome[]): Promise<void> {
  await tx.execute(
    `update sluice.entry e set outcome = x.outcome, code = x.code, message = x.message
     from unnest($2::int[], $3::text[], $4::text[], $5::text[]) as x (ord, outcome, code, message) where e.batch_id = $1 and e.ord = x.ord`,
    [
      batch.id,
      outcomes.map((_, ord) => ord),
      outcomes.map((entry) => entry.outcome),
      outcomes.map((entry) =>
        entry.outcome === 'refused' ? entry.code : entry.outcome === 'ambiguous' ? entry.reason : entry.warnings ? 'WARNING' : null,
      ),
      outcomes.map((entry) =>
        entry.outcome === 'refused'
          ? entry.message
          : entry.outcome === 'confirmed'
            ? (entry.warnings?.join('; ').slice(0, 300) ?? null)
            : null,
      ),
    ],
  )
  const keyed = outcomes.flatMap((entry, ord) =>
    entry.outcome === 'confirmed' && entry.remoteKey !== undefined ? [{ ord, key: entry.remoteKey }] : [],
  )
  if (keyed.length === 0) return
  const values = [batch.id, keyed.map(({ ord }) => ord), keyed.map(({ key }) => key)]
  const of = `sluice.entry e, unnest($2::int[], $3::text[]) as x (ord, remote_key)
     where e.batch_id = $1 and e.ord = x.ord and m.destination_id = e.destination_id and m.key = e.keys[1] and m.remote_key is distinct from x.remote_key`
  // Q13: a product's key should never change; that it did is worth a line.
  await tx.execute(
    `insert into sluice.audit (actor, what, plan_id, batch_id, detail)
     select 'reconcile', 'product_key.changed', $4, $1, jsonb_build_object('ord', x.ord) from sluice.remote m, ${of} and m.remote_key is not null`,
    [...values, batch.planId],
  )
  await tx.execute(`update sluice.remote m set remote_key = x.remote_key from ${of}`, values)
}

/** The round is left alone unless something newer is wanted by now: nothing that an index holds changes (HOT). */
const confirmedUpsert = `synced_hash = e.hash, expires_at = e.expires_at, synced_at = clock_timestamp(), batch_id = $1, refused_code = null,
  refused_message = null, round = case when m.held > 0 and m.desired_hash is not distinct from e.hash then m.round else ${openRound} end`

/** Every entry of the batch is confirmed: what an earlier answer left said of some of them is overtaken. */
export async function confirmAlike({ tx, batch }: Settling): Promise<void> {
  await tx.execute(
    `update sluice.entry set outcome = 'confirmed', code = null, message = null where batch_id = $1 and outcome <> 'pending'`,
    [batch.id],
  )
}

/** What the confirmed entries of the batch prove of their keys; `alike`: all of them are (`confirmAlike`). */
export async function confirmKeys({ tx, batch }: Settling, alike: boolean): Promise<void> {
  if (alike && batch.userCount === batch.entryCount && (await confirmGroups(tx, batch))) return
  const confirmed = `sluice.entry e cross join lateral unnest(e.keys) as k (key)
    where e.batch_id = $1 ${alike ? '' : `and e.outcome = 'confirmed'`} and m.destination_id = $2 and m.key = k.key`
  if (batch.operation === 'upsert') {
    await tx.execute(`update sluice.remote m set ${confirmedUpsert} from ${confirmed}`, [batch.id, batch.destinationId])
    return
  }
  await tx.execute(
    `update sluice.remote m set synced_hash = null, expires_at = null, remote_key = null, synced_at = clock_timestamp(), batch_id = $1, refused_code = null, refused_message = null,
       round = case when m.held > 0 then ${openRound} else m.round end
     from ${confirmed}`,
    [batch.id, batch.destinationId],
  )
  // Its record was kept for the delete alone.
  await tx.execute(
    `delete from sluice.record r using sluice.remote m, ${confirmed} and m.held <= 0 and r.destination_id = $2 and r.key = m.key and r.status = 'missing'`,
    [batch.id, batch.destinationId],
  )
  // A key that late bytes may still bring back stays known until then.
  await tx.execute(
    `delete from sluice.remote m using ${confirmed} and m.held <= 0 and (m.late_until is null or m.late_until <= clock_timestamp())`,
    [batch.id, batch.destinationId],
  )
}

/**
 * The same for users sent one an operation: found by their group, which is the order of sending, so that neighbours in the batch
 * are neighbours in the index and on the pages. False when some key was not found so, because another record took it
 * over meanwhile; then each is to be looked up by itself. Safe to repeat.
 */
async function confirmGroups(tx: Queryable, batch: ClaimedBatch): Promise<boolean> {
  const [row] = await tx.query<{ keys: number }>(`select sum(cardinality(keys))::int as keys from sluice.entry where batch_id = $1`, [
    batch.id,
  ])
  const hit = await tx.execute(
    `update sluice.remote m set ${confirmedUpsert}
     from sluice.entry e where e.batch_id = $1 and m.destination_id = $2 and m.group_key = e.record_key and m.key = any(e.keys)`,
    [batch.id, batch.destinationId],
  )
  return hit === row?.keys
}

/**
 * What was refused. A refusal says nothing of an earlier sending whose answer was lost: the service may hold what that one brought,
 * so that the key counts as held with a content nobody knows, until an answer confirms one or takes it away (I2, I16).
 * `mayStand`: of audiences, whose members can be deleted unseen. Not of do-not-reach lists, where a refused listing in the end counts
 * as none (`store/listed.ts`), nor of products: a delete needs a key that only an accepted put tells, so that a product which the
 * service refuses for good would never come to rest.
 */
export async function refuseKeys(
  { tx, batch }: Settling,
  { runId, mayStand }: { readonly runId: number; readonly mayStand: boolean },
): Promise<void> {
  const unsure = mayStand && batch.maybeApplied && batch.operation === 'upsert'
  await tx.execute(
    `update sluice.remote m set refused_code = e.code, refused_message = e.message
       ${unsure ? `, synced_hash = ${withdrawnBy(`'unsure'`, runId)}, round = ${openRound}` : ''}
     from sluice.entry e cross join lateral unnest(e.keys) as k (key)
     where e.batch_id = $1 and e.outcome = 'refused' and m.destination_id = $2 and m.key = k.key`,
    [batch.id, batch.destinationId],
  )
}

/** Last in its transaction, because all who reconcile for a destination wait for this row. */
export async function bumpState(tx: Queryable, batch: ClaimedBatch): Promise<void> {
  await tx.execute(`update sluice.destination set state_version = state_version + 1 where id = $1`, [batch.destinationId])
}
