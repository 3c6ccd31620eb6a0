/** Renders a run as a funnel: each step is a number, with a bar of its parts. */
import type { RunCounts, Settled } from '../model/report.ts'
import { isShown, runSteps, settledText, figureText, type Figure, type Step } from '../sync/reports/runSteps.ts'
import { count, html, none, plural, raw, type Html } from './html.ts'

/** Colour and shape of a part. */
type PartTone = 'ok' | 'warn' | 'fail' | 'info' | 'accent' | 'soft' | 'idle'

const tones: Partial<Record<Figure['countName'], PartTone>> = {
  valid: 'accent',
  rejected: 'fail',
  duplicates: 'warn',
  filtered: 'idle',
  creates: 'ok',
  updates: 'info',
  deletes: 'fail',
  confirmed: 'ok',
  refused: 'fail',
  ambiguous: 'warn',
}

const partTone = ({ countName: name }: Figure): PartTone => tones[name] ?? 'soft'

/** Renders the steps of a run from its counts: rows, planned changes, outcomes. `settled`: what the run settled of earlier runs. */
export function funnel(counts: RunCounts, settled?: Settled): Html {
  const { rows, changes, notPlanned, outcomes } = runSteps(counts)
  const notPlannedTexts = notPlanned
    .filter(isShown)
    .map((figure) => `${figureText(figure)}${figure.note === '' ? '' : ` (${figure.note})`}`)
  return html`<div class="funnel">
    ${stepView(rows, '')}${stepView(changes, notPlannedTexts.join(' · '))}${stepView(outcomes, sentText(counts, settled))}
  </div>`
}

/** Returns `in 3 requests`, and what they settled of earlier runs. */
function sentText({ requests }: RunCounts, settled: Settled | undefined): string {
  return [`in ${plural(requests, 'request')}`, ...(settled === undefined ? [] : [settledText(settled)])].join(' · ')
}

function stepView({ name, whole, parts }: Step, note: string): Html {
  const sum = parts.reduce((total, part) => total + part.value, 0)
  return html`<div class="funnel-step">
    <p class="funnel-line">
      <b>${count(whole)}</b> <strong>${name}</strong
      ><span class="funnel-sum">= ${parts.map(figureText).join(' + ')}${sum === whole ? '' : ` (${count(whole - sum)} still open)`}</span
      >${note === '' ? none : html`<span class="funnel-sum">· ${note}</span>`}
    </p>
    ${partsBar(parts)}
    <ul class="parts" aria-hidden="true">
      ${parts.map((part) => html`<li${part.value === 0 ? raw(' class="zero"') : none}><svg class="swatch ${partTone(part)}" viewBox="0 0 12 12">${raw(swatches[partTone(part)])}</svg><span>${part.name} <strong>${count(part.value)}</strong></span></li>`)}
    </ul>
  </div>`
}

/** Each colour has its own shape, for readers who cannot distinguish colours. */
const swatches: Readonly<Record<PartTone, string>> = {
  ok: '<circle cx="6" cy="6" r="5.5"/>',
  accent: '<rect width="12" height="12" rx="3"/>',
  info: '<path d="M6 0 12 6 6 12 0 6z"/>',
  warn: '<path d="M6 .5 12 11.5H0z"/>',
  fail: '<path d="M3.5 0h5L12 3.5v5L8.5 12h-5L0 8.5v-5z"/>',
  soft: '<rect y="4" width="12" height="4"/>',
  idle: '<rect x="4" width="4" height="12"/>',
}

/** Renders one bar, in which each part above 0 has a width by its value. */
function partsBar(parts: readonly Figure[]): Html {
  const shown = parts.filter(({ value }) => value > 0)
  const total = shown.reduce((sum, { value }) => sum + value, 0)
  // Each part has at least about 1 % of the width, so that rare results are visible.
  const widths = shown.map(({ value }) => Math.max(1, (value / total) * 100))
  const scale = 100 / widths.reduce((sum, width) => sum + width, 0)
  let x = 0
  const rects = shown.map((part, i) => {
    const width = (widths[i] ?? 0) * scale
    const rect = `<rect class="${partTone(part)}" x="${x.toFixed(2)}%" y="0" width="${Math.max(0.3, width - (i < shown.length - 1 ? 0.25 : 0)).toFixed(2)}%" height="22"/>`
    x += width
    return rect
  })
  return html`<svg class="stack" aria-hidden="true">${raw(rects.join(''))}</svg>`
}
