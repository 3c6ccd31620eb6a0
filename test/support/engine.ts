/** The whole engine against a sandbox, in this process, with pipelines from YAML text in a folder of the test. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/clock.ts'
import { silentLogger, type Logger } from '../../src/log.ts'
import { loadPipeline } from '../../src/pipeline/load.ts'
import { createTransport } from '../../src/service/client/index.ts'
import type { Database } from '../../src/db/database.ts'
import { registerWorker } from '../../src/db/workers.ts'
import { engineSettings, type EngineDeps, type EngineSettings } from '../../src/sync/engine.ts'
import type { AuditReport } from '../../src/sync/audit/report.ts'
import { applyPlan } from '../../src/sync/run/applyPlan.ts'
import { auditPipeline } from '../../src/sync/run/auditPipeline.ts'
import { planPipeline, runPipeline } from '../../src/sync/run/run.ts'
import { rerun } from '../../src/sync/run/rerun.ts'
import type { PlanReport, RunCounts, RunReport } from '../../src/model/report.ts'
import { testDatabase } from './postgres.ts'
import { testService } from './service.ts'
import { withSandbox, type SandboxUnderTest } from './sandbox.ts'

export interface RunOptions {
  readonly full?: boolean
  readonly approveDeletes?: number
}

export interface EngineUnderTest extends AsyncDisposable {
  readonly folder: string
  readonly db: Database
  readonly databaseUrl: string
  readonly sandbox: SandboxUnderTest
  readonly deps: EngineDeps
  /** Environment for a command line in `folder` with the same database and sandbox. */
  readonly env: Readonly<Record<string, string>>
  readonly write: (file: string, content: string | Uint8Array) => void
  /** Writes the file of a pipeline. `{folder}` in the text is replaced by the folder. */
  readonly pipeline: (name: string, yaml: string) => void
  readonly run: (name: string, options?: RunOptions) => Promise<RunReport>
  readonly plan: (name: string, options?: { readonly full?: boolean }) => Promise<PlanReport>
  readonly apply: (planId: string) => Promise<RunReport>
  readonly audit: (name: string, options?: { readonly repair?: boolean }) => Promise<AuditReport>
  readonly backfill: (name: string, file: string) => Promise<RunReport>
  readonly rerun: (runId: string, options?: { readonly failedOnly: boolean }) => Promise<RunReport>
  /** Requests of the sandbox's ledger that change something, from `after` on. */
  readonly writes: (after?: number) => Promise<readonly LedgerLine[]>
  /** Sequence number of the last request so far. */
  readonly mark: () => Promise<number>
}

export interface LedgerLine {
  readonly seq: number
  /** When it arrived, ISO 8601. */
  readonly time: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly bytes: number
  readonly body_sha256: string
  readonly items: number
  readonly applied: boolean
  readonly fault: string | null
}

export const catalogYaml = (file: string, more = ''): string =>
  `source: { url: "{folder}/${file}" }\ndestination: { kind: catalog, catalog_id: "4001"${more} }\n`

/**
 * Creates an engine with a folder, a database and a sandbox. `newDatabase`: for tests that read counters of Postgres, which an emptied
 * database keeps.
 */
export async function engineUnderTest(
  options: { readonly settings?: Partial<EngineSettings>; readonly log?: Logger; readonly newDatabase?: boolean } = {},
): Promise<EngineUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-engine-'))
  mkdirSync(join(folder, 'pipelines'))
  const database = await testDatabase({ mayBeUsed: options.newDatabase !== true })
  const sandbox = await withSandbox()
  const service = { baseUrl: sandbox.url, adsBaseUrl: sandbox.url, adsVersion: '12', ...sandbox.credentials }
  const transport = createTransport(service)
  const deps: EngineDeps = {
    db: database.db,
    transport,
    clock: systemClock,
    log: options.log ?? silentLogger,
    workerId: await registerWorker(database.db, { role: 'test' }),
    service: { ...testService, origin: new URL(sandbox.url).origin },
    settings: { ...engineSettings(sandbox.url, 4), backoffMinMs: 1, backoffMaxMs: 8, horizonMs: 30, ...options.settings },
    env: {},
  }
  const pipelines = join(folder, 'pipelines')
  const load = (name: string) => loadPipeline(pipelines, name)
  const ledger = (after = 0): Promise<LedgerLine[]> => sandbox.control.ledger(after)
  return {
    folder,
    sandbox,
    deps,
    db: database.db,
    databaseUrl: database.url,
    env: {
      DATABASE_URL: database.url,
      SLUICE_BASE_URL: sandbox.url,
      SLUICE_CONSUMER_KEY: sandbox.credentials.consumerKey,
      SLUICE_CONSUMER_SECRET: sandbox.credentials.consumerSecret,
      SLUICE_ACCESS_TOKEN: sandbox.credentials.accessToken,
      SLUICE_ACCESS_TOKEN_SECRET: sandbox.credentials.accessTokenSecret,
    },
    write: (file, content) => writeFileSync(join(folder, file), content),
    pipeline: (name, yaml) => writeFileSync(join(pipelines, `${name}.yaml`), yaml.replaceAll('{folder}', folder)),
    run: async (name, rest = {}) => runPipeline(deps, await load(name), { trigger: 'manual', ...rest }),
    plan: async (name, rest = {}) => planPipeline(deps, await load(name), rest),
    apply: (planId) => applyPlan(deps, planId),
    audit: async (name, rest = {}) => auditPipeline(deps, await load(name), rest),
    backfill: async (name, file) => runPipeline(deps, await load(name), { trigger: 'backfill', source: join(folder, file) }),
    rerun: (runId, rest = { failedOnly: false }) => rerun(deps, runId, { ...rest, pipelines }),
    writes: async (after) => (await ledger(after)).filter((line) => line.method !== 'GET'),
    mark: async () => (await ledger()).at(-1)?.seq ?? 0,
    async [Symbol.asyncDispose]() {
      await transport.close()
      await sandbox.close()
      await database[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns counts that do not add up; empty if all do. */
export function imbalance(counts: RunCounts): string[] {
  const planned = counts.creates + counts.updates + counts.deletes + counts.renewals
  const sums: [string, number, number][] = [
    [
      'read = rejected + duplicates + suppressed + valid',
      counts.read,
      counts.rejected + counts.duplicates + counts.suppressed + counts.valid,
    ],
    ['planned = confirmed + refused + ambiguous + pending', planned, counts.confirmed + counts.refused + counts.ambiguous + counts.pending],
  ]
  return sums.filter(([, left, right]) => left !== right).map(([name, left, right]) => `${name}: ${left} is not ${right}`)
}
