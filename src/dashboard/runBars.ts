/** Renders the last runs as bars: height by changes, colour and mark by state. */
import type { RecentRun } from '../sync/reports/overview.ts'
import { html, raw, type Html } from './html.ts'
import { runState, stateWord, toneOf } from './states.ts'

const maxBars = 30
/** Width of a bar and the gap after it, in units of the view box. */
const barPitch = 5
const height = 28

/** Renders the last 30 runs. `runs`: oldest first. */
export function runBars(runs: readonly RecentRun[]): Html {
  if (runs.length === 0) return html`<span class="muted">none</span>`
  const shown = runs.slice(-maxBars)
  const mostChanges = Math.max(1, ...shown.map(({ changes }) => changes))
  const offset = (maxBars - shown.length) * barPitch
  const bars = shown.map((run, i) => {
    const tone = toneOf(runState(run))
    // Logarithmic, so that one large run does not flatten all others.
    const barHeight = Math.max(tone === 'ok' ? 6 : 10, Math.round((Math.log1p(run.changes) / Math.log1p(mostChanges)) * height))
    const x = offset + i * barPitch
    // A notch marks runs that failed, need attention or have not ended. With it, the state is readable without colour.
    const notch = tone === 'ok' || tone === 'idle' ? '' : `<path class="mark" d="M${x} ${height - 3}h4M${x} ${height - 5.4}h4"/>`
    return `<rect class="${tone}" x="${x}" y="${height - barHeight}" width="4" height="${barHeight}" rx="1"/>${notch}`
  })
  const words = new Map<string, number>()
  for (const run of shown) {
    const word = stateWord(runState(run)).toLowerCase()
    words.set(word, (words.get(word) ?? 0) + 1)
  }
  const label = `Last ${shown.length === 1 ? 'run' : `${shown.length} runs`}: ${[...words].map(([word, times]) => `${times} ${word}`).join(', ')}`
  return html`<svg class="bars" viewBox="0 0 ${maxBars * barPitch} ${height}" role="img" aria-label="${label}">
    <rect class="base" x="0" y="${height - 1}" width="${maxBars * barPitch}" height="1" />
    ${raw(bars.join(''))}
  </svg>`
}
