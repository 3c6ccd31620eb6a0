/** Renders the progress of a running stage. */
import type { StoredProgress } from '../db/runColumns.ts'
import { count, duration, html, none, type Html } from './html.ts'

const stageWords: Readonly<Record<StoredProgress['stage'], string>> = {
  settle: 'Resolving earlier requests',
  read: 'Reading the source',
  diff: 'Comparing',
  plan: 'Planning',
  push: 'Sending',
  audit: 'Reading the catalog back',
}

/**
 * Renders the progress of a running stage: done, rate, time left. Numbers that are not known yet are left out. `now`: in milliseconds since
 * 1970. `form`: `short` shows only the first known number.
 */
export function progressView(progress: StoredProgress, now: number, form: 'short' | 'long'): Html {
  const { stage, done, total } = progress
  const seconds = (Date.parse(progress.at) - Date.parse(progress.stageStartedAt)) / 1000
  // There is no rate in the first two seconds, because it would not be representative.
  const perSecond = seconds >= 2 && done > 0 ? done / seconds : undefined
  const left =
    perSecond === undefined || total === undefined
      ? undefined
      : Math.max(0, (total - done) / perSecond - (now - Date.parse(progress.at)) / 1000)
  const parts = [
    total === undefined ? (done > 0 ? `${count(done)} rows` : '') : `${count(done)} of ${count(total)}`,
    perSecond === undefined ? '' : `${count(Math.round(perSecond))}/s`,
    left === undefined ? '' : `${duration(left * 1000)} left`,
    progress.rejected ? `${count(progress.rejected)} rejected` : '',
  ].filter((part) => part !== '')
  if (form === 'short') return html` ${stageWords[stage].toLowerCase()} ${parts.slice(0, 1).join('')}`
  return html`<div class="progress">
    <p><strong>${stageWords[stage]}</strong> <span class="muted">${parts.join(' · ')}</span></p>
    ${total === undefined || total === 0 ? none : html`<progress max="${total}" value="${done}" aria-label="${stageWords[stage]}">${count(done)} of ${count(total)}</progress>`}
    ${progress.waiting === undefined ? none : html`<p class="small muted">${progress.waiting}</p>`}
  </div>`
}
