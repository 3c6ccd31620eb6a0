/** Renders a table of product sets with the changes of a plan or a run. */
import type { ProductSetChange } from '../model/report.ts'
import { html, none, section, table, type Html } from './html.ts'
import { stateBadge } from './states.ts'

const marks = { create: '+', update: '~', replace: '~', delete: '−', unchanged: '=' } as const

/** Renders the table; empty without changes. */
export function productSetTable(changes: readonly ProductSetChange[] | undefined): Html {
  if (changes === undefined || changes.length === 0) return none
  return section(
    'sets',
    'Product sets',
    html`<div class="card scroll">
      ${table({
        caption: 'Product sets that this pipeline keeps',
        columns: ['Set', 'Change', 'Outcome'],
        rows: changes.map(
          ({ name, action, outcome, code, message }) =>
            html`<tr>
              <td data-label="Set">${name}</td>
              <td data-label="Change"><span class="diff-mark" aria-hidden="true">${marks[action]}</span> ${action}</td>
              <td data-label="Outcome">
                <span>${stateBadge(outcome)}${code === undefined ? none : html` <code>${code}</code> ${message ?? ''}`}</span>
              </td>
            </tr>`,
        ),
      })}
    </div>`,
    { count: String(changes.length) },
  )
}
