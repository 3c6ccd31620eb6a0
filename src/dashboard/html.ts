/** Renders parts of pages: escaped templates, badges, icons, times, notices. Interpolated values are escaped unless they are Html. */
import { html, raw } from 'hono/html'
import { count, duration, plural } from '../format.ts'

export { count, duration, html, plural, raw }

export type Html = ReturnType<typeof html>

/** Colour and shape of a state. */
export type Tone = 'ok' | 'warn' | 'fail' | 'info' | 'idle'

export const none: Html = raw('')

export type Shape = Tone | 'running' | 'paused'

/** SVG of each shape. Each tone has its own shape, so that a state is readable without colour. */
const shapes: Readonly<Record<Shape, string>> = {
  ok: '<circle cx="8" cy="8" r="7" fill="currentColor"/><path d="m4.8 8.2 2.2 2.2 4.2-4.6" fill="none" stroke="var(--surface)" stroke-width="1.8"/>',
  warn: '<path d="M8 1.2 15.4 14.4H.6z" fill="currentColor"/><path d="M8 6v4M8 11.4v1.4" stroke="var(--surface)" stroke-width="1.7"/>',
  fail: '<path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="currentColor"/><path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" stroke="var(--surface)" stroke-width="1.8"/>',
  info: '<circle cx="8" cy="8" r="7" fill="currentColor"/><path d="M8 7v5M8 4v1.6" stroke="var(--surface)" stroke-width="1.8"/>',
  idle: '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="2.6 2.2"/>',
  running:
    '<circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2" opacity=".35"/><path d="M8 2a6 6 0 0 1 6 6" fill="none" stroke="currentColor" stroke-width="2.2"/>',
  paused: '<path d="M4 2.5h3v11H4zM9 2.5h3v11H9z" fill="currentColor"/>',
}

/** Renders a shape, hidden from screen readers. */
export function icon(shape: Shape): Html {
  return raw(`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${shapes[shape]}</svg>`)
}

/** Renders a word with the colour of `tone` and a shape. */
export function badge(word: Html | string, tone: Tone, shape: Shape = tone): Html {
  return html`<span class="badge ${tone}${shape === 'running' ? ' is-running' : ''}">${icon(shape)}${word}</span>`
}

/** Renders a time as `12 min ago` or `in 3 min`, with the full instant as tooltip and attribute. `now`: in milliseconds since 1970. */
export function ago(at: Date | string | number, now: number): Html {
  const instant = new Date(at)
  return html`<time datetime="${instant.toISOString()}" title="${instant.toISOString()}">${relative(instant.getTime() - now)}</time>`
}

function relative(ms: number): string {
  const seconds = Math.abs(ms) / 1000
  if (seconds < 10) return ms > 0 ? 'in a few seconds' : 'just now'
  const [value, unit] =
    seconds < 90
      ? [seconds, 's']
      : seconds < 5400
        ? [seconds / 60, 'min']
        : seconds < 129_600
          ? [seconds / 3600, 'h']
          : [seconds / 86_400, 'days']
  return ms > 0 ? `in ${Math.round(value)} ${unit}` : `${Math.round(value)} ${unit} ago`
}

/** Renders a time as `2026-11-22 03:00:18 UTC`. */
export function clockTime(at: Date | string | number): Html {
  const iso = new Date(at).toISOString()
  return html`<time class="nowrap" datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`
}

/** Formats a duration given in milliseconds: `340 ms` below one second, else as `duration` does. */
export function formatMs(value: number): string {
  return value < 1000 ? `${Math.round(value)} ms` : duration(value)
}

/** Renders a command to paste into a terminal. */
export function command(text: string): Html {
  return html`<code class="cmd">${text}</code>`
}

/** Renders a box with a message and the shape of its tone. */
export function notice(tone: Tone, body: Html): Html {
  return html`<div class="notice ${tone}">
    ${icon(tone)}
    <div>${body}</div>
  </div>`
}

/** Renders a section with its heading. `id`: of the heading. `count`: beside the heading. `isLive`: a poll replaces the section. */
export function section(id: string, title: string, body: Html, options: { readonly count?: string; readonly isLive?: boolean } = {}): Html {
  const { count: shown, isLive = false } = options
  return html`<section aria-labelledby="${id}" ${isLive ? html` data-live="${id}"` : none}>
    <h2 id="${id}">${title}${shown === undefined ? none : html` <span class="muted">${shown}</span>`}</h2>
    ${body}
  </section>`
}

export interface TableContent {
  readonly caption: string
  /** CSS class of the caption. Default: `sr`, for screen readers only. */
  readonly captionClass?: 'pad' | 'sr'
  /** Headings, some with a CSS class. */
  readonly columns: readonly (string | readonly [heading: string, className: string])[]
  readonly rows: readonly Html[]
  /** If true, a narrow screen shows each row as a card. Default: true. */
  readonly isCards?: boolean
}

export function table({ caption, captionClass = 'sr', columns, rows, isCards = true }: TableContent): Html {
  return html`<table${isCards ? raw(' class="cards"') : none}>
    <caption class="${captionClass}">${caption}</caption>
    <thead>
      <tr>
        ${columns.map((column) => (typeof column === 'string' ? html`<th>${column}</th>` : html`<th class="${column[1]}">${column[0]}</th>`))}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}

/** Renders the notice that a run, plan or batch belongs to another environment; nothing if `elsewhere` is undefined. */
export function otherEnvironmentNotice(elsewhere: string | undefined): Html {
  if (elsewhere === undefined) return none
  return notice('warn', html`<p><strong>Another environment</strong> This belongs to ${elsewhere}. Its actions and commands are there.</p>`)
}

/** Renders the hint of an error or guard: a command with its explanation (after three spaces), or a sentence. Empty without a hint. */
export function hintOf(text: string | undefined): Html {
  if (text === undefined || text === '') return none
  const [line = '', ...rest] = text.split(/ {3}/)
  return line.startsWith('sluice ')
    ? html`<p>${command(line)} <span class="muted small">${rest.join(' ')}</span></p>`
    : html`<p><span class="muted">hint:</span> ${withCode(text)}</p>`
}

/** Renders a text, with the parts between backticks as code. */
function withCode(text: string): Html {
  return html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
