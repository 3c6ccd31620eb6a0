/** Measures the start time of the command line. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median, seconds, type Bench } from './figure.ts'

const program = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))

export const bench: Bench = async ({ report }) => {
  const node = median(timed(9, ['-e', '0']))
  const help = median(timed(9, [program, '--help']))
  report({ figure: 'node -e 0', measured: seconds(node), ratio: '1' })
  report({
    figure: 'sluice --help',
    measured: seconds(help),
    ratio: `${(help / node).toFixed(1)} x node`,
    target: '0.25 s',
    met: help <= 0.25,
  })
}

function timed(count: number, args: readonly string[]): number[] {
  return Array.from({ length: count }, () => {
    const started = performance.now()
    execFileSync(process.execPath, args, { stdio: 'ignore' })
    return (performance.now() - started) / 1000
  })
}
