import type { Answer } from '../../../service/client/exchange.ts'
import type { ReportFinding } from './finding.ts'

/** Clock difference in seconds above which the doctor warns: clocks that NTP synchronizes differ by less. */
export const clockWarningS = 30
/**
 * Clock difference in seconds above which the service refuses the first signed request of a process (docs/spec-notes.md#signing). After the
 * refusal, the transport signs with the service's time.
 */
const clockLimitS = 300

/** Compares this machine's clock with the Date header of the service. `answeredMs`: when the answer arrived, in milliseconds since 1970. */
export function examineClock(answer: Answer, answeredMs: number, report: ReportFinding): void {
  const date = Date.parse(answer.headers['date'] ?? '')
  if (Number.isNaN(date)) return report({ check: 'clock', state: 'warning', message: 'the service sent no Date header to compare with' })
  const offsetS = Math.abs(answeredMs - date) / 1000
  if (offsetS <= clockWarningS)
    return report({ check: 'clock', state: 'ok', message: `${offsetS.toFixed(1)} s from the clock of the service` })
  const effect = offsetS > clockLimitS ? ': each process corrects this after one refused request' : ''
  report({
    check: 'clock',
    state: 'warning',
    message: `${offsetS.toFixed(0)} s from the clock of the service${effect}`,
    hint: 'set the clock of this machine (NTP)',
  })
}
