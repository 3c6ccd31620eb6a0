/** An engine that compares the counts of every run at the end of its test. It looks at the page, `show`, JSON, API and metrics. */
import { expect } from 'vitest'
import { funnel } from '../../src/cli/reports/funnel.ts'
import { count } from '../../src/format.ts'
import { entriesOf, entryOutcome } from '../../src/db/entries/read.ts'
import type { RunCounts, RunReport } from '../../src/model/report.ts'
import { styleFor } from '../../src/cli/terminal/style.ts'
import { runSteps } from '../../src/sync/reports/runSteps.ts'
import { listRuns, loadRun, type StoredRun } from '../../src/sync/reports/history.ts'
import { loadRunDetails } from '../../src/sync/reports/runDetails.ts'
import { sluiceHere } from '../integration/cli/support.ts'
import { engineUnderTest as plainEngine, imbalance, type EngineUnderTest } from './engine.ts'
import { startServer, type ServerUnderTest } from './server.ts'

export const engineUnderTest: typeof plainEngine = async (options) => {
  const engine = await plainEngine(options)
  return {
    ...engine,
    async [Symbol.asyncDispose]() {
      try {
        await expectAgreement(engine)
      } finally {
        await engine[Symbol.asyncDispose]()
      }
    },
  }
}

/** Compares all runs of the database. */
export async function expectAgreement(engine: EngineUnderTest): Promise<void> {
  await using server = await startServer(engine)
  const runs = await listRuns(engine.db, { limit: 1_000 })
  const { stdout } = await sluiceHere(['runs', '--json', '--limit', '1000'], { env: engine.env, cwd: engine.folder })
  const printed: readonly RunReport[] = JSON.parse(stdout)
  expect(printed.map(({ runId }) => runId)).toEqual(runs.map(({ runId }) => runId))
  const found: string[] = []
  for (const { runId } of runs) {
    const run = await loadRun(engine.db, runId)
    const say = (surface: string, what: string) => found.push(`${runId} ${run.status} ${surface}: ${what}`)
    // If the process of a run died, the run has not ended yet. Its counts change while its batches are recovered.
    if (isOpen(run)) continue
    for (const problem of differences(printed.find((one) => one.runId === runId)?.counts, run.counts)) say('JSON', problem)
    for (const problem of differences((await server.call('GET', `/api/runs/${runId}`)).json.counts, run.counts)) say('API', problem)
    for (const problem of shownProblems(run)) say('show', problem)
    for (const problem of await pageProblems(server, run)) say('page', problem)
    const { requests } = await loadRunDetails(engine.db, runId)
    if (requests.all !== run.counts.requests) say('page', `requests is ${requests.all}, not ${run.counts.requests}`)
    // Counts of runs that ended before their plan add up too.
    if (run.counts.filtered === undefined) for (const problem of imbalance(run.counts)) say('counts', problem)
  }
  found.push(...(await metricProblems(engine, server)))
  expect(found).toEqual([])
}

function isOpen({ status }: { readonly status: string }): boolean {
  return status === 'queued' || status === 'running'
}

function differences(shown: Partial<RunCounts> | undefined, counts: RunCounts): string[] {
  return Object.entries(counts).flatMap(([name, value]) => {
    const said = shown?.[name as keyof RunCounts]
    return said === value ? [] : [`${name} is ${said}, not ${value}`]
  })
}

/** Compares the funnel that `sluice show` prints with the counts of the run. Returns the differences. */
function shownProblems(run: StoredRun): string[] {
  if (run.drift !== undefined) return []
  const text = funnel(run, {
    write: () => undefined,
    isTTY: false,
    columns: undefined,
    style: styleFor({ isTTY: false } as NodeJS.WriteStream, {}),
  })
  const { counts } = run
  const planned = counts.creates + counts.updates + counts.deletes + counts.renewals
  const expected: Readonly<Record<string, number>> = {
    read: counts.read,
    mapped: counts.valid,
    rejected: counts.rejected,
    unchanged: counts.unchanged,
    planned,
    sent: counts.confirmed + counts.refused + counts.ambiguous,
    confirmed: counts.confirmed,
    failed: counts.refused + counts.ambiguous,
    ...(counts.pending > 0 ? { 'not sent': counts.pending } : {}),
    ...(counts.withheld > 0 ? { withheld: counts.withheld } : {}),
  }
  return Object.entries(expected).flatMap(([name, value]) => {
    const said = new RegExp(`^  ${name} +([\\d,]+)`, 'm').exec(text)?.[1]
    return said === count(value) ? [] : [`${name} is ${said}, not ${count(value)}`]
  })
}

/** Looks for the sums of the funnel on the page of the run, and adds them up. Returns what is missing or wrong. */
async function pageProblems(server: ServerUnderTest, run: StoredRun): Promise<string[]> {
  const page = (await server.call('GET', `/runs/${run.runId}`)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  const { rows, changes, outcomes } = runSteps(run.counts)
  return [rows, changes, outcomes].flatMap((step) => {
    const line = `${count(step.whole)} ${step.name} = ${step.parts.map((part) => `${count(part.value)} ${part.name}`).join(' + ')}`
    const sum = step.parts.reduce((total, part) => total + part.value, 0)
    return [
      ...(page.includes(`${line} `) ? [] : [`has no "${line}"`]),
      ...(sum === step.whole ? [] : [`${step.name}: ${sum} is not ${step.whole}`]),
    ]
  })
}

const rowOutcomes = ['read', 'valid', 'rejected', 'duplicates', 'suppressed', 'unchanged', 'stale'] as const
const results = ['confirmed', 'refused', 'ambiguous', 'pending'] as const
const kinds = { creates: 'create', updates: 'update', deletes: 'delete', renewals: 'renewal' } as const

/** Compares the metrics with the sums of the runs, and operations by kind with the entries of the plans. Returns the differences. */
async function metricProblems(engine: EngineUnderTest, server: ServerUnderTest): Promise<string[]> {
  // If the process of a run died, the metrics count the run once it has ended. If a run ends between the two reads, both are repeated.
  const openRuns = async () => (await listRuns(engine.db, { limit: 1_000 })).filter(isOpen).length
  let [open, metrics] = [-1, '']
  while (open !== (await openRuns())) {
    open = await openRuns()
    metrics = (await server.call('GET', '/metrics')).text
  }
  const runs = (await listRuns(engine.db, { limit: 1_000 })).filter((run) => !isOpen(run))
  const value = (name: string, labels: Readonly<Record<string, string>>) =>
    [...metrics.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'))]
      .filter(([, text = '']) => Object.entries(labels).every(([label, of]) => text.includes(`${label}="${of}"`)))
      .reduce((sum, [, , number]) => sum + Number(number), 0)
  const found: string[] = []
  const compare = (name: string, labels: Readonly<Record<string, string>>, expected: number) => {
    const said = value(name, labels)
    if (said !== expected) found.push(`metrics: ${name} ${JSON.stringify(labels)} is ${said}, not ${expected}`)
  }
  for (const [pipeline, all] of Map.groupBy(runs, (run) => run.pipeline)) {
    for (const [status, of] of Map.groupBy(all, (run) => run.status)) compare('sluice_runs_total', { pipeline, status }, of.length)
    // Plans and audits send nothing.
    const sending = all.filter(({ trigger }) => trigger !== 'plan' && trigger !== 'audit')
    const total = (name: keyof RunCounts) => sending.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)
    for (const outcome of rowOutcomes) compare('sluice_rows_total', { pipeline, outcome }, total(outcome))
    for (const [name, kind] of Object.entries(kinds) as [keyof typeof kinds, string][])
      compare('sluice_operations_total', { pipeline, kind, result: 'planned' }, total(name))
    for (const result of results) compare('sluice_operations_total', { pipeline, result }, total(result))
    const plans = sending.flatMap(({ planId }) => planId ?? [])
    const entries = await engine.db.query<{ kind: string; result: string; count: number }>(
      `select e.change as kind, case when o.outcome = 'superseded' then 'pending'
           when o.outcome = 'pending' and b.status in ('ambiguous', 'in_flight') then 'ambiguous' else o.outcome end as result, sum(e.users)::int as count
       from unnest($1::text[]) as p (id) join batch b on b.plan_id = p.id cross join ${entriesOf('b.id')} e
         cross join lateral (select ${entryOutcome} as outcome) o left join batch q on q.id = b.parent_id
       where q.operation is null or q.operation = b.operation group by 1, 2`,
      [plans],
    )
    for (const { kind, result, count: expected } of entries) compare('sluice_operations_total', { pipeline, kind, result }, expected)
  }
  return found
}
