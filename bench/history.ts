/** Measures runs, pages, metrics and retention with 100,000 stored runs (`--rows N`: another number), which were made one per day. */
import { dropRuns } from '../src/db/runRetention.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { loadOverviews } from '../src/sync/reports/overview.ts'
import { planPipeline } from '../src/sync/run/run.ts'
import { copyLastRun } from '../test/support/longHistory.ts'
import { withFewPeople } from './engine.ts'
import { seconds, type Bench } from './figure.ts'

const people = 20

export const bench: Bench = async ({ folder, database, report, small, givenRows }) => {
  const stored = givenRows ?? (small ? 10_000 : 100_000)
  await withFewPeople({ folder, database }, people, async ({ deps, pipeline, change, run }) => {
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
}
