import type { Answer } from '../../../service/client/exchange.ts'
import type { ReportFinding } from './finding.ts'

/**
 * Clock difference in seconds that causes a warning, because a synchronized clock is closer. The service refuses signatures if the
 * difference is over 300 seconds.
 */
export const clockWarningS = 30
const clockLimitS = 300

/** Compares this machine's clock with the Date header of the service. `nowMs`: time of this machine, in milliseconds since 1970. */
export function examineClock(answer: Answer, nowMs: number, report: ReportFinding): void {
  const date = Date.parse(answer.headers['date'] ?? '')
  if (Number.isNaN(date)) return report({ check: 'clock', state: 'warning', message: 'the service sent no Date header to compare with' })
  const offsetS = Math.abs(nowMs - date) / 1000
  if (offsetS > clockLimitS)
    report({
      check: 'clock',
      state: 'failed',
      message: `${offsetS.toFixed(0)} s from the service: signatures are refused`,
      hint: 'set the clock of this machine (NTP)',
    })
  else if (offsetS > clockWarningS)
    report({
      check: 'clock',
      state: 'warning',
      message: `${offsetS.toFixed(0)} s from the service`,
      hint: 'set the clock of this machine (NTP)',
    })
  else report({ check: 'clock', state: 'ok', message: `${offsetS.toFixed(1)} s from the service` })
}
