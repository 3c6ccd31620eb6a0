/** Computes the plots on the page of a pipeline. */
import type { Pipeline } from '../model/pipeline.ts'
import { minComparedRows } from '../model/report.ts'
import { maxExaminedRequests, type RunFigures } from '../sync/reports/runFigures.ts'
import { count, duration, plural } from './html.ts'
import type { Plot } from './plots.ts'
import { destinationOf } from '../destinations/index.ts'

/** Number of days for which the plots show the memberships that end. */
export const endingDays = 60

/** Stages of most runs, with their colours. The plot adds up the others: sets, images, audit. */
const commonStages = [
  ['settle', 'idle-solid'],
  ['read', 'info-solid'],
  ['plan', 'warn-solid'],
  ['push', 'ok-solid'],
] as const

/**
 * Returns the plots of a pipeline: changes, rows, stages, requests, latency, and memberships that end. Empty without runs. `runs`: oldest
 * first. `endings`: for each of the next `endingDays` days, the number of users whose membership ends.
 */
export function pipelinePlots(
  pipeline: Pipeline,
  runs: readonly RunFigures[],
  endings: readonly { readonly day: string; readonly users: number }[],
): readonly Plot[] {
  if (runs.length === 0) return []
  const ofRuns = { labelHeading: 'Run', labels: runs.map(({ runId }) => runId) }
  const sum = (pick: (run: RunFigures) => number) => runs.reduce((total, run) => total + pick(run), 0)
  const column = (pick: (run: RunFigures) => number | null) => runs.map(pick)
  const last = runs.at(-1)
  const stageSeconds = (isCounted: (stage: string) => boolean) =>
    column(({ stages }) => stages.filter(({ stage }) => isCounted(stage)).reduce((ms, { durationMs }) => ms + durationMs, 0) / 1000)
  const refused = sum(({ counts }) => counts.refused ?? 0)
  const limited = sum(({ rateLimited }) => rateLimited)
  const daysWithEndings = endings.filter(({ users }) => users > 0)
  const type = destinationOf(pipeline.destination.kind)
  return [
    {
      id: 'plot-changes',
      title: 'Changes by outcome',
      summary: `${count(sum(({ counts }) => counts.confirmed ?? 0))} confirmed in ${plural(runs.length, 'run')}${refused > 0 ? `, ${count(refused)} refused` : ', none refused'}.`,
      kind: 'stack',
      ...ofRuns,
      series: [
        { name: 'confirmed', color: 'ok-solid', values: column(({ counts }) => counts.confirmed ?? 0) },
        { name: 'refused', color: 'fail-solid', values: column(({ counts }) => counts.refused ?? 0) },
        {
          name: 'unresolved or not sent',
          color: 'warn-solid',
          values: column(({ counts }) => (counts.ambiguous ?? 0) + (counts.pending ?? 0)),
        },
        { name: 'withheld', color: 'idle-solid', values: column(({ counts }) => counts.withheld ?? 0) },
      ],
    },
    {
      id: 'plot-rows',
      title: 'Source rows',
      summary: `The last run read ${plural(last?.counts.read ?? 0, 'row')}, ${count(last?.counts.valid ?? 0)} of them valid.${type.guardsDeletes ? ' With fewer valid rows than the dashed line, deletes are withheld.' : ''}`,
      kind: 'line',
      ...ofRuns,
      series: [
        { name: 'read', color: 'info-solid', values: column(({ counts }) => counts.read ?? 0) },
        { name: 'valid', color: 'accent', values: column(({ counts }) => counts.valid ?? 0) },
        ...(type.guardsDeletes
          ? [{ name: 'deletes are withheld below', color: 'warn-solid', dash: true, values: minValidRows(pipeline, runs) }]
          : []),
      ],
    },
    {
      id: 'plot-stages',
      title: 'Duration by stage',
      unit: 'seconds',
      summary: `The stages of the last run took ${duration((last?.stages ?? []).reduce((ms, { durationMs }) => ms + durationMs, 0))}.`,
      kind: 'stack',
      ...ofRuns,
      series: [
        ...commonStages.map(([name, color]) => ({ name, color, values: stageSeconds((stage) => stage === name) })),
        { name: 'others', color: 'accent', values: stageSeconds((stage) => commonStages.every(([name]) => name !== stage)) },
      ],
    },
    {
      id: 'plot-requests',
      title: 'Requests',
      summary: `${plural(
        sum(({ requests }) => requests),
        'request',
      )}; ${runs.some(({ requests }) => requests > maxExaminedRequests) ? `of up to ${count(maxExaminedRequests)} in each run, ` : ''}${limited === 0 ? 'none was over the rate limit' : `${count(limited)} ${limited === 1 ? 'was' : 'were'} over the rate limit (429)`}.`,
      kind: 'stack',
      ...ofRuns,
      series: [
        { name: 'other requests', color: 'accent', values: column(({ requests, rateLimited }) => requests - rateLimited) },
        { name: 'over the rate limit', color: 'warn-solid', values: column(({ rateLimited }) => rateLimited) },
      ],
    },
    {
      id: 'plot-latency',
      title: 'Answer time',
      unit: 'ms',
      summary:
        last?.p50 == null
          ? 'The last run sent nothing.'
          : `In the last run half of the requests were answered within ${Math.round(last.p50)} ms, 95 % within ${Math.round(last.p95 ?? last.p50)} ms.`,
      kind: 'line',
      ...ofRuns,
      series: [
        { name: 'half', color: 'accent', values: column(({ p50 }) => p50) },
        { name: '95 %', color: 'warn-solid', dash: true, values: column(({ p95 }) => p95) },
      ],
    },
    ...(type.membership(pipeline.destination) === undefined
      ? []
      : [
          {
            id: 'plot-endings',
            title: 'Memberships that end',
            unit: `next ${endingDays} days`,
            summary:
              daysWithEndings.length === 0
                ? `None ends within ${endingDays} days.`
                : `${count(daysWithEndings.reduce((total, { users }) => total + users, 0))} end within ${endingDays} days unless they are renewed; the first on ${daysWithEndings[0]?.day ?? ''}.`,
            kind: 'stack' as const,
            labelHeading: 'Day',
            labels: endings.map(({ day }) => day.slice(5)),
            series: [{ name: 'end', color: 'warn-solid', values: endings.map(({ users }) => users) }],
          },
        ]),
  ]
}

/**
 * Estimates for each run the number of valid rows below which a guard withholds deletes (sync/plan/reasonsToWithhold.ts). The guard itself
 * also counts suppressed records. It compares with the last complete snapshot without a fired guard in its plan.
 */
function minValidRows({ guards }: Pipeline, runs: readonly RunFigures[]): readonly number[] {
  let previousValid = 0
  return runs.map(({ status, counts }) => {
    const minValid = Math.max(guards.minRows, previousValid >= minComparedRows ? Math.ceil(previousValid / 2) : 0)
    if ((counts.read ?? 0) > 0 && status !== 'withheld') previousValid = counts.valid ?? 0
    return minValid
  })
}
