/**
 * Reads mutated files with every reader of test/support/fuzzReaders.ts: `npm run fuzz [-- --runs 1000000 --seed 7 --reader rss]`. If there
 * are findings, prints them and exits with 1. If a file takes half a minute, ends the process.
 */
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { fuzzReader, fuzzReaders, type Finding } from '../test/support/fuzzReaders.ts'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '5000' }, seed: { type: 'string' }, reader: { type: 'string' } },
})
const runs = Number(values.runs)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const chosen = fuzzReaders.filter(({ name }) => values.reader === undefined || name === values.reader)
if (!Number.isInteger(runs) || !Number.isInteger(seed) || chosen.length === 0) {
  process.stderr.write(`--runs and --seed are whole numbers, --reader one of ${fuzzReaders.map(({ name }) => name).join(', ')}\n`)
  process.exit(2)
}

const memoryLimit = 1_500_000_000
const progress = new Int32Array(new SharedArrayBuffer(4))
const watchdog = new Worker(
  `const { workerData } = require('node:worker_threads')
   let last = -1
   setInterval(() => {
     if (workerData[0] === last) { process.stderr.write('run ' + last + ' hangs\\n'); process.kill(process.pid, 'SIGKILL') }
     last = workerData[0]
   }, 30_000)`,
  { eval: true, workerData: progress },
)

let findings: Finding[] = []
for (const reader of chosen) {
  const started = performance.now()
  const found = await fuzzReader({
    reader,
    runs,
    seed,
    slowMs: 5_000,
    onRun: (run) => {
      progress[0] = (progress[0] ?? 0) + 1
      if (run % 10_000 === 9_999 && process.memoryUsage.rss() > memoryLimit)
        throw new Error(`${reader.name}: more than ${memoryLimit} bytes resident at run ${run}, seed ${seed}`)
    },
  })
  findings = [...findings, ...found]
  const seconds = (performance.now() - started) / 1000
  process.stdout.write(
    `${reader.name.padEnd(12)} ${runs} files, ${found.length} findings, ${Math.round(runs / seconds)}/s, ${Math.round(process.memoryUsage.rss() / 1e6)} MB, seed ${seed}\n`,
  )
}
await watchdog.terminate()
for (const { reader, run, what, input } of findings.slice(0, 20))
  process.stdout.write(`${reader} run ${run}: ${what}\n  ${input.slice(0, 2_000)}\n`)
process.exitCode = findings.length === 0 ? 0 : 1
