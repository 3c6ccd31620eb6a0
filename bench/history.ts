/** Measures runs, pages, metrics and retention with 100,000 stored runs (`--rows N`: another number), which were made one per day. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dropRuns } from '../src/db/runRetention.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { loadPipeline } from '../src/pipeline/load.ts'
import { loadOverviews } from '../src/sync/reports/overview.ts'
import { planPipeline, runPipeline } from '../src/sync/run/run.ts'
import { copyLastRun } from '../test/support/longHistory.ts'
import { audienceYaml, withEngine, writePipeline } from './engine.ts'
import { seconds, type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'

const people = 20

export const bench: Bench = async ({ folder, database, report, small, givenRows }) => {
  const stored = givenRows ?? (small ? 10_000 : 100_000)
  const csv = join(folder, 'customers.csv')
  writePipeline(folder, 'customers', audienceYaml(csv, people))
  const sandbox = await startSandboxProcess()
  const setting = { databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }
  try {
    await withEngine(setting, async (deps) => {
      const pipeline = await loadPipeline(join(folder, 'pipelines'), 'customers')
      let changes = 0
      const change = () => {
        const rows = Array.from({ length: people }, (_, n) => `c${n},c${n}-${n === 0 ? ++changes : 0}@example.com,+1-212-555-01${n + 10}\n`)
        writeFileSync(csv, `customer_id,email,phone\n${rows.join('')}`)
      }
      const run = async () => {
        const { error } = await runPipeline(deps, pipeline, { trigger: 'manual' })
        if (error !== undefined) throw new Error(`${error.code}: ${error.message}`)
      }
      const measure = async (figure: string, work: () => Promise<unknown>) => {
        const started = performance.now()
        await work()
        report({ figure, measured: seconds((performance.now() - started) / 1000) })
      }
      const changedRun = () => (change(), run())
      for (let n = 0; n < 3; n++) await changedRun()
      await measure('run with one changed person, 3 stored runs', changedRun)
      await copyLastRun(deps.db, stored)
      const withRuns = `${stored.toLocaleString('en')} stored runs`
      await measure(`the same, ${withRuns}`, changedRun)
      await measure('run without changes', run)
      change()
      await measure('plan of one changed person', () => planPipeline(deps, pipeline, {}))
      await measure('overview of the pipeline', () => loadOverviews(deps.db, [{ name: 'customers', environment: undefined }], 20))
      const metrics = createMetrics({ db: deps.db, version: 'bench' })
      await measure('first metrics of a process', metrics.text)
      await measure('next metrics', metrics.text)
      await measure('retention deletes a tenth of the runs', () => dropRuns(deps.db, 0.9 * stored))
    })
  } finally {
    await sandbox.close()
  }
}
