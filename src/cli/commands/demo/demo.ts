import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, needService, type Config } from '../../../config/config.ts'
import { RunError } from '../../../errors.ts'
import { ownPath } from '../../../ownPackage.ts'
import { serve } from '../../../jobs/index.ts'
import { startSandbox, type Sandbox } from '../../../sandbox/start.ts'
import { loadRejects, loadRun } from '../../../sync/reports/history.ts'
import type { RunReport } from '../../../model/report.ts'
import { exitCodeOfStatus, worstExitCode } from '../../exitCodes.ts'
import { flag, writeJson, type CommandRun, type Context } from '../../context.ts'
import { makeDayThree, makeDayTwo } from './demoInputs.ts'
import { runPipeline } from '../../../sync/run/run.ts'
import { withEngine, type Engine } from '../../engine.ts'
import { jobDeps } from '../../servers/jobs.ts'
import { pipelinesNamed } from '../../pipelines.ts'
import { funnel } from '../../reports/funnel.ts'
import { plannedChanges } from '../../../sync/reports/runSteps.ts'
import { environmentFor } from '../sandbox/sandboxDefaults.ts'
import { groupRejects, renderGroups } from '../../reports/rejects.ts'
import { createLogger } from '../../terminal/log.ts'
import { count, duration, plural, table } from '../../terminal/text.ts'
import { writeWholeFile } from '../../wholeFile.ts'
import { untilAborted } from '../../servers/untilAborted.ts'
import { startWebServer } from '../../servers/webServer.ts'

/**
 * Folder `pipelines/` of Sluice, with the sample pipelines (`samples/`) and their sources (`data/`). The samples have their own subfolder,
 * because the user's pipelines in `pipelines/` may have the same destinations.
 */
const shippedFolder = ownPath('pipelines')
/** Order of the pipelines. The do-not-reach list is first, because its people must not be sent to the audience. */
const order = ['demo-do-not-reach', 'demo-catalog', 'demo-audience'] as const

/**
 * Runs the samples end to end on this machine: three days of a shop and a CRM, then a run without changes. Works on a copy in a temporary
 * folder, with its own sandbox and embedded database. Uses neither the database nor the service of the environment. With `--keep`, then
 * serves the dashboard until a signal.
 */
export const run: CommandRun = async (outerContext, invocation) => {
  const startedAt = outerContext.clock.monotonic()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-demo-'))
  const originalFolder = process.cwd()
  const keep = flag(invocation, 'keep')
  try {
    // If this process runs as root, the embedded server runs as another user, who needs access to these files.
    chmodSync(folder, 0o755)
    cpSync(join(shippedFolder, 'samples'), join(folder, 'pipelines'), { recursive: true })
    cpSync(join(shippedFolder, 'data'), join(folder, 'pipelines', 'data'), { recursive: true })
    process.chdir(folder)
    await using sandbox = await startSandbox()
    const env = { ...environmentFor(sandbox.url, sandbox.credentials), SLUICE_DATA_DIR: join(folder, 'state') }
    const config = loadConfig({ ...env, SLUICE_LOG_LEVEL: outerContext.env['SLUICE_LOG_LEVEL'] }, { dotenv: join(folder, '.env') })
    const context: Context = {
      ...outerContext,
      pipelines: 'pipelines',
      config: () => config,
      log: (level) => createLogger(outerContext.stderr, config, outerContext.clock.now, level),
    }
    return await withEngine(
      context,
      async (engine) => {
        const days = await showDays(context, engine, sandbox)
        const code = worstExitCode(days.flat().map((report) => exitCodeOfStatus[report.status]))
        if (context.json) writeJson(context, days.flat())
        print(context, `\nDone in ${duration(context.clock.monotonic() - startedAt)}.\n`)
        if (keep) {
          // With this file, commands in the folder use the running sandbox and database.
          writeWholeFile('.env', formatDotenv(env), { private: true })
          await serveUntilSignal(context, engine, config, { sandboxUrl: sandbox.url, folder })
        }
        return code
      },
      keep ? { role: 'serve' } : {},
    )
  } finally {
    process.chdir(originalFolder)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Serves dashboard, scheduler and worker until a signal. The dashboard is on port 8080, or on a free port if 8080 cannot be used. */
async function serveUntilSignal(
  context: Context,
  engine: Engine,
  config: Config,
  at: { readonly sandboxUrl: string; readonly folder: string },
): Promise<void> {
  let running: Awaited<ReturnType<typeof serve>> | undefined
  const listen = (port: number) =>
    startWebServer(context, engine.deps, {
      config,
      service: needService(config),
      host: '127.0.0.1',
      port,
      schedulerIdleS: () => running?.schedulerIdleS(),
    })
  const server = await listen(8080).catch(() => listen(0))
  try {
    running = await serve(jobDeps(context, engine.deps))
    print(context, stillRunning(context, { ...at, dashboardUrl: server.url }))
    await untilAborted(context.signal)
    await running.stop()
  } finally {
    await server.close()
  }
}

/** Returns a text with the addresses of the running demo, and commands to try on it. */
function stillRunning(
  context: Context,
  { sandboxUrl: url, folder, dashboardUrl }: { readonly sandboxUrl: string; readonly folder: string; readonly dashboardUrl: string },
): string {
  const launcher = ownPath('bin', 'sluice.js')
  return (
    titleText(context, 'Still running, in this terminal, until Ctrl-C') +
    table([
      ['  the dashboard', `${dashboardUrl}   open it in a browser`],
      ['  the sandbox', `${url}   its requests: ${url}/_sandbox/ledger`],
      ['  the database', `${folder}/state   its address: sluice db url`],
      ['  the pipelines', `${folder}/pipelines`],
    ]) +
    titleText(context, 'To try commands, in a second terminal') +
    `  cd "${folder}"; alias sluice='node "${launcher}"'\n` +
    '  sluice runs\n  sluice check\n  sluice run demo-catalog\n' +
    '\nCtrl-C stops dashboard, sandbox and database and removes the folder.\n'
  )
}

function formatDotenv(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** Runs the pipelines on each day, with changed inputs between them. Returns the reports by day. */
async function showDays(context: Context, engine: Engine, sandbox: Sandbox): Promise<RunReport[][]> {
  const dataFolder = join('pipelines', 'data')
  print(context, titleText(context, 'Day one: everything is new'))
  const one = await showDay(context, engine, sandbox, { reasons: true })
  makeDayTwo(dataFolder)
  print(context, titleText(context, 'Day two: a new export of the feed, some customers changed, removed and new'))
  const two = await showDay(context, engine, sandbox, { reasons: true })
  makeDayThree(dataFolder)
  print(context, titleText(context, 'Day three: a few prices, one customer removed'))
  const three = await showDay(context, engine, sandbox, { reasons: false })
  print(context, titleText(context, 'Once more: nothing is new'))
  const again = await showDay(context, engine, sandbox, { reasons: false })
  const days = { 'day one': one, 'day two': two, 'day three': three, 'once more': again }
  const sum = (reports: readonly RunReport[], of: (counts: RunReport['counts']) => number) =>
    reports.reduce((total, { counts }) => total + of(counts), 0)
  print(context, titleText(context, 'Each day only the difference was sent'))
  print(
    context,
    table(
      Object.entries(days).map(([name, reports]) => [
        `  ${name}`,
        `${count(sum(reports, ({ read }) => read))} rows read`,
        plural(sum(reports, plannedChanges), 'change'),
        plural(
          sum(reports, ({ requests }) => requests),
          'request',
        ),
      ]),
      new Set([1, 2, 3]),
    ),
  )
  print(context, await sandboxContents(sandbox))
  return Object.values(days)
}

/** Runs the pipelines once and prints each result; with `reasons`, also why rows were rejected. Returns the reports. */
async function showDay(context: Context, engine: Engine, sandbox: Sandbox, show: { readonly reasons: boolean }): Promise<RunReport[]> {
  const reports: RunReport[] = []
  const pipelines = await pipelinesNamed(context, order)
  for (const name of order) {
    const pipeline = pipelines.find((candidate) => candidate.name === name)
    if (!pipeline)
      throw new RunError('DEMO_INCOMPLETE', `the sample ${name} is missing`, { where: shippedFolder, hint: 'install Sluice again' })
    context.signal.throwIfAborted()
    const lastSeq = (await sandbox.ledger()).at(-1)?.seq ?? 0
    const report = await engine.withProgress(name, (deps) => runPipeline(deps, pipeline, { trigger: 'manual' }))
    reports.push(report)
    const { stages } = await loadRun(engine.deps.db, report.runId)
    // The next command is removed, because it is useful only for the user's own files.
    print(context, `\n${funnel({ ...report, warnings: [] }, context.stdout, stages).replace(/^Next .*\n/m, '')}`)
    if (show.reasons && report.counts.rejected > 0) print(context, await rejectReasons(context, engine, report.runId))
    print(context, await sentSince(sandbox, lastSeq))
  }
  return reports
}

async function rejectReasons(context: Context, engine: Engine, runId: string): Promise<string> {
  const groups = groupRejects(await Array.fromAsync(loadRejects(engine.deps.db, runId)))
  const shown = renderGroups(groups.slice(0, 4), context.stdout)
  return `  why rows were rejected:\n${shown.replace(/^(?=.)/gm, '    ')}${groups.length > 4 ? `    … and ${plural(groups.length - 4, 'other reason')}\n` : ''}`
}

/** Returns a text with the requests that the sandbox logged after number `after`, by method and path. The run's own counts are not used. */
async function sentSince(sandbox: Sandbox, after: number): Promise<string> {
  const lines = await sandbox.ledger(after)
  if (lines.length === 0) return '  sent: nothing\n'
  const byPath = new Map<string, { requests: number; items: number }>()
  for (const { method, path, items } of lines) {
    const key = `${method} ${path}`
    const sum = byPath.get(key) ?? { requests: 0, items: 0 }
    byPath.set(key, { requests: sum.requests + 1, items: sum.items + (items ?? 0) })
  }
  return `  sent:\n${[...byPath].map(([key, { requests, items }]) => `    ${key}   ${plural(requests, 'request')}, ${plural(items, 'item')}\n`).join('')}`
}

/** Returns a text with the contents of the sandbox, and the number of API rules that requests broke. */
async function sandboxContents(sandbox: Sandbox): Promise<string> {
  const { products } = await sandbox.catalog('4001')
  const [audience, list] = [await sandbox.audience('1nmth'), await sandbox.audience('2dnr')]
  const broken = await sandbox.violations()
  return `The sandbox now has ${plural(products, 'product')}, ${plural(audience.members, 'audience member')}, ${plural(list.members, 'person', 'people')} not to be reached. API rule violations: ${broken.length}.\n`
}

function titleText(context: Context, text: string): string {
  return `\n${context.stdout.style.bold(text)}\n`
}

function print(context: Context, text: string): void {
  if (!context.json) context.stdout.write(text)
}
