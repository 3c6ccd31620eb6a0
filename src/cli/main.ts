#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import module from 'node:module'
import { systemClock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import { keepMemoryFlat } from '../flatMemory.ts'
import type { Context, Output } from './context.ts'
import { styleFor } from './style.ts'

// Compiled code is kept between starts: help then costs a third less.
module.enableCompileCache()
// Before anything is loaded, which alone would take 20 MB more.
keepMemoryFlat()

/** Whatever broke off because we were told to stop is no fault. Stands here because `main` runs before the lines below it do. */
const interrupted = {
  code: 'INTERRUPTED',
  message: 'stopped as asked; what was confirmed is kept',
  where: null,
  mend: 'the same command again goes on from there',
} as const

process.exitCode = await main(process.argv.slice(2))
endSoon()

/** The whole of a command, from arguments to exit code. The only place that may end the process. */
async function main(argv: readonly string[]): Promise<number> {
  const stdout = output(process.stdout)
  const stderr = output(process.stderr)
  const inFlight = { requests: 0 }
  const stop = stopOnSignals(stderr, inFlight)
  const { parseCommandLine } = await import('./program.ts')
  let json = argv.includes('--json')
  let command: string | undefined
  let config: ReturnType<Context['config']> | undefined
  try {
    const request = parseCommandLine(argv, version())
    if (request.kind === 'print') {
      stdout.write(request.text)
      return 0
    }
    json = request.globals.json
    command = request.path.join(' ')
    const [{ createLogger }, { loadConfig }] = await Promise.all([import('./log.ts'), import('../config/config.ts')])
    const read = () => (config ??= loadConfig(process.env, { database: request.globals.database }))
    const context: Context = {
      stdout,
      stderr,
      env: process.env,
      command,
      json,
      pipelines: request.globals.pipelines,
      config: read,
      log: (level) => createLogger(stderr, read(), systemClock.now, level),
      clock: systemClock,
      inFlight,
      signal: stop.signal,
    }
    if (!request.entry.load) throw new Error(`${request.entry.name} has nothing to run`)
    const { run } = await request.entry.load()
    const code = await run(context, request.invocation)
    return stop.exitCode() ?? code
  } catch (error) {
    const { errorLines, exitCodeOfError, presentError } = await import('./present.ts')
    const presented = stop.signal.aborted && !(error instanceof SluiceError) ? interrupted : presentError(error, config?.secrets)
    if (json) stdout.write(`${JSON.stringify({ error: presented })}\n`)
    else stderr.write(errorLines(presented, presented === interrupted ? undefined : command))
    if (process.env['SLUICE_LOG_LEVEL'] === 'debug' && error instanceof Error) stderr.write(`${presentStack(error)}\n`)
    return stop.exitCode() ?? exitCodeOfError(error)
  } finally {
    stop.release()
  }
}

/** Something left open (a socket kept alive) must not hold a finished command; what is still being printed may. */
function endSoon(): void {
  setTimeout(() => (process.stdout.writableLength + process.stderr.writableLength === 0 ? process.exit() : endSoon()), 500).unref()
}

function presentStack(error: Error): string {
  // Frames only: the message was printed above, cleared of secrets.
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => line.trimStart().startsWith('at '))
    .join('\n')
}

function output(stream: NodeJS.WriteStream): Output {
  // A closed pipe (`| head`) ends the command's wish to write, not the command: what runs goes on to a safe state.
  let closed = false
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error
    closed = true
  })
  return {
    write: (text) => {
      if (!closed) stream.write(text)
    },
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : undefined
    },
    style: styleFor(stream, process.env),
  }
}

interface Stop {
  readonly signal: AbortSignal
  /** 130 or 143 once a signal came. */
  readonly exitCode: () => number | undefined
  readonly release: () => void
}

/**
 * The first signal asks the command to come to a safe state; a second one ends at once (the state is as safe: what was
 * in flight is settled by the next run). Terminal and launcher may both deliver one Ctrl-C, hence the 300 ms.
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
      stderr.write(`${stderr.isTTY ? '\r' : ''}stopping${waits}; a second signal ends at once\n`)
      controller.abort()
    } else if (at - first.at > 300) process.exit(first.code)
  }
  const handlers = { SIGINT: () => on(130), SIGTERM: () => on(143), SIGHUP: () => on(143) } as const
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler)
  // The launcher died without a word (SIGKILL): nobody waits for us any more.
  const gone = () => on(143)
  if (process.channel) {
    process.on('disconnect', gone)
    process.channel.unref()
  }
  return {
    signal: controller.signal,
    exitCode: () => first?.code,
    release: () => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler)
      process.off('disconnect', gone)
      if (process.connected) process.disconnect()
    },
  }
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}
