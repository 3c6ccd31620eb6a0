/** Named points at which a test can kill the process (docs/faults.md, W1). */

const [crashLabel, crashCall = '1'] = (process.env['CRASH_AT'] ?? '').split(':')
let calls = 0

/** Kills the process with SIGKILL in the n-th call with `label`, if the environment has `CRASH_AT=label:n`. Default of n: 1. */
export function crashPoint(label: string): void {
  if (label !== crashLabel) return
  calls++
  if (calls === Number(crashCall)) process.kill(process.pid, 'SIGKILL')
}
