/** Page `/plans/:id`: the planned operations, deletes first, and the approval of withheld deletes. */
import type { BatchLine } from '../../sync/reports/batchDetails.ts'
import { guardEffectOf, type Change } from '../../model/report.ts'
import type { ChangeSample, PlanReview } from '../../sync/reports/review.ts'
import { outOfStockOf, withheldChanges } from '../../sync/reports/withheldChanges.ts'
import { reasonField } from '../forms.ts'
import {
  ago,
  command,
  count,
  hintOf,
  html,
  icon,
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
import { batchState, stateBadge } from '../states.ts'

export interface PlanData {
  readonly plan: PlanReview
  /** First batches of the plan, those without a final answer before the others. */
  readonly batches: readonly BatchLine[]
  /** Environment of the plan, if it is another one than that of its pipeline here. */
  readonly elsewhere?: string | undefined
  readonly mayAct: boolean
  /** Reason why an approval was rejected. */
  readonly problem?: string
  readonly now: number
}

const statusWords = {
  ready: 'not applied yet',
  applying: 'being applied',
  applied: 'applied',
  superseded: 'replaced by a newer plan',
} as const

/** Returns the number of deletes that guards withhold, with the products that would be set out of stock. */
export function withheldDeletes({ guards, counts }: PlanReview): number {
  return guards.length === 0 ? 0 : (counts.withheld ?? 0)
}

/** Returns what guards withhold, such as `12 deletes`. */
function withheldText(plan: PlanReview): string {
  return withheldChanges(withheldDeletes(plan), outOfStockOf(plan.guards))
}

/** Returns true if an approval overrides every guard of the plan. */
export function isApprovable({ guards }: PlanReview): boolean {
  return guards.every((guard) => guardEffectOf(guard).approvable)
}

/** Returns true if the plan is not the newest one of its destination. */
export function isReplaced({ planId, newestPlanId }: PlanReview): boolean {
  return planId !== newestPlanId
}

export function planPage(data: PlanData): Page {
  const { plan, elsewhere, now } = data
  const { counts } = plan
  const withheld = withheldDeletes(plan)
  const offersApproval = withheld > 0 && isApprovable(plan) && !isReplaced(plan) && elsewhere === undefined
  return {
    title: offersApproval ? `Approve ${withheldText(plan)} of ${plan.pipeline}` : `Plan ${plan.planId}`,
    crumbs: [
      [plan.pipeline, `/pipelines/${plan.pipeline}`],
      [plan.runId, `/runs/${plan.runId}`],
    ],
    body: html`${otherEnvironmentNotice(elsewhere)}
      <div class="head">
        <div>
          <h1>Plan <span class="mono">${plan.planId}</span></h1>
          <p class="facts">
            <span>${plan.pipeline}</span><span>made ${ago(plan.createdAt, now)}</span><span>${statusWords[plan.status]}</span
            ><span>${plural(plan.requests, 'request')}</span>
          </p>
        </div>
      </div>
      ${data.problem === undefined ? none : notice('fail', html`<p><strong>Not approved</strong> ${data.problem}</p>`)}
      ${approvalSection(data)}
      <section aria-labelledby="changes">
        <h2 id="changes">Changes</h2>
        <div class="card scroll" tabindex="0" role="group" aria-labelledby="changes">
          ${table({
            caption: 'Changes of this plan',
            isCards: false,
            columns: [['Change', 'narrow'], ['Count', 'right narrow'], 'Details'],
            rows: [
              changeRow('−', 'delete', counts.deletes, withheld > 0 ? `${withheldText(plan)} withheld` : ''),
              changeRow('+', 'create', counts.creates),
              changeRow(
                '~',
                'update',
                counts.updates,
                plan.updateFields.map(({ field, count: times }) => `${field} ${count(times)}`).join(' · '),
              ),
              changeRow('↻', 'renew', counts.renewals),
              changeRow('=', 'unchanged', counts.unchanged),
            ],
          })}
        </div>
      </section>
      ${productSetTable(plan.productSets)}
      ${(['delete', 'update', 'create', 'renewal'] as const).map((change) => samplesSection(plan, change))} ${requestsSection(data)}`,
  }
}

function requestsSection({ plan, batches }: PlanData): Html {
  if (batches.length === 0) return none
  return section(
    'requests',
    'Requests',
    html`<div class="card scroll">
      ${table({
        caption: 'Requests of this plan, those without a final answer first',
        columns: ['Batch', 'State', 'Operation', ['Records', 'right'], ['Attempts', 'right']],
        rows: batches.map(
          (batch) =>
            html`<tr>
              <td><a href="/batches/${batch.batch}">Batch ${batch.batch}</a></td>
              <td data-label="State">${stateBadge(batchState(batch))}</td>
              <td data-label="Operation">${batch.operation}</td>
              <td class="right" data-label="Records">${count(batch.operations)}</td>
              <td class="right" data-label="Attempts">${count(batch.attempts)}</td>
            </tr>`,
        ),
      })}
    </div>`,
    { count: batches.length < plan.requests ? `first ${batches.length} of ${count(plan.requests)}` : count(batches.length) },
  )
}

function changeRow(mark: string, name: string, value = 0, note = ''): Html {
  return html`<tr>
    <td class="narrow"><span class="diff-mark" aria-hidden="true">${mark}</span> ${name}</td>
    <td class="right"><strong>${count(value)}</strong></td>
    <td class="muted">${note}</td>
  </tr>`
}

function approvalSection(data: PlanData): Html {
  const { plan } = data
  const withheld = withheldDeletes(plan)
  if (withheld === 0) return none
  const [guard] = plan.guards
  return html`<section class="card pad" aria-labelledby="approve">
    <h2 id="approve">${withheldText(plan)} withheld</h2>
    ${
      guard === undefined
        ? none
        : html`<p>${guard.message}</p>
            ${guard.examples.length === 0 ? none : html`<p>For example ${guard.examples.map((name, i) => html`${i === 0 ? '' : ', '}<code>${name}</code>`)}</p>`}`
    }
    ${approvalForm(data, withheld)}
  </section>`
}

/** Renders the form that approves the deletes, or the reason why there is none. */
function approvalForm({ plan, mayAct, elsewhere }: PlanData, withheld: number): Html {
  const { pipeline, planId, digest, newestPlanId } = plan
  if (elsewhere !== undefined) return none
  if (isReplaced(plan))
    return html`<p class="muted">
      A newer run has replaced this plan by <a href="/plans/${newestPlanId}">plan ${newestPlanId}</a>.
      <a href="/pipelines/${pipeline}">Open ${pipeline}</a>
    </p>`
  if (!isApprovable(plan))
    return html`<p class="muted">An approval does not override this guard.</p>
      ${hintOf(plan.guards[0]?.hint)}`
  const approveCommand = command(`sluice run ${pipeline} --approve-deletes ${withheld}`)
  if (!mayAct)
    return html`<p class="muted">This page is read-only. Approvals need SLUICE_USER_HEADER: the header in which a proxy sends the user.</p>
      ${approveCommand}`
  return html`<form class="form" method="post" action="/plans/${planId}/approve">
    <input type="hidden" name="digest" value="${digest}" />
    <label for="number"
      >Type ${withheld} to approve
      <span class="hint">${count(withheld)} is the maximum: if the new run has more, all are withheld again</span
      ><input id="number" name="number" inputmode="numeric" pattern="[0-9., ]+" required autocomplete="off"
    /></label>
    ${reasonField('approve-reason', 'season is over')}
    <div class="actions"><button class="danger">${icon('warn')}Approve deletes</button></div>
    <p class="small muted">Starts a run that reads the source again. In a terminal: ${approveCommand}</p>
  </form>`
}

const titles: Readonly<Record<Change, string>> = { delete: 'Deletes', update: 'Updates', create: 'Creates', renewal: 'Renewals' }

function samplesSection(plan: PlanReview, change: Change): Html {
  const shown = plan.samples.filter((sample) => sample.change === change)
  if (shown.length === 0) return none
  const total = plan.counts[`${change}s`] ?? 0
  const id = `samples-${change}`
  if (!plan.showsRecords)
    return section(
      id,
      titles[change],
      html`<p class="card pad muted">
        ${plural(total, plan.words.record, plan.words.records)}. Identifiers are digests and are not shown: look one up under
        <a href="/records">Records</a>.
      </p>`,
      { count: count(total) },
    )
  return section(
    id,
    titles[change],
    html`<div class="card scroll">
      ${table({
        caption: titles[change],
        columns: change === 'delete' ? ['Product'] : ['Product', change === 'update' ? 'Before and after' : 'Content'],
        rows: shown.map(
          (sample) =>
            html`<tr>
              <td><code>${sample.name}</code></td>
              ${change === 'delete' ? none : html`<td data-label="Content">${sampleFields(sample)}</td>`}
            </tr>`,
        ),
      })}
    </div>`,
    { count: shown.length < total ? `first ${shown.length} of ${count(total)}` : count(total) },
  )
}

function sampleFields({ change, fields: lines, hasExpired }: ChangeSample): Html {
  if (hasExpired) return html`<span class="muted">the content has expired</span>`
  if (lines.length === 0) return html`<span class="muted">the same content again</span>`
  if (change === 'update')
    return html`<ul>
      ${lines.map(({ field, before, after }) => html`<li><code>${field}</code> ${before === null ? none : html`<del class="diff-del">${before}</del> `}${after === null ? html`<span class="muted">removed</span>` : html`<ins class="diff-add">${after}</ins>`}</li>`)}
    </ul>`
  const shown = lines.filter(({ field }) => ['title', 'price', 'availability', 'brand'].includes(field))
  return html`${(shown.length === 0 ? lines.slice(0, 4) : shown).map(({ field, after }, i) => html`${i === 0 ? '' : ' · '}<span class="muted">${field}</span> <bdi>${after ?? ''}</bdi>`)}`
}
