import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Output } from '../../../src/cli/context.ts'
import { execute } from '../../../src/cli/execute.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'

/** The launcher. */
export const launcher = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url))

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CallOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** An empty folder of its own, removed by the system. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
  // Accessible to the user that Postgres runs as if this is root; its files are deleted with the folder.
  chmodSync(folder, 0o755)
  return folder
}

/**
 * Calls the command line in a process of its own, without variables of Sluice in the environment. On the Node of the tests: from an older
 * one, as `start` calls it, the launcher takes 0.1 s of processor time more.
 */
export async function sluice(args: readonly string[], options: CallOptions = {}): Promise<Outcome> {
  const child = start(args, options, process.execPath)
  child.stdin?.end(options.input ?? '')
  return ended(child)
}

/**
 * Calls `sluice` without a process: same arguments, output and exit code in a tenth of the time. Only one call at a time, because the
 * whole process has one working directory. What a process adds (launcher, signals, stdin, terminal) needs `sluice` and `start`.
 */
export async function sluiceHere(args: readonly string[], options: Pick<CallOptions, 'cwd' | 'env'> = {}): Promise<Outcome> {
  const texts = { stdout: '', stderr: '' }
  const style = styleFor({ isTTY: false } as NodeJS.WriteStream, {})
  const output = (name: keyof typeof texts): Output => ({
    write: (text) => void (texts[name] += text),
    isTTY: false,
    columns: undefined,
    style,
  })
  const { PATH = '', HOME = '' } = process.env
  const before = process.cwd()
  process.chdir(options.cwd ?? emptyFolder())
  try {
    const { code } = await execute(args, {
      stdout: output('stdout'),
      stderr: output('stderr'),
      env: { PATH, HOME, ...options.env },
      inFlight: { requests: 0 },
      signal: new AbortController().signal,
    })
    return { code, ...texts }
  } finally {
    process.chdir(before)
  }
}

/** Starts the command line as a user does, by the first Node on the path. */
export function start(args: readonly string[], options: CallOptions = {}, node = 'node'): ChildProcess {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(node, [launcher, ...args], {
    cwd: options.cwd ?? emptyFolder(),
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...options.env },
    stdio: 'pipe',
  })
  // The command ends with its launcher, so that a failed test leaves no process.
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

export function ended(child: ChildProcess): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}

/** Resolves with all of stdout up to the match, once it was printed. */
export function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      if (pattern.test(text)) resolve(text)
    })
    child.on('close', (code) => reject(new Error(`ended with ${code} before it printed ${pattern}: ${text}`)))
  })
}
