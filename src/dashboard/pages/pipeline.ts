/** Page `/pipelines/:name`: state, actions, plots, guards, source and runs. */
import type { StoredAction } from '../../db/auditLog.ts'
import type { Pause } from '../../db/pauses.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import { destinationOf, destinationText } from '../../destinations/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import type { PipelineOverview, RunLine } from '../../sync/reports/overview.ts'
import { auditLogSection } from '../auditLog.ts'
import { actionButton, reasonField } from '../forms.ts'
import { ago, clockTime, command, count, html, none, notice, plural, section, type Html } from '../html.ts'
import type { Page } from '../layout.ts'
import { plot, type Plot } from '../plots.ts'
import { progressView } from '../progress.ts'
import { nextRun } from './now.ts'
import { runTable, type RunTableData } from '../runTable.ts'
import { pipelineState, runState, stateBadge, stateWord } from '../states.ts'

export interface PipelineData extends RunTableData {
  /** Undefined if no file defines the pipeline. Then the page shows only its history. */
  readonly pipeline: Pipeline | undefined
  /** Reason why the file of the pipeline, or `sluice.yaml`, cannot be used. */
  readonly problem: string | undefined
  readonly overview: PipelineOverview
  readonly pause: Pause | undefined
  readonly plots: readonly Plot[]
  readonly sources: readonly SourceFacts[]
  readonly actions: readonly StoredAction[]
  /** Minimum time of a full refresh in minutes, at the service's limits; undefined if unknown. */
  readonly minutes: number | undefined
  readonly mayAct: boolean
}

export function pipelinePage(data: PipelineData): Page {
  const { name, overview, pause, now } = data
  const state = pipelineState(overview, pause)
  return {
    title: `${name} ${stateWord(state).toLowerCase()}`,
    state: `${name}: ${stateWord(state)}`,
    crumbs: [],
    pollMs: overview.open === undefined ? 1500 : 1000,
    hasPlots: data.plots.length > 0,
    body: html`<div class="head">
        <div>
          <h1 class="title">${name} <span data-live="state">${stateBadge(state)}</span></h1>
          <p class="facts" data-live="facts">${factsLine(data)}</p>
        </div>
        <div class="actions" data-live="actions">${data.mayAct && data.pipeline !== undefined ? actionButtons(data) : none}</div>
      </div>
      <div data-live="open">
        ${
          pause === undefined
            ? none
            : notice(
                'warn',
                html`<p>
                    <strong>Paused</strong> by ${pause.actor} ${ago(pause.pausedAt, now)}${pause.reason === null ? '' : `: ${pause.reason}`}
                  </p>
                  <p>${command(`sluice resume ${name}`)}</p>`,
              )
        }${overview.open === undefined ? none : openRunCard(overview.open, now)}
      </div>
      ${
        data.plots.length === 0
          ? none
          : section('plots', 'Last runs', html`<div class="grid" data-live="plots">${data.plots.map(plot)}</div>`)
      }
      <section aria-labelledby="runs">
        <div class="section-head">
          <h2 id="runs">Runs</h2>
          <a id="newer" href="/pipelines/${name}" hidden></a>
        </div>
        ${runTable(data)}
      </section>
      ${data.pipeline === undefined ? none : definitionView(data, data.pipeline)}
      <div data-live="audit">${auditLogSection(data.actions)}</div>`,
  }
}

function factsLine({ pipeline, problem, overview, pause, now }: PipelineData): Html {
  if (problem !== undefined) return html`<span>${problem}. The history is kept.</span>`
  if (pipeline === undefined) return html`<span>No valid file has this name. The history is kept.</span>`
  return html`<span>${destinationText(pipeline.destination)}</span
    ><span>last success ${overview.succeededAt === undefined ? 'never' : ago(overview.succeededAt, now)}</span
    ><span>next run ${nextRun(pipeline, pause, now)}</span>`
}

function actionButtons(data: PipelineData): Html {
  const { name, pause } = data
  return html`${pause === undefined ? actionButton(`/pipelines/${name}/run`, 'Run now', { primary: true }) : actionButton(`/pipelines/${name}/resume`, 'Resume', { primary: true })}${moreActions(data)}`
}

/** Renders the menu with pause and full refresh. */
function moreActions({ name, pause, minutes }: PipelineData): Html {
  const path = `/pipelines/${name}`
  return html`<details class="menu" id="more">
    <summary>More actions</summary>
    <div>
      ${
        pause !== undefined
          ? none
          : html`<form class="form" method="post" action="${path}/pause">
              <h3>Pause</h3>
              <p class="small muted">No run starts until an operator resumes the pipeline. A run in progress continues.</p>
              ${reasonField('pause-reason')}
              <div><button>Pause ${name}</button></div>
            </form>`
      }
      <form class="form" method="post" action="${path}/full">
        <h3>Full refresh</h3>
        <p class="small muted">
          Sends every record
          again${minutes === undefined ? '' : `, in ${minutes === 0 ? 'less than a minute' : `at least ${count(minutes)} min`} at the service's limits`}.
        </p>
        <label for="full-name"
          >Type the name of the pipeline<input
            id="full-name"
            name="name"
            required
            autocomplete="off"
            autocapitalize="none"
            placeholder="${name}"
        /></label>
        <div><button>Send everything again</button></div>
      </form>
    </div>
  </details>`
}

function openRunCard(run: RunLine, now: number): Html {
  return html`<div class="card pad">
    <p class="section-head"><a class="name" href="/runs/${run.runId}">${run.runId}</a> ${stateBadge(runState(run))}</p>
    ${run.progress === null ? none : progressView(run.progress, now)}
  </div>`
}

function definitionView({ sources, now }: PipelineData, pipeline: Pipeline): Html {
  const { guards, schedule } = pipeline
  return html`<div class="grid">
    <section aria-labelledby="source">
      <h2 id="source">Source</h2>
      <div class="card pad">
        ${
          sources.length === 0
            ? html`<p class="muted">Not read yet.</p>`
            : sources.map(
                (source) =>
                  html`<dl class="facts-list">
                    <dt>Read from</dt>
                    <dd class="mono">${source.uri}</dd>
                    <dt>Format</dt>
                    <dd>${[source.format, source.encoding, ...(source.compression === 'none' ? [] : [source.compression])].join(', ')}</dd>
                    <dt>Size</dt>
                    <dd>${count(source.bytes)} bytes</dd>
                    ${
                      source.lastModified === undefined
                        ? none
                        : html`<dt>Last edit</dt>
                            <dd>${editTime(source.lastModified, now)}</dd>`
                    }
                    <dt>SHA-256</dt>
                    <dd class="mono">${source.sha256.slice(0, 16)}…</dd>
                    <dt>End</dt>
                    <dd>
                      ${source.completeness.complete ? `complete: ${source.completeness.proof}` : `not proven: ${source.completeness.reason ?? ''}`}
                    </dd>
                  </dl>`,
              )
        }
      </div>
    </section>
    <section aria-labelledby="guards">
      <h2 id="guards">Guards and schedule</h2>
      <div class="card pad">
        <dl class="facts-list">
          <dt>Deletes are withheld</dt>
          <dd>
            ${destinationOf(pipeline.destination.kind).guardsDeletes ? `above ${count(guards.maxDeleteCount)} records and ${guards.maxDeletePercent} %, or below ${plural(guards.minRows, 'valid row')}; other guards: docs/pipelines.md#guards` : 'never, for this type of destination'}
          </dd>
          <dt>The run stops</dt>
          <dd>above ${guards.maxRejectPercent} % rejected rows; other guards: docs/pipelines.md#guards</dd>
          <dt>Schedule</dt>
          <dd>
            ${schedule === undefined ? 'none: runs start by hand' : html`<code>${schedule.cron}</code> ${schedule.timezone}; when a run is in progress: ${schedule.overlap}`}
          </dd>
          <dt>File</dt>
          <dd class="mono">${pipeline.file}</dd>
        </dl>
      </div>
    </section>
  </div>`
}

/** Renders the time of the last edit. A text that is not a time is shown as it is. */
function editTime(text: string, now: number): Html {
  const at = Date.parse(text)
  return Number.isNaN(at) ? html`${text}` : html`${ago(at, now)} <span class="muted">(${clockTime(at)})</span>`
}
