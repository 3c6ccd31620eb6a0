/** One piece of work in a process of its own, so that memory and compiled code are its own: `child.ts FILE EXPORT JSON`. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepMemoryFlat } from '../src/flatMemory.ts'

export interface Measured {
  readonly seconds: number
  /** Processor time of the process while it did the work, which depends less on other load. */
  readonly processorSeconds: number
  /** Most that was resident at any time. */
  readonly megabytes: number
  readonly [more: string]: unknown
}

/** Runs `export` of a module beside this one with `input`, in a new process; what it returns, with its peak memory. */
export async function inChild(file: string, work: string, input: unknown): Promise<Measured> {
  // Types are stripped once and kept, because the package that people install holds JavaScript.
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

/** Returns the highest memory of this process. Linux keeps it; `maxRSS` elsewhere may contain that of the parent. */
function peakMegabytes(): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    if (kilobytes !== undefined) return Math.round(Number(kilobytes) / 1024)
  } catch {
    // Not Linux.
  }
  return Math.round(process.resourceUsage().maxRSS / 1024)
}

async function work(): Promise<void> {
  // As the command line does.
  keepMemoryFlat()
  const [, , file = '', name = '', input = '{}'] = process.argv
  const module = (await import(new URL(file, import.meta.url).href)) as Record<string, (input: unknown) => Promise<object>>
  const before = process.cpuUsage()
  const result = await module[name]?.(JSON.parse(input))
  const { user, system } = process.cpuUsage(before)
  const processorSeconds = (user + system) / 1e6
  process.stdout.write(JSON.stringify({ processorSeconds, ...result, megabytes: peakMegabytes() }), () => process.exit(0))
}

// Not awaited: the module that is imported may itself import this one.
if (process.argv[1] === fileURLToPath(import.meta.url)) void work()
