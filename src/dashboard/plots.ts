/** Renders a plot: a heading, a sentence, a table, and a canvas on which the browser draws the table. */
import { count, html, none, raw, type Html } from './html.ts'

/** Line or layer of a plot. */
export interface Series {
  readonly name: string
  /** Name of a custom property of the stylesheet, without `--`. */
  readonly color: string
  readonly dash?: boolean
  /** A value for each label; null if there is none. */
  readonly values: readonly (number | null)[]
}

export interface Plot {
  readonly id: string
  readonly title: string
  /** Summary of the plot in one sentence. */
  readonly summary: string
  readonly kind: 'line' | 'stack'
  /** Heading of the table's first column, which has the labels. */
  readonly labelHeading: string
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  readonly unit?: string
}

/** Renders a plot with its table. */
export function plot({ id, title, summary, kind, labelHeading, labels, series, unit }: Plot): Html {
  return html`<figure class="card plot" data-plot="${kind}" aria-labelledby="${id}">
    <figcaption>
      <h3 id="${id}">${title}${unit === undefined ? none : html` <span class="muted">${unit}</span>`}</h3>
      <p class="small muted">${summary}</p>
    </figcaption>
    <ul class="parts legend" aria-hidden="true">
      ${series.map(({ name, color, dash }) => html`<li><svg class="swatch" viewBox="0 0 12 12">${raw(`<path d="M0 6h12" stroke="var(--${color})" stroke-width="${kind === 'stack' ? 12 : 3}"${dash ? ' stroke-dasharray="4 2"' : ''}/>`)}</svg>${name}</li>`)}
    </ul>
    <div class="canvas" aria-hidden="true"></div>
    <details id="${id}-table">
      <summary>Show as table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="${title} as table">
        <table>
          <caption class="sr">
            ${title}
          </caption>
          <thead>
            <tr>
              <th>${labelHeading}</th>
              ${series.map(({ name, color, dash }) => html`<th class="right" data-color="${color}" ${dash ? raw(' data-dash') : none}>${name}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${labels.map(
              (label, row) =>
                html`<tr>
                  <td>${label}</td>
                  ${series.map(({ values }) => html`<td class="right" data-value="${values[row] ?? ''}">${values[row] == null ? '–' : count(Math.round(values[row]))}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </figure>`
}
