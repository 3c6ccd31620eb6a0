/** Renders rejected rows by code. */
import { cutText } from '../cutText.ts'
import type { RejectGroup } from '../sync/reports/runDetails.ts'
import { hintOf, html, none, plural, table, type Html } from './html.ts'

/**
 * Renders each group with its count, hint, and samples with masked cells. `columnsOf`: returns the columns of a source by its number;
 * without it, no cells are shown.
 */
export function rejectGroups(groups: readonly RejectGroup[], columnsOf: (source: number) => readonly string[] = () => []): Html {
  return html`${groups.map((group) => {
    const { samples } = group
    const columns = [...new Set(samples.flatMap(({ source }) => shownColumns(columnsOf(source), group.field)))]
    return html`<article class="card">
      <div class="pad">
        <div class="section-head">
          <h3><code>${group.code}</code> <span class="muted">${plural(group.count, 'row')}</span></h3>
          ${group.field === '' ? none : html`<span class="chip">${group.field}</span>`}
        </div>
        ${hintOf(group.hint)}
      </div>
      <div class="scroll" tabindex="0" role="group" aria-label="First rows with ${group.code}">
        ${table({
          caption: `First rows with ${group.code}`,
          isCards: false,
          columns: [['Line', 'right narrow'], 'What is wrong', ...columns],
          rows: samples.map(
            (sample) =>
              html`<tr>
                <td class="right mono">${sample.line}</td>
                <td>${sample.message}</td>
                ${columns.map((column) => html`<td>${cutText(sample.cells[columnsOf(sample.source).indexOf(column)] ?? '', 80)}</td>`)}
              </tr>`,
          ),
        })}
      </div>
      ${group.count > samples.length ? html`<p class="pad small muted">and ${plural(group.count - samples.length, 'more row')}</p>` : none}
    </article>`
  })}`
}

/** Returns the columns of a source to show: the first one and the one named like the field, else the first three. */
function shownColumns(columns: readonly string[], field: string): readonly string[] {
  const fieldColumn = columns.find((name) => name.toLowerCase() === field.toLowerCase())
  return fieldColumn === undefined ? columns.slice(0, 3) : [...columns.slice(0, 1), fieldColumn]
}
