/** Page `/batches/:id`: one request with its attempts, and the outcome of each operation. */
import type { AttemptLine, BatchDetails, BatchStatus, EntryLine } from '../../sync/reports/batchDetails.ts'
import { quoteArgument } from '../../format.ts'
import {
  ago,
  clockTime,
  command,
  count,
  formatMs,
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
import { batchState, operationState, stateBadge, stateWord } from '../states.ts'

const openStates: readonly BatchStatus[] = ['pending', 'in_flight', 'ambiguous']

/** Builds the page. `elsewhere`: environment of the batch, if it is another one than that of its pipeline here. */
export function batchPage(batch: BatchDetails, now: number, elsewhere?: string): Page {
  const state = batchState(batch)
  return {
    title: `Batch ${batch.batch} ${stateWord(state).toLowerCase()}`,
    state: `Batch ${batch.batch}: ${stateWord(state)}`,
    crumbs: [
      [batch.pipeline, `/pipelines/${batch.pipeline}`],
      [batch.runId, `/runs/${batch.runId}`],
      [`Plan ${batch.planId}`, `/plans/${batch.planId}`],
    ],
    ...(openStates.includes(batch.status) ? { pollMs: 1500 } : {}),
    body: html`<div class="head">
        <div>
          <h1 class="title">Batch ${batch.batch} <span data-live="state">${stateBadge(state)}</span></h1>
          <p class="facts" data-live="facts">
            <span
              >${batch.operation === 'delete' ? 'deletes' : 'creates and updates'} of
              <strong>${plural(batch.operations, batch.words.record, batch.words.records)}</strong></span
            ><span>${plural(batch.attempts, 'attempt')}</span><span>planned ${ago(batch.createdAt, now)}</span>
            ${batch.settledAt === null ? none : html`<span>ended ${ago(batch.settledAt, now)}</span>`}
          </p>
        </div>
      </div>
      ${otherEnvironmentNotice(elsewhere)}
      <div data-live="outcome">${outcomeNotice(batch, now)}</div>
      ${section('attempts', 'Attempts', attemptTable(batch, now), { count: count(batch.attempts), isLive: true })}
      ${section('operations', 'Operations', batch.showsRecords ? operationTable(batch) : outcomeTable(batch), { count: count(batch.operations), isLive: true })}
      ${section('request', 'Request', html`<div class="card pad">${requestFacts(batch)}</div>`)}`,
  }
}

function outcomeNotice(batch: BatchDetails, now: number): Html {
  const { status, pipeline, children, planId } = batch
  const reason = batch.meaning === '' ? (batch.reason ?? '') : batch.meaning
  const because = reason === '' ? none : html` ${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}.`
  const pause = batch.paused === null ? none : html`<p>Nothing is sent to this destination now: ${batch.paused}.</p>`
  const run = html`<p>${command(`sluice run ${pipeline}`)}</p>`
  switch (status) {
    case 'pending':
      return notice(
        'info',
        html`<p>
            <strong>Not sent yet</strong>
            ${batch.nextAttemptAt === null || batch.nextAttemptAt.getTime() <= now ? none : html`Next attempt ${ago(batch.nextAttemptAt, now)}.`}${because}
          </p>
          ${pause}`,
      )
    case 'in_flight':
      return notice('info', html`<p><strong>A worker is sending this request now</strong></p>`)
    case 'ambiguous':
      return notice(
        'warn',
        html`<p>
            <strong>No clear answer yet</strong> The service may have applied this request. The same bytes are sent again before anything
            newer.${because}
          </p>
          ${pause}${run}`,
      )
    case 'parked':
      return notice(
        'warn',
        html`<p><strong>Out of attempts in its run</strong> Each later run sends the same bytes once more.${because}</p>
          ${pause}${run}`,
      )
    case 'split':
      return notice(
        'idle',
        html`<p>
          <strong>Split</strong> Its operations continue in
          ${children.length === 0 ? html`other batches of <a href="/plans/${planId}">its plan</a>` : children.map((child, i) => html`${i === 0 ? '' : ', '}<a href="/batches/${child}">batch ${child}</a>`)}.${because}
        </p>`,
      )
    case 'superseded':
      return notice('idle', html`<p><strong>Will not be sent</strong>${because}</p>`)
    case 'settled':
      return settledNotice(batch)
  }
}

function settledNotice({ outcomes, operations: total, pipeline, runId }: BatchDetails): Html {
  const refused = outcomes.reduce((sum, group) => sum + (group.outcome === 'refused' ? group.count : 0), 0)
  if (outcomes.length === 0) return notice('idle', html`<p><strong>Answered</strong> The outcomes of its operations have expired.</p>`)
  if (refused === 0) return notice('ok', html`<p><strong>Confirmed</strong> The service confirmed every operation.</p>`)
  return notice(
    'warn',
    html`<p>
        <strong>${count(refused)} of ${count(total)} refused by the service</strong> Correct these records in the source, or leave them out.
        Each run of ${pipeline} sends a corrected record again.
      </p>
      <p>${command(`sluice rerun ${runId} --failed`)}</p>`,
  )
}

const attemptWords: Readonly<Record<string, string>> = {
  confirmed: 'confirmed',
  partial: 'refused in part',
  refused: 'refused',
  retry: 'not applied',
  pause: 'not confirmed',
  ambiguous: 'unresolved',
}

function attemptTable({ lastAttempts, batch, attempts: total, status }: BatchDetails, now: number): Html {
  if (lastAttempts.length === 0)
    return html`<div class="card pad muted">
      ${total > 0 ? 'The attempts have expired.' : openStates.includes(status) ? 'This request was not sent yet. An attempt is stored before its first byte is sent.' : 'This request was not sent.'}
    </div>`
  return html`<div class="card scroll">
    ${table({
      caption: `Attempts of batch ${batch}, newest first`,
      columns: ['Sent', 'Run', 'Answer', 'Outcome', ['Time', 'right']],
      rows: lastAttempts.map(
        (attempt) =>
          html`<tr>
            <td data-label="Sent">
              <span>${clockTime(attempt.startedAt)} <span class="muted">${ago(attempt.startedAt, now)}</span></span>
            </td>
            <td data-label="Run"><a href="/runs/${attempt.runId}">${attempt.runId}</a></td>
            <td data-label="Answer"><span>${answerOf(attempt)}</span></td>
            <td data-label="Outcome"><span>${outcomeOf(attempt)}</span></td>
            <td class="right nowrap" data-label="Time">${attempt.durationMs === null ? '' : formatMs(attempt.durationMs)}</td>
          </tr>`,
      ),
    })}
  </div>`
}

function answerOf({ outcome, httpStatus, answer }: AttemptLine): Html {
  if (outcome === null) return html`<span class="muted">in flight</span>`
  return html`${httpStatus === null ? 'no answer' : `HTTP ${httpStatus}`}${answer.length === 0 ? none : html` <span class="small muted">${answer.map(factOf).join(' · ')}</span>`}`
}

function factOf([name, value]: AttemptLine['answer'][number]): string {
  if (name === 'bytes') return `${count(Number(value))} bytes`
  if (name === 'mayLandLater') return 'may still be applied'
  if (!/^\d+$/.test(value)) return value
  return `${count(Number(value))} ${name === 'ambiguous' ? 'unresolved' : name}`
}

function outcomeOf({ outcome, reason, meaning }: AttemptLine): Html {
  if (outcome === null) return none
  return html`${attemptWords[outcome] ?? outcome}${reason === null || reason === '' ? none : html`: <code>${reason}</code>${meaning === '' ? '' : ` ${meaning}`}`}`
}

function noOperations({ status }: BatchDetails): Html {
  return html`<div class="card pad muted">
    ${status === 'split' ? 'These operations were moved to other batches.' : 'These operations have expired: operations on people are kept for 30 days, those on products for 12 months.'}
  </div>`
}

function operationTable(details: BatchDetails): Html {
  const { entries: lines, batch, status, pipeline, operations: total } = details
  if (lines.length === 0) return noOperations(details)
  return html`<div class="card scroll">
    ${table({
      caption: `Operations of batch ${batch}, those that are not confirmed first${lines.length < total ? `: the first ${lines.length}` : ''}`,
      captionClass: lines.length < total ? 'pad' : 'sr',
      columns: [['Place', 'right narrow'], 'Product', 'Change', 'Outcome', 'Answer of the service'],
      rows: lines.map(
        (line) =>
          html`<tr>
            <td class="right" data-label="Place">${line.place}</td>
            <td data-label="Product"><code>${line.product}</code></td>
            <td data-label="Change">${line.change}</td>
            <td data-label="Outcome">${stateBadge(operationState(line.outcome, status))}</td>
            <td data-label="Answer"><div>${answerText(line)}${hintFor(line, pipeline)}</div></td>
          </tr>`,
      ),
    })}
  </div>`
}

/** Renders the outcomes of operations on people, which are identified only by their places in the request. */
function outcomeTable(details: BatchDetails): Html {
  const { outcomes, batch, status, pipeline } = details
  if (outcomes.length === 0) return noOperations(details)
  return html`<div class="card scroll">
      ${table({
        caption: `Operations of batch ${batch} by outcome`,
        columns: [['Count', 'right narrow'], 'Change', 'Outcome', 'Answer of the service', 'Places in the request'],
        rows: outcomes.map(
          (group) =>
            html`<tr>
              <td class="right" data-label="Count">${count(group.count)}</td>
              <td data-label="Change">${group.change}</td>
              <td data-label="Outcome">${stateBadge(operationState(group.outcome, status))}</td>
              <td data-label="Answer"><span>${answerText(group)}</span></td>
              <td data-label="Places">${group.places.join(', ')}${group.count > group.places.length ? ' …' : ''}</td>
            </tr>`,
        ),
      })}
    </div>
    <p class="small muted">
      Identifiers are digests and are not shown. One person: ${command(`sluice explain ${pipeline} EMAIL`)} or
      <a href="/records">Records</a>.
    </p>`
}

function answerText({ code, message }: Pick<EntryLine, 'code' | 'message'>): Html {
  if (code === null) return message === '' ? html`<span class="muted">–</span>` : html`${message}`
  return html`<code>${code}</code> ${message}`
}

function hintFor({ outcome, product }: EntryLine, pipeline: string): Html {
  return outcome === 'refused' ? html`<p class="small">${command(`sluice explain ${pipeline} ${quoteArgument(product)}`)}</p>` : none
}

function requestFacts({ bytes, bodySha256, expiresAt, parent }: BatchDetails): Html {
  return html`<dl class="facts-list">
    <dt>Body</dt>
    <dd>${bytes === null ? 'not stored as a whole' : `${count(bytes)} bytes`}</dd>
    <dt>SHA-256</dt>
    <dd class="mono">${bodySha256}</dd>
    ${
      parent === null
        ? none
        : html`<dt>Split from</dt>
            <dd><a href="/batches/${parent}">batch ${parent}</a></dd>`
    }
    ${
      expiresAt === null
        ? none
        : html`<dt>First membership ends</dt>
            <dd>${clockTime(expiresAt)}</dd>`
    }
  </dl>`
}
