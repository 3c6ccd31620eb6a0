/**
 * Writes the tables of erasures (docs/erasure.md). An erasure suppresses digests in every audience of its service, under any credentials.
 * So the digests stay suppressed if an audience moves to another user.
 */
import { rowIdentifiers } from './identifiers.ts'
import { logEvent } from './auditLog.ts'
import type { Database, Transaction } from './database.ts'
import { hasRows, type Queryable } from './queryable.ts'
import type { Outer, DbRow, Value } from './row.ts'
import { schemaLock } from './schemaLock.ts'
import { eraseChanged } from './changedKeys.ts'
import { deleteDigests } from './digests.ts'
import { eraseBodies } from './batches/bodies.ts'
import { erasurePhase, openStatuses } from './batches/states.ts'
import { eraseEntries } from './entries/drop.ts'
import { expandEntries } from './entries/expand.ts'
import { batchesOfKeys, batchesOfRecords } from './entries/read.ts'
import { withinFence, type Fence } from './fence.ts'
import { eraseImpliedKeys } from './impliedKeyIndex.ts'
import { eraseInPlans } from './plans.ts'
import { eraseKeys } from './remote/drop.ts'
import { eraseRejects } from './rejects.ts'
import { eraseInRuns } from './runs/update.ts'
import { kindsWhere } from '../destinations/index.ts'
import { plainType, renderValue } from '../destinations/renderUserOperation.ts'

/** Key of the advisory lock between erasures and attempts: exclusive for erasures, shared for attempts. */
const erasureLock = schemaLock(`'erasures'`)

/** Returns SQL of the erased identifiers of a service. `service`: SQL of its address. */
export const erasedIdentifiers = (service: string) => `select x.key from erased_key x where x.service = ${service} and x.destination_id = 0`

/** Returns SQL of the erased record keys of an audience. `service`, `destinationId`: SQL of its service's address and its id. */
export const erasedRecords = (service: string, destinationId: string) =>
  `select x.key from erased_key x where x.service = ${service} and x.destination_id = ${destinationId}`

/** Returns the id of the newest erasure of a service; 0 if there is none. */
export async function latestErasure(db: Queryable, service: string): Promise<number> {
  const [row] = await db.query<{ readonly id: Value<'erasure', 'id'> | null }>('select max(id) as id from erasure where service = $1', [
    service,
  ])
  return Number(row?.id ?? 0)
}

/**
 * Waits for an erasure that is being committed, so that the next statement of the transaction sees the erasure. No further erasure
 * suppresses keys before the end of the transaction.
 */
export async function awaitErasures(tx: Queryable): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock_shared(${erasureLock})`)
}

export interface ErasedKeys {
  /** Packed identifiers (`PackedIdentifier` in `model/record.ts`), for all audiences of the service. */
  readonly identifiers: readonly Buffer[]
  /** Record keys of single audiences. */
  readonly records: readonly { readonly destinationId: number; readonly key: Buffer }[]
}

/** Request to erase a person, with the person's keys. */
export interface ErasureRequest extends ErasedKeys {
  /** Address of the advertising host. */
  readonly service: string
  readonly actor: string
  readonly reason?: string
}

/**
 * Stores an erasure with its keys, and returns its id. Takes a few milliseconds. From then on the keys are suppressed: attempts that begin
 * later do not send them as an update.
 */
export async function storeErasure(db: Database, request: ErasureRequest): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query(`select pg_advisory_xact_lock(${erasureLock})`)
    const [row] = await tx.query<DbRow<'erasure', 'id'>>(
      'insert into erasure (service, actor, reason, identifiers) values ($1, $2, $3, $4) returning id',
      [request.service, request.actor, request.reason ?? null, request.identifiers.length],
    )
    const id = Number(row?.id)
    await addErasedKeys(tx, request.service, id, request)
    await addEarlierDeletes(tx, id, request)
    const detail = { erasure: `e_${id}`, identifiers: request.identifiers.length, reason: request.reason }
    await logEvent(tx, { actor: request.actor, what: 'erasure.requested', detail })
    return id
  })
}

/** Adds keys to an erasure. Keys that are already erased stay with the first erasure. */
export async function addErasedKeys(tx: Queryable, service: string, erasureId: number, keys: ErasedKeys): Promise<void> {
  await tx.execute(
    `insert into erased_key (service, destination_id, key, erasure_id)
     select $1, k.destination_id, k.key, $2 from unnest($3::int[], $4::bytea[]) as k (destination_id, key) on conflict do nothing`,
    [service, erasureId, ...columnsOf(keys)],
  )
}

/**
 * Adds the unconfirmed deletes of earlier erasures of these keys to an erasure. The keys stay with the earlier erasures. Without this, a
 * repeated erasure would have no deletes, and count as complete while the service still has the person.
 * Leaves out erasures whose data is deleted: after a refused delete, a later run has deleted the person by other requests.
 */
export async function addEarlierDeletes(
  tx: Queryable,
  erasureId: number,
  { service, ...keys }: ErasedKeys & Pick<ErasureRequest, 'service'>,
): Promise<void> {
  await tx.execute(
    `insert into erasure_delete (erasure_id, batch_id)
     select $1, d.batch_id from erasure_delete d join batch b on b.id = d.batch_id join erasure e on e.id = d.erasure_id
     where not d.confirmed and not ${isConfirmed} and e.purged_at is null and d.erasure_id in (
       select x.erasure_id from erased_key x join unnest($3::int[], $4::bytea[]) as k (destination_id, key) using (destination_id, key)
       where x.service = $2 and x.erasure_id < $1)
     on conflict do nothing`,
    [erasureId, service, ...columnsOf(keys)],
  )
  await tx.execute(`update erasure set audiences = ${audiencesWithDeletes} where id = $1 and planned_at is not null`, [erasureId])
}

/** SQL: the greater of `erasure.audiences` and the number of audiences with deletes of the erasure $1. */
const audiencesWithDeletes = `greatest(audiences, (
  select count(distinct b.destination_id) from erasure_delete d join batch b on b.id = d.batch_id where d.erasure_id = $1))`

/** Returns the columns `destination_id` and `key` of the rows of erased keys. The destination of an identifier is 0. */
function columnsOf({ identifiers, records }: ErasedKeys): readonly [number[], Buffer[]] {
  return [
    [...identifiers.map(() => 0), ...records.map(({ destinationId }) => destinationId)],
    [...identifiers, ...records.map(({ key }) => key)],
  ]
}

/** Returns the ids of the erasures of a service whose deletes are not planned yet, oldest first. */
export async function unplannedErasures(db: Queryable, service: string): Promise<readonly number[]> {
  const rows = await db.query<DbRow<'erasure', 'id'>>('select id from erasure where service = $1 and planned_at is null order by id', [
    service,
  ])
  return rows.map(({ id }) => Number(id))
}

/** Marks an erasure as planned. `audiences`: number of audiences that had the person, without those of `addEarlierDeletes`. */
export async function finishPlanning(tx: Queryable, erasureId: number, audiences: number): Promise<void> {
  await tx.execute('update erasure set planned_at = statement_timestamp(), audiences = $2 where id = $1', [erasureId, audiences])
  await tx.execute(`update erasure set audiences = ${audiencesWithDeletes} where id = $1`, [erasureId])
}

/** Adds the batch of a planned delete to the receipt of its erasure. */
export async function addErasureDelete(tx: Queryable, erasureId: number, batchId: number): Promise<void> {
  await tx.execute('insert into erasure_delete (erasure_id, batch_id) values ($1, $2)', [erasureId, batchId])
}

/**
 * Removes the unconfirmed deletes of a destination from the receipts of their erasures, because the destination is removed. Returns their
 * number.
 */
export async function dropUnconfirmedDeletes(tx: Queryable, destinationId: number): Promise<number> {
  return tx.execute(
    `delete from erasure_delete d using batch b where b.id = d.batch_id and b.destination_id = $1 and not d.confirmed and not ${isConfirmed}`,
    [destinationId],
  )
}

/** Loads the identifiers and record keys of an erasure. */
export async function loadErasedKeys(db: Queryable, erasureId: number): Promise<ErasedKeys> {
  const rows = await db.query<DbRow<'erased_key', 'destination_id' | 'key'>>(
    'select destination_id, key from erased_key where erasure_id = $1 order by destination_id, key',
    [erasureId],
  )
  return {
    identifiers: rows.flatMap((row) => (row.destination_id === 0 ? [row.key] : [])),
    records: rows.flatMap((row) => (row.destination_id === 0 ? [] : [{ destinationId: row.destination_id, key: row.key }])),
  }
}

/** Erasure with its keys, for an export. Each record key has the ids of its audience at the service. */
export interface StoredErasure {
  readonly service: string
  readonly id: number
  readonly erasedAt: Date
  readonly identifiers: readonly Buffer[]
  readonly records: readonly { readonly kind: string; readonly accountId: string; readonly audienceId: string; readonly key: Buffer }[]
}

/**
 * Returns the erasures that have keys, of all services, oldest first. A repeated erasure has no keys, because they stay with the first
 * erasure.
 */
export async function listErasures(db: Queryable): Promise<readonly StoredErasure[]> {
  const rows = await db.query<
    DbRow<'erasure', 'id' | 'service' | 'erased_at'> &
      DbRow<'erased_key', 'key'> &
      Outer<DbRow<'destination', 'kind' | 'account_id' | 'target_id'>>
  >(
    `select e.id, e.service, e.erased_at, k.key, d.kind, d.account_id, d.target_id
     from erasure e join erased_key k on k.erasure_id = e.id left join destination d on d.id = k.destination_id
     order by e.id, k.destination_id, k.key`,
  )
  return [...Map.groupBy(rows, ({ id }) => id).values()].flatMap((keys) => {
    const [erasure] = keys
    if (erasure === undefined) return []
    return {
      service: erasure.service,
      id: Number(erasure.id),
      erasedAt: erasure.erased_at,
      identifiers: keys.flatMap(({ key, target_id }) => (target_id === null ? [key] : [])),
      records: keys.flatMap(({ key, kind, account_id, target_id }) =>
        kind === null || account_id === null || target_id === null ? [] : [{ kind, accountId: account_id, audienceId: target_id, key }],
      ),
    }
  })
}

/** Returns true if all these keys are already suppressed. */
export async function areErased(db: Queryable, service: string, keys: ErasedKeys): Promise<boolean> {
  return !(await hasRows(
    db,
    `select from unnest($2::int[], $3::bytea[]) as k (destination_id, key)
     where not exists (select from erased_key x where x.service = $1 and x.destination_id = k.destination_id and x.key = k.key)`,
    [service, ...columnsOf(keys)],
  ))
}

/** Returns the identifiers of records of an audience, each once. `records`: record keys. */
export async function identifiersOf(db: Queryable, destinationId: number, records: readonly Buffer[]): Promise<readonly Buffer[]> {
  const rows = await db.query<{ readonly identifier: Value<'remote', 'key'> }>(
    `select distinct unnest(${rowIdentifiers('record')}) as identifier from record where destination_id = $1 and key = any($2::bytea[])`,
    [destinationId, records],
  )
  return rows.map(({ identifier }) => identifier)
}

/** Receipt of an erasure, without identifiers and digests. */
export interface Receipt {
  readonly id: string
  /** Address of the service at which the person is erased. */
  readonly service: string
  readonly erasedAt: string
  readonly actor: string
  readonly reason: string | null
  /** Number of identifiers that were given for the erasure, in all their forms. */
  readonly identifiers: number
  /** Number of audiences that had the person; null until their deletes are planned. */
  readonly audiences: number | null
  /** Number of delete requests. */
  readonly deletes: { readonly planned: number; readonly confirmed: number }
  /** Time at which all data except the suppressed digests was deleted; null if some data is still stored. */
  readonly purgedAt: string | null
}

/** Returns the receipts of all services, newest first; with `erasureId`, only the receipt of this erasure. */
export async function listReceipts(db: Queryable, erasureId?: number): Promise<readonly Receipt[]> {
  const rows = await db.query<
    DbRow<'erasure', 'id' | 'service' | 'erased_at' | 'actor' | 'reason' | 'identifiers' | 'audiences' | 'purged_at'> & {
      planned: number
      confirmed: number
    }
  >(
    `select e.id, e.service, e.erased_at, e.actor, e.reason, e.identifiers, e.audiences, e.purged_at,
       (select count(*)::int from erasure_delete d where d.erasure_id = e.id) as planned,
       (select count(*)::int from erasure_delete d join batch b on b.id = d.batch_id
        where d.erasure_id = e.id and (d.confirmed or ${isConfirmed})) as confirmed
     from erasure e where $1::bigint is null or e.id = $1 order by e.id desc`,
    [erasureId ?? null],
  )
  return rows.map((row) => ({
    id: `e_${row.id}`,
    service: row.service,
    erasedAt: row.erased_at.toISOString(),
    actor: row.actor,
    reason: row.reason,
    identifiers: row.identifiers,
    audiences: row.audiences,
    deletes: { planned: row.planned, confirmed: row.confirmed },
    purgedAt: row.purged_at?.toISOString() ?? null,
  }))
}

/** Returns the ids of the audiences of this environment that have open deletes of an erasure. */
export async function erasureAudiences(db: Queryable, erasureId: number, fence: Fence): Promise<readonly number[]> {
  const rows = await db.query<DbRow<'destination', 'id'>>(
    `select distinct b.destination_id as id from erasure_delete d join batch b on b.id = d.batch_id
     where d.erasure_id = $1 and b.status in ${openStatuses} and ${withinFence('b.destination_id', '$2', '$3')} order by 1`,
    [erasureId, fence.origin, fence.credentials],
  )
  return rows.map(({ id }) => id)
}

/** Returns true if a destination has open deletes of erasures. */
export async function hasOpenErasures(db: Queryable, destinationId: number): Promise<boolean> {
  return hasRows(db, `select from batch where destination_id = $1 and status in ${openStatuses} and phase = ${erasurePhase}`, [
    destinationId,
  ])
}

/** SQL condition: batch `b` is confirmed. Its only entry is a delete. Reads the attempts, because retention deletes the entries. */
const isConfirmed = `(b.status = 'settled' and exists (select from attempt f where f.batch_id = b.id and f.outcome = 'confirmed'))`

/**
 * Deletes the stored data of erased people, except the suppressed keys. Skips an audience with a run in progress, or with an open request
 * that contains the person. The end of a later run calls this function again. Safe to repeat; one short query if there is nothing to
 * delete.
 */
export async function purgeErasures(db: Database, service: string): Promise<void> {
  const erasures = await db.query<DbRow<'erasure', 'id'>>(
    'select id from erasure where service = $1 and planned_at is not null and purged_at is null order by id',
    [service],
  )
  if (erasures.length === 0) return
  const destinations = await db.query<DbRow<'destination', 'id'>>(
    `select id from destination where service = $1 and kind = any($2) order by id`,
    [service, kindsWhere(({ reachesPeople }) => reachesPeople)],
  )
  for (const erasure of erasures) {
    const id = Number(erasure.id)
    const keys = await loadErasedKeys(db, id)
    let isPurged = true
    for (const { id: destinationId } of destinations)
      isPurged = (await db.transaction((tx) => purgeAudience(tx, id, destinationId, keys))) && isPurged
    await db.execute(
      `update erasure_delete d set confirmed = true from batch b where d.erasure_id = $1 and b.id = d.batch_id and not d.confirmed and ${isConfirmed}`,
      [id],
    )
    if (!isPurged) continue
    // An earlier erasure of the same person may have the keys. Then this one is purged only after that one.
    const isOpen = await hasRows(
      db,
      `select from erasure_delete d join batch b on b.id = d.batch_id where d.erasure_id = $1
         and (b.status in ${openStatuses} or exists (select from erasure_delete o join erasure e on e.id = o.erasure_id
           where o.batch_id = d.batch_id and e.id < $1 and e.purged_at is null))`,
      [id],
    )
    if (isOpen) continue
    await db.transaction(async (tx) => {
      if ((await tx.execute('update erasure set purged_at = statement_timestamp() where id = $1 and purged_at is null', [id])) === 1)
        await logEvent(tx, { actor: 'purge', what: 'erasure.purged', detail: { erasure: `e_${id}` } })
    })
  }
}

/**
 * Deletes the data of the keys in one audience. Returns false, and deletes nothing, while a run is in progress or a request with one of the
 * keys is open. Also returns false if `remote` still has an erased identifier, or an undesired identifier that was sent with an erased row.
 */
async function purgeAudience(tx: Transaction, erasureId: number, destinationId: number, keys: ErasedKeys): Promise<boolean> {
  await tx.query('select from destination where id = $1 for update', [destinationId])
  const running = `select from run where destination_id = $1 and status = 'running' and lease_until > statement_timestamp()`
  if (await hasRows(tx, running, [destinationId])) return false
  const records = keys.records.flatMap((record) => (record.destinationId === destinationId ? [record.key] : []))
  const values = [destinationId, keys.identifiers, records]
  const affected = await tx.query<DbRow<'batch', 'id'> & { open: boolean }>(
    `select b.id, b.status in ${openStatuses} as open from batch b where b.destination_id = $1 and b.id in (
       ${batchesOfKeys('$1', '$2::bytea[]')} union all ${batchesOfRecords('$1', '$3::bytea[]')}
       union all select d.batch_id from erasure_delete d where d.erasure_id = ${erasureId})`,
    values,
  )
  if (affected.some((batch) => batch.open)) return false
  const ids = affected.map(({ id }) => id)
  await expandEntries(tx, ids)
  await eraseBodies(tx, destinationId, { batches: ids, texts: keys.identifiers.map(renderValue) })
  await eraseEntries(tx, erasureId, { batches: ids, identifiers: keys.identifiers, records })
  await eraseKeys(tx, destinationId, { identifiers: keys.identifiers, records })
  await eraseChanged(tx, destinationId, { identifiers: keys.identifiers, records })
  await eraseImpliedKeys(tx, destinationId, keys.identifiers)
  if (records.length > 0) {
    // The digests are stored with the record keys. Without digests the next run reads the whole source.
    await deleteDigests(tx, destinationId)
  }
  const hashed = keys.identifiers.filter((key) => key[0] !== plainType)
  await eraseMentions(tx, destinationId, [...hashed.map((key) => key.subarray(1)), ...records])
  await eraseRejects(tx, destinationId, records)
  return !(await hasRows(
    tx,
    `select from remote where destination_id = $1 and (key = any($2::bytea[]) or (group_key = any($3::bytea[]) and ref_count <= 0))`,
    values,
  ))
}

/**
 * Replaces these digests in the guards of plans and runs. Guards show the first digits of a digest as an example, and never a
 * `partner_user_id`.
 */
async function eraseMentions(tx: Queryable, destinationId: number, digests: readonly Buffer[]): Promise<void> {
  for (const digest of digests) {
    // Searches the digits with the ellipsis that guards show. The digits alone may be a part of a number in the JSON.
    const shown = `${digest.toString('hex', 0, 6)}…`
    await eraseInPlans(tx, destinationId, shown)
    await eraseInRuns(tx, destinationId, shown)
  }
}
