/** Renders one page of the runs of a pipeline, newest first. */
import { isOpenRun } from '../sync/reports/nextCommands.ts'
import type { StoredCounts } from '../db/runs/columns.ts'
import type { RunLine } from '../sync/reports/overview.ts'
import { reportWordOf, settledText } from '../sync/reports/runSteps.ts'
import { ago, command, count, duration, html, none, type Html } from './html.ts'
import { runState, stateBadge } from './states.ts'

export interface RunTableData {
  readonly name: string
  readonly runs: readonly RunLine[]
  /** True if there are runs before these. */
  readonly hasOlder: boolean
  /** Number of the run before which the list begins; undefined for the newest runs. */
  readonly before: number | undefined
  readonly now: number
}

/** Renders the table, with links to older and to the newest runs. Without runs, explains what a run does. */
export function runTable({ name, runs, hasOlder, before, now }: RunTableData): Html {
  if (runs.length === 0)
    return html`<div class="card empty">
      <h3>${before === undefined ? 'No runs yet' : 'No older runs'}</h3>
      <p class="muted">
        A run reads the source, compares it with what was confirmed, and sends the difference. A plan shows what a run would send.
      </p>
      ${command(`npx sluice plan ${name}`)}${command(`npx sluice run ${name}`)}
    </div>`
  const oldest = runs.at(-1)
  return html`<div class="card">
    <div class="scroll">
      <table class="cards">
        <caption class="sr">
          Runs of ${name}, newest first
        </caption>
        <thead>
          <tr>
            <th>Run</th>
            <th>State</th>
            <th>Trigger</th>
            <th>Started</th>
            <th class="right">Took</th>
            <th class="right">Read</th>
            <th>Changes</th>
          </tr>
        </thead>
        <tbody data-runs>
          ${runs.map(
            (run) =>
              html`<tr id="${run.runId}" data-live="row-${run.runId}">
                <td><a href="/runs/${run.runId}">${run.runId}</a></td>
                <td data-label="State">${stateBadge(runState(run))}</td>
                <td data-label="Trigger">${run.trigger}</td>
                <td data-label="Started"><span>${ago(run.startedAt ?? run.createdAt, now)}</span></td>
                <td class="right nowrap" data-label="Took">
                  ${run.finishedAt === null ? '' : duration(run.finishedAt.getTime() - (run.startedAt ?? run.createdAt).getTime())}
                </td>
                <td class="right" data-label="Read">${isOpenRun(run) ? '' : count(run.counts.read ?? 0)}</td>
                <td data-label="Changes">
                  ${isOpenRun(run) ? '' : run.status === 'skipped' ? (run.error?.message ?? '') : changesText(run.counts)}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${before === undefined && !hasOlder ? none : html`<nav class="pager" aria-label="Pages of runs">${before === undefined ? html`<span></span>` : html`<a href="/pipelines/${name}#runs">Newest</a>`}${!hasOlder || oldest === undefined ? none : html`<a href="/pipelines/${name}?before=${oldest.runId}#runs">Older</a>`}</nav>`}
  </div>`
}

type ShownCounts = Partial<
  Pick<StoredCounts, 'confirmed' | 'refused' | 'ambiguous' | 'pending' | 'deferred' | 'withheld' | 'rejected' | 'settled'>
>

/** Returns the counts of a run as a text: `12 confirmed · 3 withheld`. */
export function changesText(counts: ShownCounts): string {
  const { confirmed = 0, refused = 0, ambiguous = 0, pending = 0, deferred = 0, withheld = 0, rejected = 0, settled } = counts
  const countTexts = (n: number, what: string) => (n > 0 ? [`${count(n)} ${what}`] : [])
  const operations = [
    ...countTexts(confirmed, 'confirmed'),
    ...countTexts(refused, 'refused'),
    ...countTexts(ambiguous, reportWordOf('ambiguous')),
    ...countTexts(pending, reportWordOf('pending')),
    ...(settled !== undefined && settled.confirmed + settled.refused > 0 ? [settledText(settled)] : []),
  ]
  // `nothing sent`, not `nothing changed`: a failed run or a plan sends nothing, although its source may have changed.
  return [
    ...(operations.length === 0 ? ['nothing sent'] : operations),
    ...countTexts(deferred, reportWordOf('deferred')),
    ...countTexts(withheld, 'withheld'),
    ...countTexts(rejected, 'rejected'),
  ].join(' · ')
}
