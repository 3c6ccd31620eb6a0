/** Named points at which a test can kill the process, as a power failure would (docs/faults.md, injection CP). */

const [wantedLabel, wantedCount] = (process.env['CRASH_AT'] ?? '').split(':')
let passed = 0

/**
 * Does nothing, unless `CRASH_AT=label:n` names this label: then the n-th call kills the process with SIGKILL, before the next
 * statement. The default of n is 1.
 */
export function crashPoint(label: string): void {
  if (label !== wantedLabel) return
  passed++
  if (passed === Number(wantedCount ?? 1)) process.kill(process.pid, 'SIGKILL')
}
