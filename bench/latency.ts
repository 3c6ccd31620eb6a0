/**
 * Measures the push to a slow service. Concurrency must follow latency; otherwise the allowance of 1,500 requests per minute stays unused.
 * The sandbox and each pushing process are separate processes.
 *
 * By default: one shortened run. With `--large`: each latency with one process and with three, in two cases:
 * - a burst of 1,000,000 users (`--rows`), in requests of full size
 * - three minutes of the allowance, in requests of fewer users
 */
import { join } from 'node:path'
import { inChild, type Measured } from './child.ts'
import { write } from './data.ts'
import { plan, withEngine, writePipeline, type Setting } from './engine.ts'
import { seconds, type Bench, type BenchContext } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'
import { batchLimits } from '../src/service/contract/limits.ts'
import { pushPlan } from '../src/sync/push/push.ts'

const minutes = 3
/** Users per request during the three minutes. With 2,500, the 4,500 requests would need 11,250,000 users. */
const usersInSmallRequest = 50
/** Requests per second that the service allows. */
const allowed = 1_500 / 60
const windowMs = 60_000

interface Case {
  readonly latencyMs: number
  readonly processes: number
  readonly usersPerRequest: number
}

export const bench: Bench = async (context) => {
  const { small, large, givenRows } = context
  const whole = batchLimits.userOperations.entries
  if (!large) {
    const [latencyMs, requests] = small ? ([300, 60] as const) : ([1_000, 400] as const)
    return measureAll(context, givenRows ?? requests * whole, [{ latencyMs, processes: 1, usersPerRequest: whole }])
  }
  const cases = (usersPerRequest: number) =>
    [300, 1_000, 2_000].flatMap((latencyMs) => [1, 3].map((processes) => ({ latencyMs, processes, usersPerRequest })))
  await measureAll(context, givenRows ?? 1_000_000, cases(whole))
  await measureAll(context, minutes * 60 * allowed * usersInSmallRequest, cases(usersInSmallRequest))
}

async function measureAll(context: BenchContext, users: number, cases: readonly Case[]): Promise<void> {
  const csv = join(context.folder, 'customers.csv')
  await write(csv, 'customer_id,email\n', users, (at) => `${at},person${at}@example.com\n`, '')
  writePipeline(
    context.folder,
    'customers',
    `source: { url: "${csv}" }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nmap: { key: customer_id, email: email }\n`,
  )
  for (const one of cases) await measure(context, one)
}

async function measure({ folder, database, report }: BenchContext, { latencyMs, processes, usersPerRequest }: Case): Promise<void> {
  const sandbox = await startSandboxProcess()
  try {
    const setting = { databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }
    const { planId, requests: planned } = await inChild('./latency.ts', 'planRequests', { ...setting, usersPerRequest })
    await sandbox.control('POST', 'faults', { match: { path: '/users' }, fault: { kind: 'delay', ms: latencyMs }, times: 'always' })
    const started = performance.now()
    const helpers = Array.from({ length: processes - 1 }, () => inChild('./latency.ts', 'help', { ...setting, planId }))
    const [pushed, ...others] = await Promise.all([inChild('./push.ts', 'push', { ...setting, planId }), ...helpers])
    const took = Math.max(pushed.seconds, processes === 1 ? 0 : (performance.now() - started) / 1000)
    const requests = Number(pushed['requests'])
    const cpuSeconds = [pushed, ...others].reduce((sum, child) => sum + cpuSecondsOf(child), 0)
    const perSecond = requests / took
    const at = `${requests} requests (${requests - Number(planned)} repeated) at ${latencyMs} ms latency by ${processes === 1 ? 'one process' : `${processes} processes`}`
    report({
      figure: at,
      measured: `${seconds(took)}, ${perSecond.toFixed(1)} requests/s, ${Math.max(pushed.megabytes, ...others.map(({ megabytes }) => megabytes))} MB`,
      ratio: `${Math.round((perSecond / allowed) * 100)} % of 1,500 a minute, one at a time ${Math.round((1000 / latencyMs / allowed) * 100)} %`,
      target: '95 %',
      met: perSecond / allowed >= 0.95,
    })
    // A smaller request needs less work than one of 2,500 users.
    const isWhole = usersPerRequest === batchLimits.userOperations.entries
    const cores = (cpuSeconds / requests) * allowed
    report({
      figure: 'processor time of the pushing processes, at 25 requests/s',
      measured: `${cores.toFixed(2)} cores, ${((cpuSeconds / requests) * 1000).toFixed(1)} ms per request of ${usersPerRequest} users`,
      ...(isWhole ? { target: '0.35 cores', met: cores <= 0.35 } : {}),
    })
    const most = mostInWindow(await sandbox.control('GET', 'ledger'))
    report({ figure: 'requests in the fullest minute', measured: String(most), target: 'at most 1,500', met: most <= 1_500 })
  } finally {
    await sandbox.close()
  }
}

/** Makes a plan whose requests have at most `usersPerRequest` users. */
export async function planRequests({ usersPerRequest, ...setting }: Setting & { readonly usersPerRequest: number }): Promise<object> {
  Object.assign(batchLimits.userOperations, { entries: usersPerRequest })
  return plan(setting)
}

/** Pushes batches of a plan that another process applies. */
export async function help(setting: Setting & { readonly planId: string }): Promise<object> {
  return withEngine(setting, async (deps) => {
    const started = performance.now()
    const before = process.cpuUsage()
    await pushPlan(deps, setting.planId)
    const { user, system } = process.cpuUsage(before)
    return { seconds: (performance.now() - started) / 1000, cpuSeconds: (user + system) / 1e6 }
  })
}

function cpuSecondsOf(child: Measured): number {
  return Number(child['cpuSeconds'])
}

/** Returns the largest number of requests in any window, by the time at which the service received their first byte. */
function mostInWindow(ledger: unknown): number {
  const lines = (Array.isArray(ledger) ? ledger : (ledger as { readonly requests: unknown[] }).requests) as {
    readonly path: string
    readonly time: string
  }[]
  const times = lines.filter(({ path }) => path.endsWith('/users')).map(({ time }) => Date.parse(time))
  times.sort((a, b) => a - b)
  let most = 0
  for (let from = 0, to = 0; to < times.length; to++) {
    while ((times[to] ?? 0) - (times[from] ?? 0) >= windowMs) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}
