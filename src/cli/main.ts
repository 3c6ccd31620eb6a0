#!/usr/bin/env node
import { fstatSync } from 'node:fs'
import module from 'node:module'
import { keepMemoryFlat } from '../flatMemory.ts'
import { plural } from '../format.ts'
import type { Output } from './context.ts'
import { interruptedError } from './interrupted.ts'
import { resolveOwnFiles } from './ownFiles.ts'
import { styleFor } from './terminal/style.ts'
import { writeFully } from './wholeFile.ts'

// Caches compiled code between starts, so that help takes a third less time.
module.enableCompileCache()
resolveOwnFiles()
// Called before the command is imported, because otherwise loading takes 20 MB more.
keepMemoryFlat()

/**
 * Milliseconds from a signal to the forced end of the process. docs/operations.md promises an end within 10 s after Ctrl-C, and within
 * 25 s after SIGTERM. A command needs that long only if the database or a server does not answer.
 */
const stopWithinMs = { SIGINT: 9_000, SIGTERM: 24_000, SIGHUP: 24_000 } as const

process.exitCode = await main(process.argv.slice(2))
exitAfterOutput()

/**
 * Runs a command and returns its exit code. Only this file may end the process, except the fault `crash` of the sandbox and the crash
 * points of tests.
 */
async function main(argv: readonly string[]): Promise<number> {
  const stdout = createOutput(process.stdout)
  const stderr = createOutput(process.stderr)
  const inFlight = { requests: 0 }
  const stop = stopOnSignals(stderr, inFlight, (message) => {
    if (argv.includes('--json') && !stdout.hasStarted()) stdout.write(`${JSON.stringify({ error: interruptedError(message) })}\n`)
  })
  try {
    const { execute } = await import('./execute.ts')
    const { code, threw } = await execute(argv, { stdout, stderr, env: process.env, inFlight, signal: stop.signal })
    return stop.exitCode() ?? (threw ? code : await exitCodeAfterOutput(stdout, stderr, code))
  } finally {
    stop.release()
  }
}

/** Returns `code`. If the results could not be written, prints an error and returns 1. A closed pipe is not an error. */
async function exitCodeAfterOutput(stdout: Stream, stderr: Stream, code: number): Promise<number> {
  const failure = stdout.failure()
  if (failure === undefined) return code
  const { errorLines } = await import('./terminal/present.ts')
  const ending = code === 0 ? 'succeeded' : `ended with exit code ${code}`
  stderr.write(
    errorLines({
      code: 'OUTPUT_FAILED',
      message: `the results could not be written to stdout (${failure.code ?? failure.message}); the command itself ${ending}`,
      where: 'stdout',
      hint: 'free some space, or write to another file; to see what was done: sluice runs',
    }),
  )
  return 1
}

/**
 * Ends the process once its output is written. Does not wait for sockets: Postgres closes a connection only after it has dropped the run's
 * temporary tables. After a large read, that takes half a second.
 */
function exitAfterOutput(): void {
  const exitIfWritten = () => {
    if (process.stdout.writableLength + process.stderr.writableLength === 0) process.exit()
    exitAfterOutput()
  }
  setTimeout(exitIfWritten, 10).unref()
}

interface Stream extends Output {
  /** Returns the error of the first failed write; undefined if all succeeded, or failed because the pipe was closed. */
  readonly failure: () => NodeJS.ErrnoException | undefined
  /** Returns true after the first `write`. */
  readonly hasStarted: () => boolean
}

/** Returns the output to a stream of the process. Its `write` never throws. */
function createOutput(stream: NodeJS.WriteStream & { readonly fd: number }): Stream {
  // If the pipe is closed (`| head`) or the disk is full, the command runs to its end without output.
  let isClosed = false
  let hasStarted = false
  let firstFailure: NodeJS.ErrnoException | undefined
  const fail = (error: NodeJS.ErrnoException) => {
    isClosed = true
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') firstFailure ??= error
  }
  stream.on('error', fail)
  const writesDirectly = !stream.isTTY && isFileOrDevice(stream.fd)
  return {
    write: (text) => {
      hasStarted = true
      if (isClosed) return
      if (!writesDirectly) return void stream.write(text)
      try {
        // Node's own stream treats a partial write to a file as complete.
        writeFully(stream.fd, text)
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)))
      }
    },
    failure: () => firstFailure,
    hasStarted: () => hasStarted,
    isTTY: stream.isTTY === true,
    get columns() {
      // A terminal without a size, such as that of `docker exec -t`, has 0 columns.
      return stream.isTTY && stream.columns > 0 ? stream.columns : undefined
    },
    style: styleFor(stream, process.env),
  }
}

/** Returns true for a file and for a character device, such as `/dev/full`. */
function isFileOrDevice(descriptor: number): boolean {
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
  /** Removes the signal handlers and closes the channel to the launcher. */
  readonly release: () => void
}

/**
 * On the first signal, aborts `Stop.signal`, so that the command stops at a safe state. On a second signal, or after `stopWithinMs`, ends
 * the process. That is safe too, because the next run resolves requests in flight. Ignores a second signal within 300 ms, because the
 * terminal and the launcher may both deliver the same Ctrl-C. `onForcedQuit` gets the message before the process ends.
 */
function stopOnSignals(stderr: Output, inFlight: { readonly requests: number }, onForcedQuit: (message: string) => void): Stop {
  const controller = new AbortController()
  let firstSignal: { readonly code: number; readonly at: number } | undefined
  const quit = (reason: string, code: number) => {
    const { requests } = inFlight
    const unresolved = requests === 0 ? '' : `; ${plural(requests, 'request')} in flight, which the next run resolves`
    stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}${reason}. What was confirmed is kept${unresolved}.\n`)
    onForcedQuit(`${reason.charAt(0).toLowerCase()}${reason.slice(1)}; what was confirmed is kept${unresolved}`)
    process.exit(code)
  }
  const onSignal = (code: number, withinMs: number) => {
    const at = performance.now()
    if (!firstSignal) {
      firstSignal = { code, at }
      const { requests } = inFlight
      const inFlightText = requests === 0 ? '' : `, ${plural(requests, 'request')} in flight`
      stderr.write(`${stderr.isTTY ? '\r\u001b[K' : ''}Stopping${inFlightText}… press Ctrl-C again to force quit\n`)
      controller.abort()
      setTimeout(() => quit(`Forced to quit, because the command did not stop within ${withinMs / 1000} s`, code), withinMs).unref()
    } else if (at - firstSignal.at > 300) quit('Forced to quit', firstSignal.code)
  }
  const handlers = {
    SIGINT: () => onSignal(130, stopWithinMs.SIGINT),
    SIGTERM: () => onSignal(143, stopWithinMs.SIGTERM),
    SIGHUP: () => onSignal(143, stopWithinMs.SIGHUP),
  } as const
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler)
  // The channel to the launcher (bin/sluice.js) closes when the launcher dies, also by SIGKILL.
  const onDisconnect = () => onSignal(143, stopWithinMs.SIGTERM)
  if (process.channel) {
    process.on('disconnect', onDisconnect)
    process.channel.unref()
  }
  return {
    signal: controller.signal,
    exitCode: () => firstSignal?.code,
    release: () => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler)
      process.off('disconnect', onDisconnect)
      if (process.connected) process.disconnect()
    },
  }
}
