/** Calls the engine from a bench: its dependencies, a pipeline in a folder, and a run that only reads and compares. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../src/clock.ts'
import { silentLogger } from '../src/log.ts'
import { loadPipeline } from '../src/pipeline/load.ts'
import { createTransport } from '../src/service/client/index.ts'
import { mayHaveImpliedKeys } from '../src/db/impliedKeySearch.ts'
import type { Pipeline } from '../src/model/pipeline.ts'
import { customersWithPhone } from './data.ts'
import type { BenchContext } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'
import { ChangedKeys } from '../src/db/changedKeys.ts'
import { connectionOf, openDatabase, type Transaction } from '../src/db/database.ts'
import { ensureDestination } from '../src/db/destinations.ts'
import { claimRun } from '../src/db/runs/claim.ts'
import { requestRun } from '../src/db/runs/request.ts'
import { registerWorker } from '../src/db/workers.ts'
import { destinationKey } from '../src/sync/destinationKey.ts'
import { desiredIdentifiers } from '../src/sync/plan/desiredIdentifiers.ts'
import { desiredProducts } from '../src/sync/plan/desiredProducts.ts'
import { diffStage } from '../src/sync/plan/diff.ts'
import { serviceIdentity } from '../src/sync/serviceIdentity.ts'
import { engineSettings, type EngineDeps } from '../src/sync/engine.ts'
import { planPipeline, runPipeline } from '../src/sync/run/run.ts'
import { readSnapshot } from '../src/sync/read/snapshot.ts'

export interface Setting {
  readonly databaseUrl: string
  /** Folder that contains `pipelines/NAME.yaml`. */
  readonly folder: string
  readonly pipeline: string
  /** Default: an address without a server, for work that sends nothing. */
  readonly serviceUrl?: string
  readonly full?: boolean
}

/** Credentials of every sandbox. Not imported, because loading the sandbox would count as memory of the engine. */
export const credentials = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  accessToken: '1001-sandbox-access-token',
  accessTokenSecret: 'sandbox-access-token-secret',
}

/** Returns the environment variables of a command that runs in a separate process. */
export function environmentOf(options: { readonly home: string; readonly databaseUrl: string; readonly serviceUrl: string }) {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: options.home,
    DATABASE_URL: options.databaseUrl,
    SLUICE_BASE_URL: options.serviceUrl,
    SLUICE_CONSUMER_KEY: credentials.consumerKey,
    SLUICE_CONSUMER_SECRET: credentials.consumerSecret,
    SLUICE_ACCESS_TOKEN: credentials.accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: credentials.accessTokenSecret,
  }
}

export function writePipeline(folder: string, name: string, yaml: string): void {
  mkdirSync(join(folder, 'pipelines'), { recursive: true })
  writeFileSync(join(folder, 'pipelines', `${name}.yaml`), yaml)
}

/** Returns the YAML of a pipeline that reads a file of `writeCustomers` with `rows` rows. */
export function audienceYaml(csv: string, rows: number, audience = '1nmth'): string {
  const identifiers = rows <= customersWithPhone ? 'email: email, phone_number: phone' : 'email: [email, second_email]'
  return `source: { url: "${csv}" }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${audience} }\nmap: { key: customer_id, ${identifiers} }\n`
}

export async function withEngine<Result>(setting: Setting, work: (deps: EngineDeps) => Promise<Result>): Promise<Result> {
  const url = setting.serviceUrl ?? 'http://127.0.0.1:9'
  const db = openDatabase(setting.databaseUrl)
  const transport = createTransport({ baseUrl: url, adsBaseUrl: url, adsVersion: '12', ...credentials })
  try {
    return await work({
      db,
      transport,
      clock: systemClock,
      log: silentLogger,
      workerId: await registerWorker(db, { role: 'bench' }),
      service: serviceIdentity({ adsBaseUrl: url, adsVersion: '12', ...credentials }),
      settings: engineSettings(url),
      env: {},
    })
  } finally {
    await transport.close()
    await db.close()
  }
}

/** Pipeline `customers` of few people, with its engine. */
export interface FewPeople {
  readonly deps: EngineDeps
  readonly pipeline: Pipeline
  /** Changes the email of the first person. */
  readonly change: () => void
  readonly run: () => Promise<void>
}

/** Calls `work` with a pipeline of `people` rows, and a sandbox in a separate process. */
export async function withFewPeople(
  { folder, database }: Pick<BenchContext, 'folder' | 'database'>,
  people: number,
  work: (setting: FewPeople) => Promise<void>,
): Promise<void> {
  const csv = join(folder, 'customers.csv')
  writePipeline(folder, 'customers', audienceYaml(csv, people))
  const sandbox = await startSandboxProcess()
  try {
    await withEngine({ databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }, async (deps) => {
      const pipeline = await loadPipeline(join(folder, 'pipelines'), 'customers')
      let changes = 0
      const change = () => {
        const phone = (n: number) => `+1-212-555-01${(n % 90) + 10}`
        const rows = Array.from({ length: people }, (_, n) => `c${n},c${n}-${n === 0 ? ++changes : 0}@example.com,${phone(n)}\n`)
        writeFileSync(csv, `customer_id,email,phone\n${rows.join('')}`)
      }
      const run = async () => {
        const { error } = await runPipeline(deps, pipeline, { trigger: 'manual' })
        if (error !== undefined) throw new Error(`${error.code}: ${error.message}`)
      }
      await work({ deps, pipeline, change, run })
    })
  } finally {
    await sandbox.close()
  }
}

/**
 * Reads and compares, then discards the snapshot and ends the run. With `apply` it also writes the desired state, in a transaction
 * that is rolled back. `applySeconds` is the time of the comparison and of these writes.
 */
export async function readAndDiff(setting: Setting & { readonly apply?: boolean }): Promise<object> {
  const pipeline = await loadPipeline(join(setting.folder, 'pipelines'), setting.pipeline)
  return withEngine(setting, async (deps) => {
    const { id: destinationId } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
    const runId = await requestRun(deps.db, {
      pipeline: pipeline.name,
      destinationId,
      trigger: 'plan',
      options: setting.full ? { full: true } : {},
    })
    const run = await claimRun(deps.db, runId ?? 0, { workerId: deps.workerId, leaseMs: deps.settings.leaseMs, fence: deps.service })
    if (typeof run === 'string') throw new Error(`the run is ${run}`)
    const client = await deps.db.connect()
    const connection = connectionOf(client)
    try {
      const started = performance.now()
      const snapshot = await readSnapshot(deps, connection, pipeline, run)
      const readAt = performance.now()
      await client.query('begin')
      const tx = connection as Transaction
      // The transaction of a plan has the same setting.
      await client.query(`set local work_mem = '64MB'`)
      const diff = snapshot.reading === 'unchanged' ? undefined : await diffStage(tx, destinationId, snapshot.reading)
      const endedAt = performance.now()
      if (setting.apply) {
        const desired = pipeline.destination.kind === 'catalog' ? desiredProducts : desiredIdentifiers
        await desired({
          tx,
          destinationId,
          snapshotId: snapshot.snapshotId,
          mayImplyKeys: await mayHaveImpliedKeys(tx, destinationId),
          changed: new ChangedKeys(tx, destinationId, false),
          newContent: undefined,
        }).applyUpserts()
      }
      const appliedAt = performance.now()
      await client.query('rollback')
      return {
        seconds: (endedAt - started) / 1000,
        readSeconds: (readAt - started) / 1000,
        applySeconds: (appliedAt - readAt) / 1000,
        reading: snapshot.reading,
        rows: snapshot.rows,
        diff,
      }
    } finally {
      client.release(true)
      await deps.db.execute(
        `update sluice.snapshot set status = 'discarded', closed_at = clock_timestamp() where run_id = $1 and status = 'open'`,
        [run.id],
      )
      await deps.db.execute(`update sluice.run set status = 'succeeded', finished_at = clock_timestamp() where id = $1`, [run.id])
    }
  })
}

/** Makes and stores a plan, and sends nothing. */
export async function plan(setting: Setting): Promise<object> {
  const pipeline = await loadPipeline(join(setting.folder, 'pipelines'), setting.pipeline)
  return withEngine(setting, async (deps) => {
    const started = performance.now()
    const report = await planPipeline(deps, pipeline, setting.full ? { full: true } : {})
    return { seconds: (performance.now() - started) / 1000, planId: report.planId, requests: report.requests, counts: report.counts }
  })
}
