/** Page `/system`: doctor, workers, queue, shared rate budget, alerts, webhooks. */
import type { BudgetRow } from '../../db/rateBudget.ts'
import type { DeliveryLine } from '../../db/alerts.ts'
import { environmentKey, type Fence } from '../../db/fence.ts'
import type { QueueState } from '../../db/runs/queued.ts'
import type { WebhookState } from '../../db/webhookEvents.ts'
import type { WorkerRow } from '../../db/workers.ts'
import type { Finding } from '../../model/report.ts'
import { ago, badge, clockTime, command, count, duration, hintOf, html, none, plural, section, table, type Html } from '../html.ts'
import type { Page } from '../layout.ts'

export interface SystemData {
  /** Findings of `sluice doctor`. */
  readonly findings: readonly Finding[]
  readonly workers: readonly WorkerRow[]
  readonly queue: QueueState
  readonly budgets: readonly BudgetRow[]
  readonly deliveries: readonly DeliveryLine[]
  /** Environment of the server. Alerts of another one are shown with theirs. */
  readonly environment: Fence
  /** Names of the receivers of alerts. */
  readonly receivers: readonly string[]
  readonly webhooks: WebhookState
  readonly now: number
}

const tones = { ok: 'ok', warning: 'warn', failed: 'fail' } as const

export function systemPage(data: SystemData): Page {
  const failed = data.findings.filter(({ state }) => state === 'failed').length
  return {
    title: failed === 0 ? 'System' : `System: ${failed} failed`,
    state: failed === 0 ? 'No check failed' : `${plural(failed, 'check')} failed`,
    current: 'system',
    pollMs: 1500,
    body: html`<h1>System</h1>
      <section aria-labelledby="doctor">
        <div class="section-head">
          <h2 id="doctor">Checks</h2>
          ${command('sluice doctor')}
        </div>
        <div class="card scroll" data-live="doctor">
          ${table({
            caption: 'Checks of the system',
            columns: ['State', 'Check', 'Finding'],
            rows: data.findings.map(
              ({ check, state, message, hint }) =>
                html`<tr>
                  <td>${badge(state, tones[state])}</td>
                  <td data-label="Check">${check}</td>
                  <td data-label="Finding"><div>${message}${hintOf(hint)}</div></td>
                </tr>`,
            ),
          })}
        </div>
      </section>
      <div class="grid">
        ${section('workers', 'Workers', html`<div class="card scroll" tabindex="0" role="group" aria-labelledby="workers" data-live="workers">${workerTable(data)}</div>`)}
        ${section('queue', 'Queue and rate budget', html`<div class="card pad" data-live="queue">${queueView(data)}</div>`)}
      </div>
      <div class="grid">
        ${section('alerts', 'Alerts sent', html`<div class="card scroll" tabindex="0" role="group" aria-labelledby="alerts" data-live="alerts">${alertTable(data)}</div>`)}
        ${section('webhooks', 'Webhooks', html`<div class="card pad" data-live="webhooks">${webhookView(data)}</div>`)}
      </div>`,
  }
}

/** Maximum number of workers in the table. */
const workersShown = 12
/** Age in seconds from which the last heartbeat shows that a worker is not up. */
const downAfterS = 60

function workerTable({ workers: rows, now }: SystemData): Html {
  if (rows.length === 0)
    return html`<div class="empty">
      <p class="muted">No worker is running.</p>
      ${command('sluice worker')}
    </div>`
  const isUp = (row: WorkerRow): boolean => row.idleS < downAfterS
  const shown = [...rows.filter(isUp), ...rows.filter((row) => !isUp(row))].slice(0, workersShown)
  return html`${table({
    caption: 'Workers with a heartbeat within the last day',
    isCards: false,
    columns: ['Process', 'Role', 'Heartbeat'],
    rows: shown.map(
      (row) =>
        html`<tr>
          <td>${row.host} <span class="muted">${row.pid}</span></td>
          <td>${row.role}</td>
          <td>${isUp(row) ? badge('up', 'ok') : badge(html`last ${ago(now - row.idleS * 1000, now)}`, 'idle')}</td>
        </tr>`,
    ),
  })}
  ${rows.length > shown.length ? html`<p class="muted pad">and ${plural(rows.length - shown.length, 'more worker')}</p>` : none}`
}

function queueView({ queue: state, budgets, now }: SystemData): Html {
  const hasSeveralServices = new Set(budgets.map(({ class: name }) => budgetParts(name).service)).size > 1
  return html`<dl class="facts-list">
      <dt>Queued runs</dt>
      <dd>${state.queued === 0 ? 'none' : `${count(state.queued)}, the oldest waits ${duration(state.oldestS * 1000)}`}</dd>
      <dt>Running</dt>
      <dd>${count(state.running)}</dd>
      ${budgets.map(
        (row) =>
          html`<dt class="mono">${budgetName(row.class, hasSeveralServices)}</dt>
            <dd>
              ${count(row.used)} of ${count(row.limit)} requests in the last ${count(Math.floor(row.windowMs / 60_000))}
              min${row.blockedUntil !== null && row.blockedUntil.getTime() > now ? html`, blocked until ${clockTime(row.blockedUntil)}` : none}
            </dd>`,
      )}
    </dl>
    ${budgets.length === 0 ? html`<p class="muted">No request was sent yet. The rate budget appears with the first request.</p>` : none}`
}

function alertTable({ deliveries, receivers, environment, now }: SystemData): Html {
  if (receivers.length === 0)
    return html`<div class="empty">
      <p>
        No receiver is configured. Alerts go to Slack, a signed webhook or email when action is needed, and again when the condition is
        over.
      </p>
      <pre tabindex="0"><code># sluice.yaml
alerts:
  ops: { type: slack, url: "\${SLACK_WEBHOOK}" }
  default: [ops]</code></pre>
    </div>`
  if (deliveries.length === 0) return html`<div class="empty"><p class="muted">Nothing was sent yet to ${receivers.join(', ')}.</p></div>`
  return table({
    caption: 'Latest alerts',
    isCards: false,
    columns: ['When', 'What', 'Receiver', 'State'],
    rows: deliveries.map(
      (line) =>
        html`<tr>
          <td class="nowrap">${ago(line.createdAt, now)}</td>
          <td>${line.pipeline} ${line.event} <span class="muted">${line.state}</span>${otherEnvironment(line, environment)}</td>
          <td>${line.receiver}</td>
          <td>
            ${line.deliveredAt !== null ? 'delivered' : line.failedAt !== null ? `given up: ${line.lastError ?? ''}` : line.attempts === 0 ? 'waits' : `attempt ${line.attempts}: ${line.lastError ?? ''}`}
          </td>
        </tr>`,
    ),
  })
}

/** Renders the environment of an alert if it is not that of the server. */
function otherEnvironment({ environment: alertEnvironment }: DeliveryLine, own: Fence): Html {
  if (alertEnvironment.origin === '' || environmentKey(alertEnvironment) === environmentKey(own)) return none
  return html`<br /><span class="muted">${alertEnvironment.origin} as ${alertEnvironment.credentials}</span>`
}

function webhookView({ webhooks: state, now }: SystemData): Html {
  if (state.lastAt === null)
    return html`<p class="muted">No event was received yet.</p>
      <p>${command('sluice webhooks add https://hooks.example.com/webhooks')}</p>`
  return html`<dl class="facts-list">
    <dt>Last event</dt>
    <dd>${ago(state.lastAt, now)}</dd>
    <dt>Last 24 hours</dt>
    <dd>${plural(state.lastDayCount, 'event')}</dd>
  </dl>`
}

/**
 * Returns the shown name of a budget: its class, the user in brackets, and the service if `hasSeveralServices`. Example:
 * `http://127.0.0.1:4010 7 product_puts` becomes `product_puts (7)`, or `product_puts (7) at 127.0.0.1:4010`.
 */
function budgetName(name: string, hasSeveralServices: boolean): string {
  const { service, user, limitClass } = budgetParts(name)
  const host = hasSeveralServices && URL.canParse(service) ? ` at ${new URL(service).host}` : ''
  return `${limitClass}${user === '' ? '' : ` (${user})`}${host}`
}

/** Splits the stored name of a budget: its service, its user, and the class of its requests. The user may be empty. */
function budgetParts(name: string): { readonly service: string; readonly user: string; readonly limitClass: string } {
  const [, service = '', user = '', limitClass = name] = /^(\S+) (.*?) ?(\S+)$/.exec(name) ?? []
  return { service, user, limitClass }
}
