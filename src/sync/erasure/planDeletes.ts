import { rowIdentifiers } from '../../db/identifiers.ts'
import { addErasedKeys, addErasureDelete, finishPlanning, loadErasedKeys } from '../../db/erasures.ts'
import { ChangedKeys } from '../../db/changedKeys.ts'
import { claimById, type ClaimedBatch } from '../../db/batches/claim.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import type { Transaction } from '../../db/database.ts'
import { batchesOfKeys, batchesOfRecords, entriesOf } from '../../db/entries/read.ts'
import { findImpliedKeys } from '../../db/impliedKeySearch.ts'
import { markUnknownContent } from '../../db/remote/syncedState.ts'
import { replaceGroupContent, contentVersionOf } from '../../db/remote/referenceCounts.ts'
import { storeKeysOf } from '../../db/remote/implied.ts'
import type { Outer, DbRow, Value } from '../../db/row.ts'
import type { Destination } from '../../destinations/destination.ts'
import { destinationOf, kindsWhere } from '../../destinations/index.ts'
import { renderUserOperation } from '../../destinations/renderUserOperation.ts'
import type { EngineDeps } from '../engine.ts'
import { desiredIdentifiers } from '../plan/desiredIdentifiers.ts'
import { fillTable } from '../plan/planTables.ts'
import { insertDeleteBatch, removeEntries } from '../push/removeEntries.ts'
import { uniqueKeys } from './person.ts'

/**
 * Plans an erasure in every audience of its service, in one transaction. Removes the person from the desired state and from batches that
 * are not in flight, and stores batches of deletes. Does nothing if the erasure is planned already.
 */
export async function planDeletes(deps: EngineDeps, erasureId: number): Promise<void> {
  const service = deps.service.origin
  await deps.db.transaction(async (tx) => {
    // Every transaction that locks several destinations locks them in the order of ids. So two transactions never deadlock.
    const audiences = await tx.query<DbRow<'destination', 'id' | 'kind'>>(
      `select id, kind from destination where service = $1 and kind = any($2) order by id for update`,
      [service, kindsWhere(({ reachesPeople }) => reachesPeople)],
    )
    const [erasure] = await tx.query<{ planned: boolean }>(
      'select planned_at is not null as planned from erasure where id = $1 for update',
      [erasureId],
    )
    if (erasure?.planned !== false) return
    let audienceCount = 0
    for (const { id, kind } of audiences) {
      const mayHavePerson = await planAudience(tx, deps, erasureId, { destinationId: id, type: destinationOf(kind) })
      if (mayHavePerson) audienceCount++
    }
    await finishPlanning(tx, erasureId, audienceCount)
  })
}

interface Audience {
  readonly destinationId: number
  readonly type: Destination
}

/** Plans an erasure in one audience. Returns true if the audience has or may have the person. */
async function planAudience(tx: Transaction, deps: EngineDeps, erasureId: number, audience: Audience): Promise<boolean> {
  const { destinationId } = audience
  const erased = await loadErasedKeys(tx, erasureId)
  const erasedRecords = erased.records.filter((record) => record.destinationId === destinationId).map(({ key }) => key)
  await storeImpliedKeysOf(tx, destinationId, erasedRecords, erased.identifiers)
  const keyStates = await tx.query<DbRow<'remote', 'key' | 'group_key' | 'ref_count'>>(
    'select key, group_key, ref_count from remote where destination_id = $1 and key = any($2::bytea[])',
    [destinationId, erased.identifiers],
  )
  // If no identifier has a reference, no record has one of them. Then records are searched only by their keys.
  const isReferenced = keyStates.some(({ ref_count }) => ref_count > 0)
  const records = await recordKeysOf(tx, destinationId, erasedRecords, isReferenced ? erased.identifiers : [])
  const groups = uniqueKeys([
    ...erasedRecords,
    ...records,
    ...keyStates.flatMap(({ group_key }) => (group_key === null ? [] : [group_key])),
  ])
  // The rows of these records stay suppressed, even if they get other identifiers later.
  await addErasedKeys(tx, deps.service.origin, erasureId, {
    identifiers: [],
    records: records.map((key) => ({ destinationId, key })),
  })
  await removeRecords(tx, destinationId, records)
  const openEntries = await removeFromBatches(tx, deps, audience, erased.identifiers, groups)
  await planRemoteDeletes(tx, deps, erasureId, { ...audience, identifiers: erased.identifiers, groups, openEntries })
  return records.length > 0 || keyStates.length > 0 || openEntries.length > 0
}

/**
 * Stores rows in `remote` for the keys of these records, and of the records with one of these identifiers. After a first load they have
 * none (docs/decisions/implied-keys.md).
 */
async function storeImpliedKeysOf(
  tx: Transaction,
  destinationId: number,
  recordKeys: readonly Buffer[],
  identifiers: readonly Buffer[],
): Promise<void> {
  const found = await findImpliedKeys(tx, destinationId, identifiers)
  await storeKeysOf(tx, destinationId, [...recordKeys, ...found.map(({ recordKey }) => recordKey)])
}

/** Returns the keys of the stored records that have one of these record keys or identifiers. */
async function recordKeysOf(
  tx: Transaction,
  destinationId: number,
  recordKeys: readonly Buffer[],
  identifiers: readonly Buffer[],
): Promise<readonly Buffer[]> {
  const byKey = await tx.query<DbRow<'record', 'key'>>('select key from record where destination_id = $1 and key = any($2::bytea[])', [
    destinationId,
    recordKeys,
  ])
  if (identifiers.length === 0) return byKey.map(({ key }) => key)
  const byIdentifier = await tx.query<DbRow<'record', 'key'>>(
    `select key from record where destination_id = $1 and ${rowIdentifiers('record')} && $2::bytea[]`,
    [destinationId, identifiers],
  )
  return uniqueKeys([...byKey, ...byIdentifier].map(({ key }) => key))
}

/** Removes the records from the desired state. */
async function removeRecords(tx: Transaction, destinationId: number, records: readonly Buffer[]): Promise<void> {
  if (records.length === 0) return
  const [row] = await tx.query<DbRow<'destination', 'all_changed'>>('select all_changed from destination where id = $1', [destinationId])
  await fillTable(tx, 'removal', `select key, 'suppressed' from unnest($1::bytea[]) as k (key)`, [records])
  const desired = desiredIdentifiers({
    tx,
    destinationId,
    // `applyRemovals` does not use it.
    snapshotId: 0,
    // `storeImpliedKeysOf` has stored the keys of these records.
    mayImplyKeys: false,
    changed: new ChangedKeys(tx, destinationId, row?.all_changed ?? true),
    newContent: undefined,
  })
  await desired.applyRemovals()
  await tx.execute('drop table removal')
}

/** Entry of an open update that contained the person. */
interface OpenEntry {
  readonly batch: Pick<ClaimedBatch, 'id' | 'planId' | 'destinationId'>
  /** Run that made the plan of the batch. */
  readonly runId: number
  readonly recordKey: Buffer
  readonly keys: readonly Buffer[]
  /** True if this update may have been applied, or may still be applied. */
  readonly maybeApplied: boolean
}

/**
 * Removes the person from open updates that are not in flight. Returns the entries of the person in all open updates, the oldest batch
 * first.
 */
async function removeFromBatches(
  tx: Transaction,
  deps: EngineDeps,
  { destinationId, type }: Audience,
  identifiers: readonly Buffer[],
  groups: readonly Buffer[],
): Promise<readonly OpenEntry[]> {
  const found = await tx.query<
    DbRow<'entry', 'batch_id' | 'ord' | 'record_key' | 'keys' | 'users'> &
      DbRow<'batch', 'plan_id' | 'status' | 'maybe_applied'> &
      DbRow<'plan', 'run_id'>
  >(
    `select e.batch_id, b.plan_id, e.ord, e.record_key, e.keys, e.users, b.status, b.maybe_applied, p.run_id
     from batch b cross join ${entriesOf('b.id')} e join plan p on p.id = b.plan_id
     where b.destination_id = $1 and b.operation = 'upsert' and b.status in ('pending', 'in_flight', 'ambiguous', 'parked')
       and b.id in (${batchesOfKeys('$1', '$2::bytea[]')} union all ${batchesOfRecords('$1', '$3::bytea[]')})
       and (e.keys && $2::bytea[] or e.record_key = any($3::bytea[])) order by e.batch_id, e.ord`,
    [destinationId, identifiers, groups],
  )
  for (const [batchId, entries] of Map.groupBy(found, (entry) => entry.batch_id)) {
    const batch = await claimById(tx, Number(batchId), deps.workerId, deps.settings.leaseMs)
    const isInFlight = batch === undefined
    if (isInFlight) continue
    const sender = { workerId: deps.workerId, runId: Number(entries[0]?.run_id), horizonMs: deps.settings.horizonMs }
    await removeEntries({ tx, destination: type, batch, sender }, entries)
  }
  return found.map((entry) => ({
    batch: { id: Number(entry.batch_id), planId: entry.plan_id, destinationId },
    runId: Number(entry.run_id),
    recordKey: entry.record_key,
    keys: entry.keys,
    maybeApplied: entry.maybe_applied || entry.status === 'in_flight',
  }))
}

interface PersonInAudience extends Audience {
  readonly identifiers: readonly Buffer[]
  /** Keys of the person's records, and of other records under which an identifier of the person is sent. */
  readonly groups: readonly Buffer[]
  readonly openEntries: readonly OpenEntry[]
}

type GroupedKey = DbRow<'remote', 'key' | 'group_key'>

/**
 * Plans two deletes of the identifiers that the service has or may have. An earlier update may still arrive for a time, the horizon
 * (docs/decisions/late-arrival-horizon.md). So the second delete is sent a horizon after the first. The next run sends other identifiers of
 * the same users again.
 */
async function planRemoteDeletes(
  tx: Transaction,
  deps: EngineDeps,
  erasureId: number,
  { destinationId, type, identifiers, groups, openEntries }: PersonInAudience,
): Promise<void> {
  const { horizonMs } = deps.settings
  // Keys that no record has, but the service has or may still get. Each has the update that confirmed it. The newest update is first.
  const synced = await tx.query<GroupedKey & Outer<DbRow<'batch', 'plan_id'>> & { batch_id: Value<'batch', 'id'> | null; late: boolean }>(
    `select m.key, m.group_key, b.id as batch_id, b.plan_id, coalesce(m.late_until > statement_timestamp(), false) as late
     from remote m left join batch b on b.id = m.batch_id and b.operation = 'upsert'
     where m.destination_id = $1 and (m.key = any($2::bytea[]) or m.group_key = any($3::bytea[])) and m.ref_count <= 0
       and (m.synced_hash is not null or m.late_until > statement_timestamp()) order by b.id desc nulls last`,
    [destinationId, identifiers, groups],
  )
  const maybeAppliedEntries = openEntries.filter((entry) => entry.maybeApplied)
  const keyStates = await tx.query<GroupedKey & DbRow<'remote', 'ref_count'>>(
    'select key, group_key, ref_count from remote where destination_id = $1 and key = any($2::bytea[])',
    [destinationId, uniqueKeys(maybeAppliedEntries.flatMap(({ keys }) => keys))],
  )
  // Other records have these keys. They are not deleted, but sent again.
  const shared = keyStates.filter(({ ref_count }) => ref_count > 0).map(({ key }) => key)
  const [oldest] = maybeAppliedEntries
  if (oldest !== undefined) await markUnknownContent(tx, destinationId, shared, oldest.runId)
  const users = usersToDelete(maybeAppliedEntries, [...keyStates, ...synced], shared)
  if (users.length === 0) return
  const update = oldest?.batch ?? (await updateForDeletes(tx, destinationId, synced[0]))
  if (update === undefined) return
  const mayArriveLater = maybeAppliedEntries.length > 0 || synced.some(({ late }) => late)
  const firstWaitMs = mayArriveLater ? horizonMs : 0
  const bytes = renderUserOperation({ op: 'delete', users })
  const entry = { bytes, keys: users.flat().map((key) => Buffer.from(key, 'hex')), users: users.length }
  for (const waitMs of [firstWaitMs, firstWaitMs + horizonMs])
    await addErasureDelete(tx, erasureId, await insertDeleteBatch(tx, type, update, entry, { phase: erasurePhase, waitMs }))
  await replaceGroupContent(
    tx,
    destinationId,
    `select g.key as group_key, ${contentVersionOf('$2', 'g.key')} as content_version from unnest($3::bytea[]) as g (key)`,
    [`e_${erasureId}`, groups],
  )
}

const hex = (key: Buffer) => key.toString('hex')

/**
 * Returns the keys of each user to delete, in hex, without the keys of `shared`. A key belongs to the user of its group. Without a group,
 * it belongs to the user of its record in the update. Without both, it is a user of its own.
 */
function usersToDelete(entries: readonly OpenEntry[], stored: readonly GroupedKey[], shared: readonly Buffer[]): readonly string[][] {
  const userByKey = new Map<string, string>()
  for (const { recordKey, keys } of entries) {
    for (const key of keys) userByKey.set(hex(key), hex(recordKey))
  }
  for (const { key, group_key } of stored) {
    if (group_key !== null) userByKey.set(hex(key), hex(group_key))
    else if (!userByKey.has(hex(key))) userByKey.set(hex(key), hex(key))
  }
  for (const key of shared) userByKey.delete(hex(key))
  const keysByUser = Map.groupBy(userByKey.keys(), (key) => userByKey.get(key))
  return [...keysByUser.values()]
}

/**
 * Returns the update batch whose plan gets the deletes: the one that confirmed `newest`, otherwise the last of the audience. Undefined if
 * the audience has no updates.
 */
async function updateForDeletes(
  tx: Transaction,
  destinationId: number,
  newest: { readonly batch_id: string | null; readonly plan_id: string | null } | undefined,
): Promise<OpenEntry['batch'] | undefined> {
  if (newest?.batch_id != null && newest.plan_id !== null) return { id: Number(newest.batch_id), planId: newest.plan_id, destinationId }
  const [last] = await tx.query<DbRow<'batch', 'id' | 'plan_id'>>(
    `select id, plan_id from batch where destination_id = $1 and operation = 'upsert' order by id desc limit 1`,
    [destinationId],
  )
  return last && { id: Number(last.id), planId: last.plan_id, destinationId }
}
