/** Renders a run as a funnel: each step is a number, with a bar of its parts. */
import { raw } from 'hono/html'
import type { RunCounts } from '../model/report.ts'
import { count, html, none, type Html } from './html.ts'

interface Part {
  readonly name: string
  readonly value: number
  readonly tone: 'ok' | 'warn' | 'fail' | 'info' | 'accent' | 'soft' | 'idle'
}

interface Step {
  readonly name: string
  readonly whole: number
  readonly parts: readonly Part[]
  readonly note?: string
}

/** Returns the steps of a run. The parts of a step add up to its `whole` once the run has ended. */
export function flowSteps(counts: RunCounts): readonly Step[] {
  const planned = counts.creates + counts.updates + counts.deletes + counts.renewals
  return [
    {
      name: 'rows read',
      whole: counts.read,
      parts: [
        { name: 'valid', value: counts.valid, tone: 'accent' },
        { name: 'rejected', value: counts.rejected, tone: 'fail' },
        { name: 'duplicates', value: counts.duplicates, tone: 'warn' },
        { name: 'suppressed', value: counts.suppressed, tone: 'soft' },
        ...(counts.filtered === undefined ? [] : [{ name: 'filtered', value: counts.filtered, tone: 'idle' as const }]),
      ],
    },
    {
      name: 'changes planned',
      whole: planned,
      parts: [
        { name: 'creates', value: counts.creates, tone: 'ok' },
        { name: 'updates', value: counts.updates, tone: 'info' },
        { name: 'deletes', value: counts.deletes, tone: 'fail' },
        { name: 'renewals', value: counts.renewals, tone: 'soft' },
      ],
      note: [
        `${count(counts.unchanged)} unchanged`,
        ...(counts.stale > 0 ? [`${count(counts.stale)} stay as they were`] : []),
        ...(counts.withheld > 0 ? [`${count(counts.withheld)} deletes withheld`] : []),
        ...(counts.deferred > 0 ? [`${count(counts.deferred)} left for the next run`] : []),
      ].join(' · '),
    },
    {
      name: 'changes decided',
      whole: planned,
      parts: [
        { name: 'confirmed', value: counts.confirmed, tone: 'ok' },
        { name: 'refused', value: counts.refused, tone: 'fail' },
        { name: 'unresolved', value: counts.ambiguous, tone: 'warn' },
        { name: 'not sent', value: counts.pending, tone: 'soft' },
      ],
      note: `in ${count(counts.requests)} ${counts.requests === 1 ? 'request' : 'requests'}`,
    },
  ]
}

export function flow(counts: RunCounts): Html {
  return html`<div class="flow">${flowSteps(counts).map(step)}</div>`
}

function step({ name, whole, parts, note }: Step): Html {
  const sum = parts.reduce((total, part) => total + part.value, 0)
  return html`<div class="flow-step">
    <p class="flow-line">
      <b>${count(whole)}</b> <strong>${name}</strong
      ><span class="flow-sum"
        >=
        ${parts.map((part) => `${count(part.value)} ${part.name}`).join(' + ')}${sum === whole ? '' : ` (${count(whole - sum)} still open)`}</span
      >${note === undefined || note === '' ? none : html`<span class="flow-sum">· ${note}</span>`}
    </p>
    ${stack(parts)}
    <ul class="parts" aria-hidden="true">
      ${parts.map((part) => html`<li${part.value === 0 ? raw(' class="zero"') : none}><svg class="swatch ${part.tone}" viewBox="0 0 12 12">${raw(swatches[part.tone])}</svg><span>${part.name} <strong>${count(part.value)}</strong></span></li>`)}
    </ul>
  </div>`
}

/** Each colour has its own shape, for readers who cannot distinguish colours. */
const swatches: Readonly<Record<Part['tone'], string>> = {
  ok: '<circle cx="6" cy="6" r="5.5"/>',
  accent: '<rect width="12" height="12" rx="3"/>',
  info: '<path d="M6 0 12 6 6 12 0 6z"/>',
  warn: '<path d="M6 .5 12 11.5H0z"/>',
  fail: '<path d="M3.5 0h5L12 3.5v5L8.500 12h-5L0 8.500v-5z"/>',
  soft: '<rect y="4" width="12" height="4"/>',
  idle: '<rect x="4" width="4" height="12"/>',
}

function stack(parts: readonly Part[]): Html {
  const shown = parts.filter(({ value }) => value > 0)
  const total = shown.reduce((sum, { value }) => sum + value, 0)
  // Each part is at least 1 % wide, so that rare results are visible.
  const widths = shown.map(({ value }) => Math.max(1, (value / total) * 100))
  const scale = 100 / widths.reduce((sum, width) => sum + width, 0)
  let x = 0
  const rects = shown.map(({ tone }, i) => {
    const width = (widths[i] ?? 0) * scale
    const rect = `<rect class="${tone}" x="${x.toFixed(2)}%" y="0" width="${Math.max(0.3, width - (i < shown.length - 1 ? 0.25 : 0)).toFixed(2)}%" height="22"/>`
    x += width
    return rect
  })
  return html`<svg class="stack" aria-hidden="true">${raw(rects.join(''))}</svg>`
}
