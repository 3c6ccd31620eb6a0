/** Renders the progress of a running stage. */
import type { StoredProgress } from '../db/runs/columns.ts'
import { count, duration, html, none, plural, type Html } from './html.ts'

const stageWords: Readonly<Record<StoredProgress['stage'], string>> = {
  settle: 'Resolving earlier requests',
  read: 'Reading the source',
  diff: 'Comparing',
  plan: 'Planning',
  push: 'Sending',
  audit: 'Reading the catalog back',
}

/** Returns the progress of a running stage as a text: `sending 228 of 334`. */
export function progressText(progress: StoredProgress): string {
  return `${stageWords[progress.stage].toLowerCase()} ${doneText(progress)}`
}

/** Returns `228 of 334`, or `228` without a total. Only the read counts rows; other stages count operations, or products of a listing. */
function doneText({ stage, done, total }: StoredProgress): string {
  if (total !== undefined) return `${count(done)} of ${count(total)}`
  if (done === 0) return ''
  return stage === 'read' ? plural(done, 'row') : count(done)
}

/**
 * Renders the progress of a running stage: done, rate, time left. Numbers that are not known yet are left out. `now`: in milliseconds since
 * 1970.
 */
export function progressView(progress: StoredProgress, now: number): Html {
  const { stage, done, total } = progress
  const seconds = (Date.parse(progress.at) - Date.parse(progress.stageStartedAt)) / 1000
  // There is no rate in the first two seconds, because it would not be representative.
  const perSecond = seconds >= 2 && done > 0 ? done / seconds : undefined
  const left =
    perSecond === undefined || total === undefined
      ? undefined
      : Math.max(0, (total - done) / perSecond - (now - Date.parse(progress.at)) / 1000)
  const parts = [
    doneText(progress),
    perSecond === undefined ? '' : `${count(Math.round(perSecond))}/s`,
    left === undefined ? '' : `${duration(left * 1000)} left`,
    progress.rejected ? `${count(progress.rejected)} rejected` : '',
  ].filter((part) => part !== '')
  return html`<div class="progress">
    <p><strong>${stageWords[stage]}</strong> <span class="muted">${parts.join(' · ')}</span></p>
    ${total === undefined || total === 0 ? none : html`<progress max="${total}" value="${done}" aria-label="${stageWords[stage]}">${doneText(progress)}</progress>`}
    ${progress.waiting === undefined ? none : html`<p class="small muted">${progress.waiting}</p>`}
  </div>`
}
