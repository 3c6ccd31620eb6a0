/** Writes the synced content and the refusals of keys (docs/guarantees.md#confirmed-only). */
import type { Destination } from '../../destinations/destination.ts'
import type { ClaimedBatch } from '../batches/claim.ts'
import { addChangedSql, isOutOfSync } from '../changedKeys.ts'
import { confirmationsOf, entriesOf, keyCountOf, keysOf } from '../entries/read.ts'
import { invalidatedBy, invalidatedKinds, type InvalidatedKind } from '../invalidated.ts'
import type { Queryable } from '../queryable.ts'
import { deleteRemoved } from '../records.ts'

/** Answered batch, in the transaction that records the answer. */
interface Settling {
  readonly tx: Queryable
  readonly batch: ClaimedBatch
  readonly destination: Pick<Destination, 'deletesNeedRecord'>
}

/**
 * Writes confirmed content, and adds to `changed_key` the keys that are still out of sync because newer content is desired. No index
 * contains the changed columns, so that Postgres updates no index (HOT). `columns`: SQL assignments. `selection`: SQL that selects the keys
 * `m`; begins with `from` or `where`, has the batch as `$1` and the destination as `$2`. Returns the number of written keys, and the value
 * of `expected`, SQL of a number.
 *
 * Statements that write the keys of an answer take the destination from the entries, or pass the keys as an array. They do not join keys by
 * `$2`. Without statistics of the newest rows, Postgres expects few keys of the destination, and compares each key with each entry. 2,500
 * entries then take 1.2 s with 5,000 keys, and 9 s with 20,000.
 */
async function writeConfirmed(
  tx: Queryable,
  batch: ClaimedBatch,
  columns: string,
  selection: string,
  expected = 'null::int',
): Promise<{ readonly keys: number; readonly expected: number | null }> {
  const [row] = await tx.query<{ keys: number; expected: number | null }>(
    `with written as (
       update remote m set ${columns}, synced_at = statement_timestamp(), batch_id = $1, refused_code = null, refused_message = null
       ${selection} returning m.key, ${isOutOfSync} as open),
     added as (${addChangedSql('select key from written where open', '$2')})
     select count(*)::int as keys, ${expected} as expected from written`,
    [batch.id, batch.destinationId],
  )
  return row ?? { keys: 0, expected: null }
}

const confirmedUpsert = 'synced_hash = e.hash, expires_at = e.expires_at'

/**
 * Writes the confirmed entries of a batch to their keys. An upsert marks the keys as synced; a delete removes their synced content.
 * `allConfirmed`: true if all entries are confirmed, so that their stored outcome is not read.
 */
export async function confirmKeys({ tx, batch, destination }: Settling, allConfirmed: boolean): Promise<void> {
  if (batch.operation === 'delete') {
    await confirmDeletes({ tx, batch, destination }, allConfirmed)
    return
  }
  if (allConfirmed && batch.userCount === batch.entryCount && (await confirmGroups(tx, batch))) return
  await writeConfirmed(
    tx,
    batch,
    confirmedUpsert,
    `from ${entriesOf('$1::bigint')} e cross join lateral unnest(e.keys) as k (key)
     where ${allConfirmed ? 'true' : `e.outcome = 'confirmed'`} and m.destination_id = e.destination_id and m.key = k.key`,
  )
}

/** Deletes the keys of confirmed deletes, and the records that were kept only for these deletes. */
async function confirmDeletes({ tx, batch, destination }: Settling, allConfirmed: boolean): Promise<void> {
  const keys = `select k.key from ${keysOf('$1::bigint')} k where ${allConfirmed ? 'true' : `k.outcome = 'confirmed'`}`
  const confirmed = (from: string) => `m.destination_id = $2 and m.key = any(array(${from}))`
  const values = [batch.id, batch.destinationId] as const
  if (destination.deletesNeedRecord)
    await deleteRemoved(tx, `select m.key from remote m where ${confirmed(keys)} and m.ref_count <= 0`, values)
  const [row] = await tx.query<{ all_deleted: boolean }>(
    `with k as materialized (${keys}),
     deleted as (
       delete from remote m where ${confirmed('select key from k')}
         and m.ref_count <= 0 and (m.late_until is null or m.late_until <= statement_timestamp())
       returning m.key)
     select (select count(*) from k) = (select count(*) from deleted) as all_deleted`,
    values,
  )
  // Keys that are desired again, or that late requests may restore, keep their row.
  if (row?.all_deleted !== true)
    await writeConfirmed(tx, batch, 'synced_hash = null, expires_at = null, remote_key = null', `where ${confirmed(keys)}`)
}

/**
 * Confirms the keys of a batch whose operations have one user each. Finds the keys by group, which is the order of sending. So neighbours
 * in the batch are also neighbours in the index and on the pages.
 *
 * Returns false if a key was not found, for example because the key now belongs to the group of another record. Then the caller must
 * confirm all keys without their groups. Safe to repeat.
 */
async function confirmGroups(tx: Queryable, batch: ClaimedBatch): Promise<boolean> {
  const { keys, expected } = await writeConfirmed(
    tx,
    batch,
    confirmedUpsert,
    `from ${confirmationsOf('$1::bigint')} e where m.destination_id = e.destination_id and m.group_key = e.record_key and m.key = any(e.keys)`,
    keyCountOf('$1::bigint'),
  )
  return keys === expected
}

/**
 * Writes refusals of keys. If the answer to an earlier attempt of an upsert was lost, the service may have applied that attempt. Then keys
 * are marked as synced with unknown content, until an answer confirms their content or their delete (docs/guarantees.md#nothing-lost,
 * docs/guarantees.md#suppression-wins).
 *
 * With `staysIfApplied` (true for audiences) all refused keys are marked. Otherwise only keys with a product_key are marked. A product
 * without a product_key cannot be deleted, so its delete would be retried forever. A refused entry of a do-not-reach list counts as not
 * suppressed (`db/suppressed.ts`).
 *
 * A refused delete beside an unanswered update (`insertDeleteBatch`) has keys that were never confirmed. They are marked too: a later plan
 * deletes only keys with synced content.
 */
export async function refuseKeys(
  { tx, batch }: Omit<Settling, 'destination'>,
  { runId, staysIfApplied }: { readonly runId: number; readonly staysIfApplied: boolean },
): Promise<void> {
  const refused = `entry e cross join lateral unnest(e.keys) as k (key)
     where e.batch_id = $1 and e.outcome = 'refused' and m.destination_id = e.destination_id and m.key = k.key`
  const refusal = 'refused_code = e.code, refused_message = e.message'
  const isDelete = batch.operation === 'delete'
  if (!batch.maybeApplied || (isDelete && !staysIfApplied)) {
    await tx.execute(`update remote m set ${refusal} from ${refused}`, [batch.id])
    return
  }
  const unknown = invalidatedBy(`'unsure'`, runId)
  const content = isDelete
    ? `coalesce(m.synced_hash, ${unknown})`
    : staysIfApplied
      ? unknown
      : `case when m.remote_key is null then m.synced_hash else ${unknown} end`
  await tx.execute(
    `with refused as (
       update remote m set ${refusal}, synced_hash = ${content} from ${refused} returning m.key, ${isOutOfSync} as open)
     ${addChangedSql('select key from refused where open', '$2')}`,
    [batch.id, batch.destinationId],
  )
}

/**
 * Marks keys without synced content as synced with unknown content. The service may have applied an update that is not sent again. So the
 * keys must be deleted at the service when no row has them any more.
 */
export async function markUnknownContent(tx: Queryable, destinationId: number, keys: readonly Buffer[], runId: number): Promise<void> {
  await tx.execute(
    `with doubted as (
       update remote m set synced_hash = ${invalidatedBy(`'unsure'`, runId)}
       where m.destination_id = $1 and m.key = any($2::bytea[]) and m.synced_hash is null returning m.key)
     ${addChangedSql('select key from doubted')}`,
    [destinationId, keys],
  )
}

/**
 * Invalidates desired products that an audit found changed, not listed or hidden. Leaves out products with other confirmed content than the
 * audit compared. Returns their number by kind. `id`: id of the run. `found`: SQL of `key`, `outcome` and the compared `synced_hash`.
 * `except`: SQL of the `key` of unresolved requests.
 */
export async function invalidateKeys(
  tx: Queryable,
  { id, destinationId }: { readonly id: number; readonly destinationId: number },
  found: string,
  except: string,
): Promise<readonly { readonly kind: InvalidatedKind; readonly n: number }[]> {
  return tx.query(
    `with invalidated as (
       update remote m set synced_hash = ${invalidatedBy('a.outcome', id)}
       from (${found}) a
       where m.destination_id = $1 and m.key = a.key and a.outcome = any($2) and m.ref_count > 0 and m.synced_hash = a.synced_hash
         and not exists (select from (${except}) x where x.key = m.key)
       returning a.outcome, m.key),
     noted as (${addChangedSql('select key from invalidated')})
     select outcome as kind, count(*)::int as n from invalidated group by outcome`,
    [destinationId, invalidatedKinds],
  )
}
