/** Page `/`: first the conditions that need an operator, then every pipeline. */
import type { Condition, ConditionEvent } from '../../alerts/conditions.ts'
import type { Pause } from '../../db/pauses.ts'
import { cachedNextTick } from '../../jobs/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { PipelineOverview } from '../../sync/reports/overview.ts'
import { withheldChanges } from '../../sync/reports/withheldChanges.ts'
import { ago, command, hintOf, html, icon, none, notice, plural, table, type Html, type Tone } from '../html.ts'
import { progressText } from '../progress.ts'
import { runBars } from '../runBars.ts'
import { changesText } from '../runTable.ts'
import { serviceText, type Page } from '../layout.ts'
import { destinationText } from '../../destinations/index.ts'
import { pipelineState, stateBadge, stateWord } from '../states.ts'

export interface NowData {
  readonly pipelines: readonly Pipeline[]
  /** Texts of files that cannot be used. */
  readonly problems: readonly string[]
  /** Texts of valid pipelines that this process cannot run. */
  readonly unserved?: readonly string[]
  readonly overviews: readonly PipelineOverview[]
  readonly conditions: readonly Condition[]
  /** Names of the receivers of alerts. */
  readonly receivers: readonly string[]
  /** By name of the pipeline. */
  readonly pauses: ReadonlyMap<string, Pause>
  /** Address of the service by name of the pipeline, for pipelines of another service than that of the environment. */
  readonly services: ReadonlyMap<string, string>
  readonly now: number
}

export function nowPage(data: NowData): Page {
  const itemCount = countItems(data)
  const isActive = data.overviews.some(({ open }) => open !== undefined)
  return {
    title: itemCount === 0 ? 'Now' : `${plural(itemCount, 'item')} to do`,
    state: `${itemCount === 0 ? 'No action needed' : `Action needed: ${plural(itemCount, 'item')}`}. ${data.overviews.map((overview) => `${overview.pipeline}: ${stateWord(pipelineState(overview, data.pauses.get(overview.pipeline)))}`).join('. ')}`,
    current: 'now',
    pollMs: isActive ? 1000 : 1500,
    body: html`<h1>Now</h1>
      <section aria-labelledby="needs" data-live="needs">${actionNeeded(data)}</section>
      <section aria-labelledby="pipelines">
        <h2 id="pipelines">Pipelines</h2>
        ${data.pipelines.length === 0 ? noPipelines(data.problems) : html`<div class="card scroll" data-live="pipelines" tabindex="-1">${pipelineTable(data)}</div>`}
      </section>`,
  }
}

function countItems({ conditions, problems, unserved = [] }: NowData): number {
  return conditions.length + problems.length + unserved.length
}

/** Renders what needs an operator: files that cannot be used, then the conditions. */
function actionNeeded(data: NowData): Html {
  const { conditions, problems, unserved = [], now, pipelines, receivers } = data
  // The section of the pipelines says what to do.
  if (countItems(data) === 0 && pipelines.length === 0) return html`<h2 id="needs" class="sr">Action needed</h2>`
  if (countItems(data) === 0)
    return html`<h2 id="needs" class="sr">Action needed</h2>
      <div class="card all-clear">
        ${icon('ok')}
        <div>
          <p class="headline">No action needed</p>
          <p class="muted">
            ${pipelines.length === 1 ? 'The pipeline is fine.' : `All ${pipelines.length} pipelines are fine.`}${receivers.length === 0 ? ' To get alerts, name receivers in sluice.yaml.' : ''}
          </p>
        </div>
      </div>`
  return html`<h2 id="needs">Action needed <span class="muted">${countItems(data)}</span></h2>
    <ul class="needs">
      ${problems.map(
        (problem) =>
          html`<li class="card need fail">
            ${icon('fail')}
            <div>
              <h3>A file is not valid</h3>
              <p>${problem}</p>
              <p>${command('sluice check')}</p>
            </div>
          </li>`,
      )}
      ${unserved.map(
        (text) =>
          html`<li class="card need fail">
            ${icon('fail')}
            <div>
              <h3>A pipeline does not run</h3>
              <p>${text}</p>
            </div>
          </li>`,
      )}
      ${conditions.map((condition) => conditionItem(condition, now))}
    </ul>`
}

const titles: Readonly<Record<ConditionEvent, readonly [title: string, tone: Tone]>> = {
  failed: ['run failed', 'fail'],
  credentials: ['the service rejects the credentials', 'fail'],
  withheld: ['needs approval', 'warn'],
  stopped: ['run stopped by a guard', 'warn'],
  partial: ['not everything was confirmed', 'warn'],
  unresolved: ['requests without an answer', 'warn'],
  stale: ['no recent success, or the source does not change', 'warn'],
  lapse: ['memberships at risk', 'warn'],
}

function conditionItem(condition: Condition, now: number): Html {
  const [title, tone] = titles[condition.event]
  const { pipeline, runId, planId } = condition
  return html`<li class="card need ${tone}">
    ${icon(tone)}
    <div>
      <h3>${pipeline}: ${title}</h3>
      <p>${condition.message}</p>
      ${hintOf(condition.hint)}
      <p class="small muted">
        ${condition.code} · ${ago(condition.since, now)}${runId === undefined ? none : html` · <a href="/runs/${runId}">${runId}</a>`}
      </p>
    </div>
    <div class="actions">
      ${
        condition.event === 'withheld' && planId !== undefined
          ? html`<a class="button primary" href="/plans/${planId}"
              >Review ${withheldChanges(condition.counts['withheld'] ?? 0, condition.counts['outOfStock'] ?? 0)}</a
            >`
          : runId === undefined
            ? html`<a class="button" href="/pipelines/${pipeline}">Open ${pipeline}</a>`
            : html`<a class="button" href="/runs/${runId}">Open ${runId}</a>`
      }
    </div>
  </li>`
}

function pipelineTable({ pipelines, overviews, pauses, services, now }: NowData): Html {
  const overviewByName = new Map(overviews.map((overview) => [overview.pipeline, overview]))
  return table({
    caption: 'Pipelines with state, last success, next run and last runs',
    columns: ['Pipeline', 'State', 'Last success', 'Next run', 'Last run', 'Last 30 runs'],
    rows: pipelines.map((pipeline) => {
      const overview = overviewByName.get(pipeline.name)
      if (overview === undefined) return none
      const { open, last, succeededAt, recent } = overview
      const pause = pauses.get(pipeline.name)
      const service = services.get(pipeline.name)
      return html`<tr>
        <td>
          <a class="name" href="/pipelines/${pipeline.name}">${pipeline.name}</a><br /><span class="small muted"
            >${destinationText(pipeline.destination)}${service === undefined ? none : html`, ${serviceText(new URL(service))}`}</span
          >
        </td>
        <td data-label="State">
          <span
            >${stateBadge(pipelineState(overview, pause))}${open?.progress ? html`<span class="small"> ${progressText(open.progress)}</span>` : none}</span
          >
        </td>
        <td data-label="Last success">
          <span>${succeededAt === undefined ? html`<span class="muted">never</span>` : ago(succeededAt, now)}</span>
        </td>
        <td data-label="Next run"><span>${nextRun(pipeline, pause, now)}</span></td>
        <td data-label="Last run">
          <span
            >${last === undefined ? html`<span class="muted">none</span>` : html`<a href="/runs/${last.runId}">${last.runId}</a> <span class="small muted">${changesText(last.counts)}</span>`}</span
          >
        </td>
        <td data-label="Last 30 runs"><span>${runBars(recent)}</span></td>
      </tr>`
    }),
  })
}

/** Renders the time of the next scheduled run, or the reason why there is none. */
export function nextRun(pipeline: Pipeline, pause: Pause | undefined, now: number): Html {
  if (pause !== undefined) return html`<span class="muted">paused</span>`
  if (pipeline.schedule === undefined) return html`<span class="muted">by hand</span>`
  const next = cachedNextTick(pipeline.schedule, new Date(now))
  return next === undefined ? html`<span class="muted">none</span>` : ago(next, now)
}

function noPipelines(problems: readonly string[]): Html {
  if (problems.length > 0) return html`<p class="muted">No pipeline can be used until this is corrected.</p>`
  return html`<div class="card empty">
    <h3>No pipelines yet</h3>
    <p class="muted">
      A pipeline is one file: where the rows are, and which catalog, audience or list they go to. This command inspects a source and writes
      the file.
    </p>
    ${command('npx sluice init --source exports/products.csv --catalog 4001')}${notice('info', html`<p>This page shows the pipeline as soon as its file is there.</p>`)}
  </div>`
}
