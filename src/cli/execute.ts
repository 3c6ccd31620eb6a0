/** Executes command lines, for `main.ts` and for tests. */
import { systemClock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import { writeJson, type Context, type Output } from './context.ts'
import { interruptedError } from './interrupted.ts'
import { sluiceVersion } from './version.ts'

/** Parts of the context that the caller provides: the process, or a test. */
export type Surroundings = Pick<Context, 'stdout' | 'stderr' | 'env' | 'inFlight' | 'signal'>

/** Result of a command line. */
export interface Executed {
  readonly code: number
  /** True if the command threw an error, which was printed. */
  readonly threw: boolean
}

const interrupted = interruptedError('stopped by a signal; what was confirmed is kept')

/** Executes a command line, and prints its results or its error. Does not reject if the command fails, and never ends the process. */
export async function execute(argv: readonly string[], surroundings: Surroundings): Promise<Executed> {
  const { stdout, stderr, env, signal } = surroundings
  // Help needs only this module. All others are loaded later.
  const { parseCommandLine } = await import('./commandLine/parseCommandLine.ts')
  let json = argv.includes('--json')
  let command: string | undefined
  let completeHint: Output['completeHint']
  let config: ReturnType<Context['config']> | undefined
  try {
    const request = parseCommandLine(argv, sluiceVersion())
    if (request.kind === 'print') {
      stdout.write(request.text)
      return { code: 0, threw: false }
    }
    json = request.globals.json
    command = request.path.join(' ')
    const [{ createLogger }, { loadConfig }, { hintCompleter }, { hideSecrets }] = await Promise.all([
      import('./terminal/log.ts'),
      import('../config/config.ts'),
      import('./commandLine/repeatedCall.ts'),
      import('../config/secret.ts'),
    ])
    const complete = hintCompleter(request.globals)
    if (complete !== undefined) completeHint = (hint) => hideSecrets(complete(hint), config?.secrets ?? [])
    const readConfig = (options?: { readonly signIn: boolean }) =>
      (config ??= loadConfig(env, { database: request.globals.database, ...options }))
    const context: Context = {
      ...surroundings,
      stdout: withCompleteHint(stdout, completeHint),
      argv,
      command,
      json,
      pipelines: request.globals.pipelines,
      config: readConfig,
      log: (level) => createLogger(withCompleteHint(stderr, completeHint), readConfig(), systemClock.now, level),
      clock: systemClock,
    }
    const { loadCommand } = await import('./loadCommand.ts')
    const run = await loadCommand(request.path)
    return { code: await run(context, request.invocation), threw: false }
  } catch (error) {
    const [{ errorLines, presentError, stackLines }, { exitCodeOfError }] = await Promise.all([
      import('./terminal/present.ts'),
      import('./exitCodes.ts'),
    ])
    const presented = signal.aborted && !(error instanceof SluiceError) ? interrupted : presentError(error, config?.secrets)
    if (json) writeJson({ stdout: { ...stdout, isTTY: false, completeHint } }, { error: presented })
    else stderr.write(errorLines(presented, presented === interrupted ? undefined : command, { completeHint }))
    stderr.write(stackLines(error, config?.log.level ?? env['SLUICE_LOG_LEVEL']))
    return { code: exitCodeOfError(error), threw: true }
  }
}

/** Returns the output with `completeHint`, or unchanged without it. */
function withCompleteHint(output: Output, completeHint: Output['completeHint']): Output {
  if (completeHint === undefined) return output
  const { write, isTTY, style } = output
  return {
    write,
    isTTY,
    style,
    completeHint,
    get columns() {
      return output.columns
    },
  }
}
