/** Named instants at which a test may have the process die, as if the power went (docs/faults.md, injection CP). */

const [wantedLabel, wantedCount] = (process.env['CRASH_AT'] ?? '').split(':')
let passed = 0

/**
 * Does nothing, unless `CRASH_AT=label:n` names this label: then the n-th passing kills the process with SIGKILL, before
 * anything behind this line happens. n is 1 where it is left out.
 */
export function crashPoint(label: string): void {
  if (label !== wantedLabel) return
  passed++
  if (passed === Number(wantedCount ?? 1)) process.kill(process.pid, 'SIGKILL')
}
