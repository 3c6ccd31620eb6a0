import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../config/config.ts'
import { RunError } from '../../errors.ts'
import { startSandbox, type Sandbox } from '../../sandbox/start.ts'
import { loadRejects, loadRun } from '../../sync/index.ts'
import { exitCodeOf, type RunReport } from '../../sync/report.ts'
import { flag, worst, writeJson, type CommandRun, type Context } from '../context.ts'
import { makeDayThree, makeDayTwo } from '../demoInputs.ts'
import { withEngine, type Engine } from '../engine.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { funnel } from '../render/funnel.ts'
import { planned } from '../render/outcome.ts'
import { environmentFor } from '../sandboxDefaults.ts'
import { groupRejects, renderGroups, type ShownReject } from '../render/rejects.ts'
import { count, duration, plural, table } from '../text.ts'
import { writePrivately } from '../tokens.ts'
import { untilAborted } from '../wait.ts'

/** Definitions lie in samples/ below it, so that nobody's own pipelines have to share a destination with them; what they read, in data/. */
const samples = fileURLToPath(new URL('../../../pipelines', import.meta.url))
/** Opt-outs first: whoever is on the list must not be sent to the audience. */
const order = ['demo-do-not-reach', 'demo-catalog', 'demo-audience'] as const

/**
 * The samples end to end on nothing but this machine: three days of a shop and a CRM, and a last run with nothing new.
 * Works on a copy in a folder of its own; what the caller's environment says of databases and services is left alone.
 */
export const run: CommandRun = async (outer, invocation) => {
  const startedAt = outer.clock.monotonic()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-demo-'))
  // The embedded server's user, another one when we are root, has to reach its files.
  chmodSync(folder, 0o755)
  cpSync(join(samples, 'samples'), join(folder, 'pipelines'), { recursive: true })
  cpSync(join(samples, 'data'), join(folder, 'pipelines', 'data'), { recursive: true })
  const home = process.cwd()
  process.chdir(folder)
  const sandbox = await startSandbox()
  const env = { ...environmentFor(sandbox.url, sandbox.credentials), SLUICE_DATA_DIR: join(folder, 'state') }
  const config = loadConfig({ ...env, SLUICE_LOG_LEVEL: outer.env['SLUICE_LOG_LEVEL'] }, { dotenv: join(folder, '.env') })
  const context: Context = { ...outer, pipelines: 'pipelines', config: () => config }
  const keep = flag(invocation, 'keep')
  try {
    return await withEngine(context, async (engine) => {
      const days = await showDays(context, engine, sandbox)
      const code = worst(days.flat().map((report) => exitCodeOf(report.status)))
      if (context.json) writeJson(context, days.flat())
      say(context, `\nDone in ${duration(context.clock.monotonic() - startedAt)}.\n`)
      if (keep) {
        // The folder is then one to work in: its commands reach the sandbox and the database that are up here.
        writePrivately('.env', dotenv(env))
        say(context, stillRunning(context, sandbox.url, folder))
        await untilAborted(context.signal)
      }
      return code
    })
  } finally {
    await sandbox.close()
    process.chdir(home)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Where everything is, and how to look at it while this terminal keeps it up. */
function stillRunning(context: Context, url: string, folder: string): string {
  const launcher = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))
  return (
    title(context, 'Still running, in this terminal, until Ctrl-C') +
    table([
      ['  the sandbox', `${url}   what it saw: ${url}/_sandbox/ledger`],
      ['  the database', `${folder}/state   its address: sluice db url`],
      ['  the pipelines', `${folder}/pipelines`],
    ]) +
    title(context, 'To look around, in a second terminal') +
    `  cd ${folder}; alias sluice="node ${launcher}"\n` +
    '  sluice runs\n  sluice check\n  sluice run demo-catalog\n' +
    '\nCtrl-C ends sandbox and database and removes the folder.\n'
  )
}

function dotenv(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

async function showDays(context: Context, engine: Engine, sandbox: Sandbox): Promise<RunReport[][]> {
  const data = join('pipelines', 'data')
  say(context, title(context, 'Day one: everything is new'))
  const one = await showDay(context, engine, sandbox, { reasons: true })
  makeDayTwo(data)
  say(context, title(context, 'Day two: a new export of the feed, some customers changed, gone and new'))
  const two = await showDay(context, engine, sandbox, { reasons: true })
  makeDayThree(data)
  say(context, title(context, 'Day three: a few prices, one customer gone'))
  const three = await showDay(context, engine, sandbox, { reasons: false })
  say(context, title(context, 'Once more: nothing is new'))
  const again = await showDay(context, engine, sandbox, { reasons: false })
  const days = [one, two, three, again]
  const rows = [
    ['day one', one],
    ['day two', two],
    ['day three', three],
    ['once more', again],
  ] as const
  const sum = (reports: readonly RunReport[], of: (counts: RunReport['counts']) => number) =>
    reports.reduce((total, { counts }) => total + of(counts), 0)
  say(context, title(context, 'Each day only the difference was sent'))
  say(
    context,
    table(
      rows.map(([name, reports]) => [
        `  ${name}`,
        `${count(sum(reports, ({ read }) => read))} rows read`,
        plural(sum(reports, planned), 'change'),
        plural(
          sum(reports, ({ requests }) => requests),
          'request',
        ),
      ]),
      new Set([1, 2, 3]),
    ),
  )
  say(context, await atTheService(sandbox))
  return days
}

async function showDay(context: Context, engine: Engine, sandbox: Sandbox, show: { readonly reasons: boolean }): Promise<RunReport[]> {
  const reports: RunReport[] = []
  const pipelines = await pipelinesNamed(context, order)
  for (const name of order) {
    const pipeline = pipelines.find((candidate) => candidate.name === name)
    if (!pipeline) throw new RunError('DEMO_INCOMPLETE', `the sample ${name} is missing`, { where: samples, mend: 'install Sluice again' })
    context.signal.throwIfAborted()
    const before = await lastRequest(sandbox)
    const report = await engine.show(name, (deps) => engine.sync.runPipeline(deps, pipeline, { trigger: 'manual' }))
    reports.push(report)
    const { stages } = await loadRun(engine.deps.db, report.runId)
    // Where to go next is for people with files of their own.
    say(context, `\n${funnel({ ...report, warnings: [] }, context.stdout, stages).replace(/^Next .*\n/m, '')}`)
    if (show.reasons && report.counts.rejected > 0) say(context, await rejectReasons(context, engine, report.runId))
    say(context, await sentSince(sandbox, before))
  }
  return reports
}

async function rejectReasons(context: Context, engine: Engine, runId: string): Promise<string> {
  const rejects: ShownReject[] = []
  for await (const reject of loadRejects(engine.deps.db, runId)) rejects.push(reject)
  const groups = groupRejects(rejects)
  const shown = renderGroups(groups.slice(0, 4), context.stdout)
  return `  why rows were rejected:\n${shown.replace(/^(?=.)/gm, '    ')}${groups.length > 4 ? `    … and ${plural(groups.length - 4, 'other reason')}\n` : ''}`
}

interface LedgerLine {
  readonly seq: number
  readonly method: string
  readonly path: string
  readonly items: number | null
}

/** What the sandbox saw, in its own words: the run's books are not asked. */
async function sentSince(sandbox: Sandbox, after: number): Promise<string> {
  const lines = await control<LedgerLine[]>(sandbox, `ledger?after=${after}`)
  if (lines.length === 0) return '  sent: nothing\n'
  const byPath = new Map<string, { requests: number; items: number }>()
  for (const { method, path, items } of lines) {
    const key = `${method} ${path}`
    const sum = byPath.get(key) ?? { requests: 0, items: 0 }
    byPath.set(key, { requests: sum.requests + 1, items: sum.items + (items ?? 0) })
  }
  return `  sent:\n${[...byPath].map(([key, { requests, items }]) => `    ${key}   ${plural(requests, 'request')}, ${plural(items, 'item')}\n`).join('')}`
}

async function lastRequest(sandbox: Sandbox): Promise<number> {
  return (await control<LedgerLine[]>(sandbox, 'ledger')).at(-1)?.seq ?? 0
}

async function atTheService(sandbox: Sandbox): Promise<string> {
  const catalog = await control<{ products: number }>(sandbox, 'catalogs/4001')
  const audience = await control<{ members: number }>(sandbox, 'audiences/1nmth')
  const list = await control<{ members: number }>(sandbox, 'audiences/2dnr')
  const broken = await control<unknown[]>(sandbox, 'violations')
  return `The sandbox now holds ${plural(catalog.products, 'product')}, ${plural(audience.members, 'audience member')}, ${plural(list.members, 'person')} not to be reached; rules broken on the way: ${broken.length}.\n`.replace(
    'persons',
    'people',
  )
}

async function control<Body>(sandbox: Sandbox, path: string): Promise<Body> {
  const response = await fetch(`${sandbox.url}/_sandbox/${path}`)
  // Our own sandbox in this very process answers in its documented shapes (interface.md 5).
  return (await response.json()) as Body
}

function title(context: Context, text: string): string {
  return `\n${context.stdout.style.bold(text)}\n`
}

function say(context: Context, text: string): void {
  if (!context.json) context.stdout.write(text)
}
