/** Measures the push of a whole customer export to a sandbox in a separate process: the plan, then all requests. */
import { join } from 'node:path'
import { inChild } from './child.ts'
import { writeCustomers } from './data.ts'
import { audienceYaml, withEngine, writePipeline, type Setting } from './engine.ts'
import { seconds, type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'
import { loadPipeline } from '../src/pipeline/load.ts'
import { applyPlan } from '../src/sync/run/applyPlan.ts'
import { runPipeline } from '../src/sync/run/run.ts'

export const bench: Bench = async ({ rows, small, folder, database, report }) => {
  const csv = join(folder, 'customers.csv')
  await writeCustomers(csv, { rows })
  writePipeline(folder, 'customers', audienceYaml(csv, rows))
  const sandbox = await startSandboxProcess()
  try {
    const setting = { databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }
    const planned = await inChild('./engine.ts', 'plan', setting)
    report({ figure: `reading and planning ${rows} users`, measured: `${seconds(planned.seconds)}, ${planned.megabytes} MB` })
    const pushed = await inChild('./push.ts', 'push', { ...setting, planId: planned['planId'] })
    const perSecond = Number(pushed['requests']) / pushed.seconds
    report({
      figure: `pushing ${rows} users, ${String(pushed['requests'])} requests`,
      measured: `${seconds(pushed.seconds)}, ${pushed.megabytes} MB, ${perSecond.toFixed(1)} requests/s`,
      ratio: `${(perSecond / 25).toFixed(1)} x the allowance`,
      target: '60 s for 1,000,000',
      ...(small ? {} : { met: pushed.seconds <= 60 && pushed['confirmed'] === rows }),
    })
    const audience = (await sandbox.control('GET', 'audiences/1nmth')) as { readonly members: number }
    report({
      figure: 'members in the sandbox afterwards',
      measured: String(audience.members),
      target: String(rows),
      met: audience.members === rows,
    })
    await writeCustomers(csv, { rows, changeEvery: 100 })
    const changed = await inChild('./push.ts', 'run', setting)
    report({
      figure: `a whole run with 1 % changed: ${String(changed['stages'])}`,
      measured: `${seconds(changed.seconds)}, ${changed.megabytes} MB, ${String(changed['requests'])} requests`,
    })
  } finally {
    await sandbox.close()
  }
}

/** Applies a stored plan. */
export async function push(setting: Setting & { readonly planId: string }): Promise<object> {
  return withEngine(setting, async (deps) => {
    const started = performance.now()
    const before = process.cpuUsage()
    const { counts } = await applyPlan(deps, setting.planId)
    const { user, system } = process.cpuUsage(before)
    return {
      seconds: (performance.now() - started) / 1000,
      cpuSeconds: (user + system) / 1e6,
      confirmed: counts.confirmed,
      requests: counts.requests,
    }
  })
}

/** Runs the pipeline once: reads, plans and sends the changes. */
export async function run(setting: Setting): Promise<object> {
  const pipeline = await loadPipeline(join(setting.folder, 'pipelines'), setting.pipeline)
  return withEngine(setting, async (deps) => {
    const started = performance.now()
    const { counts } = await runPipeline(deps, pipeline, { trigger: 'manual' })
    const took = (performance.now() - started) / 1000
    const [last] = await deps.db.query<{ stages: { readonly stage: string; readonly durationMs: number }[] }>(
      'select stages from sluice.run order by id desc limit 1',
    )
    const stages = last?.stages.map(({ stage, durationMs }) => `${stage} ${seconds(durationMs / 1000)}`).join(', ')
    return { seconds: took, requests: counts.requests, stages }
  })
}
