/** Measures a scheduler with many pipelines: a tick and a reload of the files while almost no pipeline is due. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '../src/db/database.ts'
import { ensureDestination } from '../src/db/destinations.ts'
import { declareSchedules, type DeclaredSchedule } from '../src/db/schedules.ts'
import { decideDueTicks } from '../src/jobs/decideTicks.ts'
import { silentLogger } from '../src/log.ts'
import { loadPipelines } from '../src/pipeline/load.ts'
import { median, seconds, type Bench } from './figure.ts'

const service = 'http://127.0.0.1:1'
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo']

export const bench: Bench = async ({ database, folder, report, small }) => {
  const pipelines = small ? 300 : 3_000
  const directory = join(folder, 'pipelines')
  await mkdir(directory)
  for (let n = 0; n < pipelines; n++) await writeFile(join(directory, `shop-${n}.yaml`), definition(n))
  const timeOf = async (work: () => Promise<unknown>) => {
    const started = performance.now()
    await work()
    return performance.now() - started
  }
  report({ figure: `${pipelines} pipeline files read`, measured: seconds((await timeOf(() => loadPipelines(directory))) / 1000) })
  const { errors } = await loadPipelines(directory)
  if (errors[0] !== undefined) throw errors[0]
  const again = median([await timeOf(() => loadPipelines(directory)), await timeOf(() => loadPipelines(directory))])
  report({ figure: 'read again, none changed', measured: seconds(again / 1000) })

  const db = openDatabase(await database(), { maxConnections: 4 })
  try {
    const loaded = await loadPipelines(directory)
    const schedules: DeclaredSchedule[] = []
    for (const { name, schedule } of loaded.pipelines) {
      const { id } = await ensureDestination(db, { service, kind: 'catalog', accountId: '', targetId: name })
      if (schedule !== undefined) schedules.push({ destinationId: id, pipeline: name, ...schedule })
    }
    const declaration = { credentials: 'bench', folder: directory, schedules, brokenNames: [] }
    await declareSchedules(db, declaration)
    const deps = {
      db,
      queues: { wakeForRun: async () => true },
      log: silentLogger,
      declaration,
      versionOf: () => 'version',
      reasonOf: () => '',
    }
    report({ figure: 'first tick of the scheduler', measured: seconds((await timeOf(() => decideDueTicks(deps))) / 1000) })
    const ticks: number[] = []
    const cpu = process.cpuUsage()
    for (let n = 0; n < 100; n++) ticks.push(await timeOf(() => decideDueTicks(deps)))
    const used = process.cpuUsage(cpu)
    const p95 = ticks.toSorted((a, b) => a - b)[Math.floor(ticks.length * 0.95)] ?? Number.NaN
    report({
      figure: 'a tick that reads all schedules, p95',
      measured: `${p95.toFixed(1)} ms, ${((used.user + used.system) / 1000 / ticks.length).toFixed(1)} ms CPU`,
      target: '50 ms',
      met: p95 <= 50,
    })
  } finally {
    await db.close()
  }
}

/** Returns a pipeline whose cron expression no other pipeline has. */
function definition(n: number): string {
  return `source: { url: ./shop-${n}.csv }
map: { id: id, title: title, description: description, link: link, image_link: image_link, price: price, availability: availability }
destination: { kind: catalog, catalog_id: "${100_000 + n}" }
schedule: "${n % 60} ${Math.floor(n / 60) % 24} * * *"
timezone: ${zones[n % zones.length]}
`
}
