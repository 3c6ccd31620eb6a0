/** Page `/runs/:id`: one run as a funnel, with its stages, guards, rejects, failures and requests. */
import type { StoredAction } from '../../db/auditLog.ts'
import { onlyPlans } from '../../model/report.ts'
import type { StoredRun } from '../../sync/reports/history.ts'
import { mergeNotes } from '../../sync/reports/mergeNotes.ts'
import { isRefusedOrUnresolved, isOpenRun } from '../../sync/reports/nextCommands.ts'
import type { RejectGroup, RunDetails } from '../../sync/reports/runDetails.ts'
import { reportWordOf } from '../../sync/reports/runSteps.ts'
import { outOfStockOf, withheldChanges } from '../../sync/reports/withheldChanges.ts'
import { auditLogSection } from '../auditLog.ts'
import { funnel } from '../funnel.ts'
import { actionButton } from '../forms.ts'
import {
  ago,
  command,
  count,
  duration,
  formatMs,
  hintOf,
  html,
  none,
  notice,
  otherEnvironmentNotice,
  plural,
  section,
  table,
  type Html,
} from '../html.ts'
import type { Page } from '../layout.ts'
import { productSetTable } from '../productSets.ts'
import { progressView } from '../progress.ts'
import { rejectGroups } from '../rejectGroups.ts'
import { runState, stateBadge, stateWord } from '../states.ts'

export interface RunData {
  readonly run: StoredRun
  readonly details: RunDetails
  readonly rejects: readonly RejectGroup[]
  readonly actions: readonly StoredAction[]
  /** Environment of the run, if it is another one than that of its pipeline here (`otherEnvironmentNotice`). */
  readonly elsewhere?: string | undefined
  readonly mayAct: boolean
  readonly now: number
}

export function runPage(data: RunData): Page {
  const { run, details } = data
  const state = runState({ ...run, cancelRequested: details.cancelRequested })
  const isOpen = isOpenRun(run)
  return {
    title: `${run.runId} ${stateWord(state).toLowerCase()}`,
    state: `${run.pipeline} ${run.runId}: ${stateWord(state)}`,
    crumbs: [[run.pipeline, `/pipelines/${run.pipeline}`]],
    // The page of an ended run is polled too, because a later run may settle open requests of this run.
    pollMs: isOpen ? 1000 : 1500,
    body: html`<div class="head">
        <div>
          <h1 class="title">${run.pipeline} ${run.runId} <span data-live="state">${stateBadge(state)}</span></h1>
          <p class="facts" data-live="facts">${factsLine(data)}</p>
        </div>
        <div class="actions" data-live="actions">${data.mayAct ? actionButtons(data, state) : none}</div>
      </div>
      ${otherEnvironmentNotice(data.elsewhere)}
      <div data-live="outcome">${outcomeView(data, state)}</div>
      <section aria-labelledby="rows" data-live="funnel">
        <h2 id="rows">From rows to confirmed changes</h2>
        <div class="card pad">${funnel(run.counts, run.settled)}</div>
      </section>
      <div data-live="more" class="grid">${stagesSection(data)}${requestsSection(data)}</div>
      <div data-live="sets">${productSetTable(run.productSets)}</div>
      <section aria-labelledby="rejects" data-live="rejects">${rejectsView(data)}</section>
      <div data-live="notes">${warningsSection(run)}</div>
      <div data-live="audit">${auditLogSection(data.actions)}</div>`,
  }
}

const triggers: Readonly<Record<StoredRun['trigger'], string>> = {
  manual: 'started by hand',
  schedule: 'by schedule',
  backfill: 'backfill',
  rerun: 'rerun',
  plan: 'plan only',
  apply: 'applied a stored plan',
  audit: 'audit',
}

function factsLine({ run, details, actions: history, now }: RunData): Html {
  const requested = history.find(({ what }) => what === 'run.requested' || what === 'deletes.approved')
  return html`<span
      >${triggers[run.trigger]}${requested === undefined ? none : html` by <strong>${requested.actor}</strong>`}${run.rerunOf === null ? none : html` of <a href="/runs/${run.rerunOf}">${run.rerunOf}</a>`}</span
    >
    ${details.full ? html`<span>full refresh</span>` : none}${details.approvedDeletes === null ? none : html`<span>up to ${plural(details.approvedDeletes, 'delete')} approved</span>`}
    <span>${ago(run.startedAt, now)}</span><span>${isOpenRun(run) ? 'for' : 'took'} <strong>${duration(run.durationMs)}</strong></span
    >${run.planId === undefined ? none : html`<span>plan <a href="/plans/${run.planId}">${run.planId}</a></span>`}`
}

function actionButtons({ run, details, elsewhere }: RunData, state: string): Html {
  const path = `/runs/${run.runId}`
  if (isOpenRun(run)) return details.cancelRequested ? none : actionButton(`${path}/cancel`, 'Cancel run')
  // The other actions would act on the pipeline of this environment.
  if (elsewhere !== undefined) return none
  const unconfirmedCount = run.counts.refused + run.counts.ambiguous + run.counts.pending
  return html`${state === 'withheld' && run.planId !== undefined ? html`<a class="button primary" href="/plans/${run.planId}">Review ${withheldChanges(run.counts.withheld, outOfStockOf(run.guards))}</a>` : none}
  ${unconfirmedCount === 0 || onlyPlans(run.trigger) ? none : details.sentAgainBy === null ? actionButton(`${path}/rerun`, `Send ${count(unconfirmedCount)} again`) : html`<a class="button" href="/runs/${details.sentAgainBy}">Sent again by ${details.sentAgainBy}</a>`}${actionButton(`/pipelines/${run.pipeline}/run`, 'Run now')}`
}

function outcomeView({ run, details, elsewhere, now }: RunData, state: string): Html {
  const commandOf = (text: string | undefined) => (elsewhere === undefined ? hintOf(text) : none)
  if (details.progress !== null && run.status === 'running') return html`<div class="card pad">${progressView(details.progress, now)}</div>`
  if (run.status === 'queued') return queuedNotice(run, details, elsewhere)
  return html`${run.guards.map((guard) =>
    notice(
      'warn',
      html`<p>
          <strong
            >${state === 'stopped' ? 'The run was stopped' : `${withheldChanges(guard.withheld, outOfStockOf([guard]))} withheld`}</strong
          >
          ${guard.message}
        </p>
        ${guard.examples.length === 0 ? none : html`<p class="small">For example ${guard.examples.join(', ')}</p>`}${commandOf(guard.hint)}`,
    ),
  )}
  ${
    run.error === undefined
      ? none
      : notice(
          run.status === 'failed' ? 'fail' : 'warn',
          html`<p><strong>${run.error.code}</strong> ${run.error.message}</p>
            ${commandOf(run.error.hint)}`,
        )
  }
  ${elsewhere === undefined ? openSets(run) : none}
  ${
    (run.failures ?? []).length === 0
      ? none
      : html`<div class="card scroll">
          ${table({
            caption: 'Why not everything is confirmed',
            captionClass: 'pad',
            columns: ['Outcome', ['Count', 'right'], 'Code', 'Reason'],
            rows: (run.failures ?? []).map(
              (failure) =>
                html`<tr>
                  <td data-label="Outcome">${reportWordOf(failure.outcome)}</td>
                  <td class="right" data-label="Count">${count(failure.count)}</td>
                  <td data-label="Code"><code>${failure.code}</code></td>
                  <td data-label="Message">
                    <span>${failure.message}${failure.examples.length === 0 ? '' : ` (${failure.examples.join(', ')})`}</span>
                  </td>
                </tr>`,
            ),
          })}
        </div>`
  }`
}

function queuedNotice({ pipeline }: StoredRun, { waitsFor }: RunDetails, elsewhere: string | undefined): Html {
  if (waitsFor === null) return notice('info', html`<p>Waits for a worker.</p>`)
  if (waitsFor !== 'resume')
    return notice('info', html`<p>Waits for the end of <a href="/runs/${waitsFor.runId}">${waitsFor.runId}</a>.</p>`)
  if (elsewhere !== undefined) return notice('warn', html`<p>Waits until ${pipeline} is resumed.</p>`)
  return notice(
    'warn',
    html`<p>Waits until <a href="/pipelines/${pipeline}">${pipeline}</a> is resumed.</p>
      <p>${command(`sluice resume ${pipeline}`)}</p>`,
  )
}

function openSets({ productSets = [], pipeline }: StoredRun): Html {
  const openSetChanges = productSets.filter(isRefusedOrUnresolved)
  if (openSetChanges.length === 0) return none
  return notice(
    'warn',
    html`<p>
        <strong
          >${plural(openSetChanges.length, 'product set')} not as
          ${openSetChanges.length === 1 ? 'its rule says' : 'their rules say'}</strong
        >
        ${openSetChanges.map(({ name }) => name).join(', ')}. The next run tries again.
      </p>
      <p>${command(`sluice run ${pipeline}`)}</p>`,
  )
}

function stagesSection({ run }: RunData): Html {
  const longest = Math.max(1, ...run.stages.map(({ durationMs }) => durationMs))
  return section(
    'stages',
    'Stages',
    html`<div class="card pad">
      ${
        run.stages.length === 0
          ? html`<p class="muted">No stage has ended yet.</p>`
          : html`<ul class="hbars">
              ${run.stages.map(
                ({ stage, durationMs }) =>
                  html`<li>
                    <span>${stage}</span
                    ><svg class="stack" aria-hidden="true">
                      <rect class="accent" x="0" y="0" height="22" width="${((durationMs / longest) * 100).toFixed(1)}%" /></svg
                    ><strong>${duration(durationMs)}</strong>
                  </li>`,
              )}
            </ul>`
      }
    </div>`,
  )
}

function requestsSection({ details: { requests: sent } }: RunData): Html {
  return section(
    'requests',
    'Requests',
    html`<div class="card">
      <div class="pad">
        <p>
          <strong>${count(sent.all)}</strong>
          sent${sent.p50 === null ? '' : ` · half answered within ${formatMs(sent.p50)}, 95 % within ${formatMs(sent.p95 ?? sent.p50)}`}${sent.rateLimited === 0 ? '' : ` · ${count(sent.rateLimited)} over the rate limit (429)`}
        </p>
      </div>
      ${
        sent.latest.length === 0
          ? none
          : html`<div class="scroll" tabindex="0" role="group" aria-label="Latest requests">
              ${table({
                caption: 'Latest requests',
                isCards: false,
                columns: ['Batch', 'Operation', ['Records', 'right'], 'Answer', ['Time', 'right']],
                rows: sent.latest.map(
                  (line) =>
                    html`<tr>
                      <td class="mono"><a href="/batches/${line.batch}">${line.batch}</a></td>
                      <td>${line.operation}</td>
                      <td class="right">${count(line.users)}</td>
                      <td>
                        ${line.outcome === null ? 'in flight' : `${line.httpStatus ?? 'no answer,'} ${line.outcome === 'ambiguous' ? 'unresolved' : line.outcome}${line.reason === null ? '' : `: ${line.reason}`}`}
                      </td>
                      <td class="right nowrap">${line.durationMs === null ? '' : formatMs(line.durationMs)}</td>
                    </tr>`,
                ),
              })}
            </div>`
      }
    </div>`,
  )
}

function rejectsView({ run, rejects: groups }: RunData): Html {
  const head = html`<div class="section-head">
    <h2 id="rejects">Rejected rows <span class="muted">${count(run.counts.rejected)}</span></h2>
    ${run.counts.rejected === 0 ? none : html`<a href="/runs/${run.runId}/rejects">All reasons and CSV</a>`}
  </div>`
  if (run.counts.rejected === 0)
    return html`${head}
      <div class="card pad muted">No row was rejected.</div>`
  if (groups.length === 0)
    return html`${head}
      <div class="card pad muted">The rows have expired: rejects are kept for 30 days.</div>`
  return html`${head}${rejectGroups(groups.slice(0, 5))}`
}

function warningsSection(run: StoredRun): Html {
  const notes = mergeNotes(run.warnings ?? [])
  if (notes.length === 0) return none
  return section(
    'notes',
    'Notes',
    html`<div class="card scroll">
      ${table({
        caption: 'Notes on the source',
        columns: ['Code', ['Count', 'right'], 'What was found'],
        rows: notes.map(
          (note) =>
            html`<tr>
              <td data-label="Code"><code>${note.code}</code></td>
              <td class="right" data-label="Count">${count(note.count)}</td>
              <td data-label="Found">
                <span>${note.message}${note.lines.length === 0 ? '' : ` (line ${note.lines.slice(0, 3).join(', ')})`}</span>
              </td>
            </tr>`,
        ),
      })}
    </div>`,
    { count: String(notes.length) },
  )
}
