/** Renders rejected rows by code: count, hint, samples with masked cells. `columns`: columns of the source; empty to show no cells. */
import type { RejectGroup } from '../sync/reports/runDetails.ts'
import { count, hintOf, html, none, plural, type Html } from './html.ts'

export function rejectGroups(
  groups: readonly RejectGroup[],
  options: { readonly columns: readonly string[]; readonly samples: number },
): Html {
  return html`${groups.map((group) => {
    const samples = group.samples.slice(0, options.samples)
    const places = placesOf(group, options.columns)
    return html`<article class="card">
      <div class="pad">
        <div class="section-head">
          <h3><code>${group.code}</code> <span class="muted">${plural(group.count, 'row')}</span></h3>
          ${group.field === '' ? none : html`<span class="chip">${group.field}</span>`}
        </div>
        ${hintOf(group.hint)}
      </div>
      <div class="scroll">
        <table>
          <caption class="sr">
            First rows with ${group.code}
          </caption>
          <thead>
            <tr>
              <th class="right narrow">Line</th>
              <th>What is wrong</th>
              ${places.map((at) => html`<th>${options.columns[at] ?? ''}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${samples.map(
              (sample) =>
                html`<tr>
                  <td class="right mono">${count(sample.line)}</td>
                  <td>${sample.message}</td>
                  ${places.map((at) => html`<td>${(sample.cells[at] ?? '').slice(0, 80)}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${group.count > samples.length ? html`<p class="pad small muted">and ${plural(group.count - samples.length, 'more row')}</p>` : none}
    </article>`
  })}`
}

/** Returns the indexes of the columns to show: the first one and the one named like the field, else the first three. */
function placesOf(group: RejectGroup, columns: readonly string[]): readonly number[] {
  const own = columns.findIndex((name) => name.toLowerCase() === group.field.toLowerCase())
  return [...new Set([0, ...(own < 0 ? [1, 2] : [own])])].filter((at) => at < columns.length).slice(0, 3)
}
