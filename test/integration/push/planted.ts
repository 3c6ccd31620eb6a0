/** Plans as planning stores them, written by the test: destination, run, desired state, frozen batches. */
import { createHash } from 'node:crypto'
import { destinationOf } from '../../../src/destinations/index.ts'
import type { Destination, Operation } from '../../../src/destinations/destination.ts'
import { pack } from '../../../src/destinations/requestBodies.ts'
import { renderUserOperation } from '../../../src/destinations/renderUserOperation.ts'
import { silentLogger } from '../../../src/log.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Transport } from '../../../src/service/client/exchange.ts'
import type { Database } from '../../../src/db/database.ts'
import { writeEntries } from '../../../src/db/entries/write.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { testService } from '../../support/service.ts'
import { engineSettings, type EngineDeps, type EngineSettings } from '../../../src/sync/engine.ts'

export const origin = 'http://127.0.0.1:4010'

export async function engineDeps(db: Database, transport: Transport, settings: Partial<EngineSettings> = {}): Promise<EngineDeps> {
  return {
    db,
    transport,
    clock: systemClock,
    log: silentLogger,
    workerId: await registerWorker(db, { role: 'test' }),
    service: { ...testService, origin },
    settings: { ...engineSettings(origin), backoffMinMs: 1, backoffMaxMs: 4, horizonMs: 20, ...settings },
    env: {},
  }
}

export interface Planted {
  readonly destinationId: number
  readonly runId: number
  readonly planId: string
}

export async function plantDestination(db: Database, kind: Destination['kind'] = 'audience', targetId = '1nmth'): Promise<number> {
  const [row] = await db.query<{ id: number }>(
    `insert into sluice.destination (service, kind, account_id, target_id) values ($1, $2, $3, $4)
     on conflict (service, kind, account_id, target_id) do update set service = excluded.service returning id`,
    [origin, kind, kind === 'catalog' ? '' : '18ce54d4x5t', targetId],
  )
  return row!.id
}

let plans = 0

export async function plantPlan(db: Database, destinationId: number): Promise<Planted> {
  const [run] = await db.query<{ id: string }>(
    `insert into sluice.run (pipeline, destination_id, trigger, status) values ('p', $1, 'manual', 'queued') returning id`,
    [destinationId],
  )
  const planId = `p_${++plans}`
  await db.execute(
    `insert into sluice.plan (id, run_id, pipeline, destination_id, status, state_version, digest, counts, guards) values ($1, $2, 'p', $3, 'applying', 0, '', '{}', '[]')`,
    [planId, run!.id, destinationId],
  )
  return { destinationId, runId: Number(run!.id), planId }
}

export const email = (seed: string | number) => Buffer.concat([Buffer.from([1]), createHash('sha256').update(String(seed)).digest()])
export const hex = (key: Buffer) => key.toString('hex', 1)
export const desiredHash = Buffer.from([7])

export interface PlantedEntry {
  readonly bytes: Buffer
  readonly keys: readonly Buffer[]
  readonly users?: number
}

export const user = (...keys: Buffer[]): PlantedEntry => ({
  bytes: renderUserOperation({ op: 'update', users: [keys], expiresAtMs: Date.UTC(2035, 0, 1) }),
  keys,
})
/** One operation with several users. */
export const several = (...users: Buffer[][]): PlantedEntry => ({
  bytes: renderUserOperation({ op: 'update', users, expiresAtMs: Date.UTC(2035, 0, 1) }),
  keys: users.flat(),
  users: users.length,
})
export const deletedUser = (...keys: Buffer[]): PlantedEntry => ({ bytes: renderUserOperation({ op: 'delete', users: [keys] }), keys })
export const product = (id: string, title = id): PlantedEntry => ({
  bytes: Buffer.from(JSON.stringify({ id, title })),
  keys: [Buffer.from(id)],
})
export const productKey = (id: string, key: string): PlantedEntry => ({ bytes: Buffer.from(JSON.stringify(key)), keys: [Buffer.from(id)] })

/** One batch of these entries; their keys are desired, or for deletes synced and no longer desired. */
export async function plantBatch(
  db: Database,
  planted: Planted,
  entries: readonly PlantedEntry[],
  options: {
    readonly op?: Operation
    readonly phase?: 1 | 2
    readonly kind?: Destination['kind']
    readonly expiresAt?: Date
    readonly hash?: Buffer
  } = {},
): Promise<number> {
  const op = options.op ?? 'upsert'
  const batch = pack(entries, destinationOf(options.kind ?? 'audience').frame(op))
  const [row] = await db.query<{ id: string }>(
    `insert into sluice.batch (plan_id, destination_id, seq, phase, operation, body, body_sha256, entry_count, user_count, expires_at)
     values ($1, $2, (select coalesce(max(seq), 0) + 1 from sluice.batch where plan_id = $1), $3, $4, $5, $6, $7, $8, $9) returning id`,
    [
      planted.planId,
      planted.destinationId,
      options.phase ?? 1,
      op,
      batch.body,
      batch.sha256,
      entries.length,
      entries.reduce((sum, entry) => sum + (entry.users ?? 1), 0),
      options.expiresAt ?? null,
    ],
  )
  const id = Number(row!.id)
  const items = entries.map(({ keys, users = 1 }) => ({
    recordKey: keys[0]!,
    keys: keys.map((key) => key.toString('hex')),
    change: op === 'delete' ? ('delete' as const) : ('create' as const),
    hash: op === 'delete' ? null : (options.hash ?? desiredHash),
    expiresAtMs: null,
    users,
  }))
  await db.transaction((tx) =>
    writeEntries(tx, planted.destinationId, destinationOf(options.kind ?? 'audience'), [{ ...batch, batchId: id, op, items }]),
  )
  await db.execute(
    op === 'delete'
      ? `insert into sluice.remote (destination_id, key, ref_count, synced_hash) select $1, k, 0, $3 from unnest($2::bytea[]) k
         on conflict (destination_id, key) do update set ref_count = 0, desired_hash = null`
      : `insert into sluice.remote (destination_id, key, ref_count, desired_hash) select $1, k, 1, $3 from unnest($2::bytea[]) k
         on conflict (destination_id, key) do update set ref_count = 1, desired_hash = excluded.desired_hash`,
    [planted.destinationId, entries.flatMap((entry) => entry.keys), options.hash ?? desiredHash],
  )
  return id
}

export async function batchStates(db: Database, planId: string): Promise<string[]> {
  const rows = await db.query<{ state: string }>(
    `select status || coalesce(':' || reason, '') as state from sluice.batch where plan_id = $1 order by seq`,
    [planId],
  )
  return rows.map((row) => row.state)
}

/** Keys that are confirmed, as hex without their type byte (users) or as text (products). */
export async function syncedKeys(db: Database, destinationId: number): Promise<string[]> {
  const rows = await db.query<{ key: Buffer }>(
    'select key from sluice.remote where destination_id = $1 and synced_hash is not null order by key',
    [destinationId],
  )
  return rows.map((row) => (row.key.length === 33 ? hex(row.key) : row.key.toString()))
}
