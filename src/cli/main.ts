#!/usr/bin/env node
import { fstatSync } from 'node:fs'
import module from 'node:module'
import { keepMemoryFlat } from '../flatMemory.ts'
import type { Output } from './context.ts'
import { styleFor } from './terminal/style.ts'
import { writeFully } from './wholeFile.ts'

// Caches compiled code between starts, so that help takes a third less time.
module.enableCompileCache()
// Called before the command is imported, because otherwise loading takes 20 MB more.
keepMemoryFlat()

process.exitCode = await main(process.argv.slice(2))
endSoon()

/** Runs a command, from arguments to exit code. The only place that may end the process. */
async function main(argv: readonly string[]): Promise<number> {
  const stdout = output(process.stdout)
  const stderr = output(process.stderr)
  const inFlight = { requests: 0 }
  const stop = stopOnSignals(stderr, inFlight)
  try {
    const { execute } = await import('./execute.ts')
    const { code, finished } = await execute(argv, { stdout, stderr, env: process.env, inFlight, signal: stop.signal })
    return stop.exitCode() ?? (finished ? await afterOutput(stdout, stderr, code) : code)
  } finally {
    stop.release()
  }
}

/** Returns the exit code of a finished command: 1 if its results could not be written. */
async function afterOutput(stdout: Stream, stderr: Stream, code: number): Promise<number> {
  const failure = stdout.failure()
  if (failure === undefined) return code
  const { errorLines } = await import('./terminal/present.ts')
  const ending = code === 0 ? 'succeeded' : `ended with exit code ${code}`
  stderr.write(
    errorLines({
      code: 'OUTPUT_FAILED',
      message: `the results could not be written to stdout (${failure.code ?? failure.message}); the command itself ${ending}`,
      where: 'stdout',
      hint: 'free some space, or choose another file; sluice runs shows what was done',
    }),
  )
  return 1
}

/** Ends the process after the output is written, even with sockets still open. */
function endSoon(): void {
  setTimeout(() => (process.stdout.writableLength + process.stderr.writableLength === 0 ? process.exit() : endSoon()), 500).unref()
}

interface Stream extends Output {
  /** Error of the first write that failed, other than to a closed pipe. */
  readonly failure: () => NodeJS.ErrnoException | undefined
}

function output(stream: NodeJS.WriteStream & { readonly fd: number }): Stream {
  // After a closed pipe (`| head`) or a full disk, the command continues to a safe state without output.
  let closed = false
  let failed: NodeJS.ErrnoException | undefined
  const fail = (error: NodeJS.ErrnoException) => {
    closed = true
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') failed ??= error
  }
  stream.on('error', fail)
  const file = !stream.isTTY && isFile(stream.fd)
  return {
    write: (text) => {
      if (closed) return
      if (!file) return void stream.write(text)
      try {
        // Node's own stream treats a partial write to a file as complete.
        writeFully(stream.fd, text)
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)))
      }
    },
    failure: () => failed,
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : undefined
    },
    style: styleFor(stream, process.env),
  }
}

function isFile(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor)
    return stat.isFile() || stat.isCharacterDevice()
  } catch {
    return false
  }
}

interface Stop {
  readonly signal: AbortSignal
  /** Returns 130 or 143 after a signal; else undefined. */
  readonly exitCode: () => number | undefined
  readonly release: () => void
}

/**
 * Stops the command at a safe state on the first signal, and immediately on a second one. Both are safe, because the next run
 * resolves requests in flight. A second signal within 300 ms is ignored: the terminal and the launcher may both deliver one Ctrl-C.
 */
function stopOnSignals(stderr: Output, inFlight: { readonly requests: number }): Stop {
  const controller = new AbortController()
  let first: { readonly code: number; readonly at: number } | undefined
  const on = (code: number) => {
    const at = performance.now()
    if (!first) {
      first = { code, at }
      const { requests } = inFlight
      const waits = requests === 0 ? '' : `, ${requests} request${requests === 1 ? '' : 's'} in flight`
      stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}Stopping${waits}… press Ctrl-C again to force quit\n`)
      controller.abort()
    } else if (at - first.at > 300) {
      const { requests } = inFlight
      const left = requests === 0 ? '' : `; ${requests} request${requests === 1 ? '' : 's'} in flight, which the next run resolves`
      stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}Forced to quit. What was confirmed is kept${left}.\n`)
      process.exit(first.code)
    }
  }
  const handlers = { SIGINT: () => on(130), SIGTERM: () => on(143), SIGHUP: () => on(143) } as const
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler)
  // Called if the launcher died unexpectedly (SIGKILL).
  const onDisconnect = () => on(143)
  if (process.channel) {
    process.on('disconnect', onDisconnect)
    process.channel.unref()
  }
  return {
    signal: controller.signal,
    exitCode: () => first?.code,
    release: () => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler)
      process.off('disconnect', onDisconnect)
      if (process.connected) process.disconnect()
    },
  }
}
