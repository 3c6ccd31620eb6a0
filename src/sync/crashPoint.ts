/** Named points at which a test can kill the process (docs/faults.md, W1). */

const [wantedLabel, wantedCount] = (process.env['CRASH_AT'] ?? '').split(':')
let passed = 0

/**
 * Kills the process with SIGKILL in the n-th call if `CRASH_AT=label:n` has this label; otherwise does nothing. The default of n is 1.
 */
export function crashPoint(label: string): void {
  if (label !== wantedLabel) return
  passed++
  if (passed === Number(wantedCount ?? 1)) process.kill(process.pid, 'SIGKILL')
}
