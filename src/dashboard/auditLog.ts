/** Renders the operators' actions of the audit log. */
import type { StoredAction } from '../db/auditLog.ts'
import { clockTime, count, html, none, section, type Html } from './html.ts'

const actionWords: Readonly<Record<string, string>> = {
  'run.requested': 'requested the run',
  'run.cancelled': 'cancelled the run',
  'deletes.approved': 'approved deletes',
  'pipeline.paused': 'paused the pipeline',
  'pipeline.resumed': 'resumed the pipeline',
}

/** Renders the actions in the given order; empty without actions. */
export function auditLogSection(actions: readonly StoredAction[]): Html {
  if (actions.length === 0) return none
  return section(
    'audit',
    'Who did what',
    html`<ol class="card timeline">
      ${actions.map(
        ({ at, actor, what, runId, planId, detail }) =>
          html`<li>
            ${clockTime(at)}
            <div>
              <strong>${actor}</strong>
              ${actionWords[what] ?? what}${upToText(detail['approveDeletes'])}${runId === null ? none : html` <a href="/runs/${runId}">${runId}</a>`}${planId === null ? none : html` <a href="/plans/${planId}">${planId}</a>`}${detail['full'] === true ? ', a full refresh' : ''}${typeof detail['reason'] === 'string' && detail['reason'] !== '' ? html`<br /><span class="muted">“${detail['reason']}”</span>` : none}
            </div>
          </li>`,
      )}
    </ol>`,
  )
}

function upToText(value: unknown): string {
  return typeof value === 'number' ? `, up to ${count(value)}` : ''
}
