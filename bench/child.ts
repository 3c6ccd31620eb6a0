/** Runs one measured function in a separate process, so that its memory and compiled code are not shared: `child.ts FILE EXPORT JSON`. */
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepMemoryFlat } from '../src/flatMemory.ts'
import { peakMebibytes } from '../test/support/peakMemory.ts'

export interface Measured {
  readonly seconds: number
  /** Processor time of the process during the work, in seconds. It depends less on other load than `seconds`. */
  readonly processorSeconds: number
  /** Peak resident memory. */
  readonly megabytes: number
  readonly [more: string]: unknown
}

/** Calls the export `work` of the module `file` with `input` in a new process. Returns its result with its peak memory. */
export async function inChild(file: string, work: string, input: unknown): Promise<Measured> {
  // The compile cache stores the modules without types, because the installed package contains JavaScript.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'sluice-bench-compiled') }
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), file, work, JSON.stringify(input)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error(`${work} ended with ${code}`)
  return JSON.parse(text) as Measured
}

export async function medianOf(count: number, run: () => Promise<Measured>): Promise<Measured> {
  const all: Measured[] = []
  for (let i = 0; i < count; i++) all.push(await run())
  const sorted = all.toSorted((a, b) => a.seconds - b.seconds)
  const middle = sorted[Math.floor(count / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return { ...middle, megabytes: Math.max(...all.map(({ megabytes }) => megabytes)) }
}

async function work(): Promise<void> {
  // The command line does the same.
  keepMemoryFlat()
  const [, , file = '', name = '', input = '{}'] = process.argv
  const module = (await import(new URL(file, import.meta.url).href)) as Record<string, (input: unknown) => Promise<object>>
  const before = process.cpuUsage()
  const result = await module[name]?.(JSON.parse(input))
  const { user, system } = process.cpuUsage(before)
  const processorSeconds = (user + system) / 1e6
  process.stdout.write(JSON.stringify({ processorSeconds, ...result, megabytes: peakMebibytes() }), () => process.exit(0))
}

// Not awaited, because the imported module may import this one.
if (process.argv[1] === fileURLToPath(import.meta.url)) void work()
