import type { Clock } from '../clock.ts'
import type { Config, Environment, LogLevel } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { CompleteHint } from './commandLine/repeatedCall.ts'
import type { Style } from './terminal/style.ts'

/** Dependencies of a command. The process creates one context; tests create their own. */
export interface Context {
  /** Receives only results; with `--json` also the error document. */
  readonly stdout: Output
  /** Receives progress, logs and notes; without `--json` also errors. */
  readonly stderr: Output
  /** Variables of the process, without `.env`. */
  readonly env: Environment
  /** Words of the command line after `sluice`. They may contain personal data. */
  readonly argv: readonly string[]
  /** Words of the command, such as `db url`. */
  readonly command: string
  /** True to print exactly one JSON document to stdout. */
  readonly json: boolean
  /** Folder of the pipeline files. */
  readonly pipelines: string
  /**
   * Returns the configuration. The first call loads it, because help works without a configuration. `signIn` is true for `auth login`,
   * which writes the files of the user's tokens: these files may then be missing or empty. Only the first call uses `signIn`. Throws
   * `ConfigError` with all problems.
   */
  readonly config: (options?: { readonly signIn: boolean }) => Config
  /** Creates a logger that writes to stderr. `level` applies if SLUICE_LOG_LEVEL is not set. */
  readonly log: (level?: LogLevel) => Logger
  readonly clock: Clock
  /** Number of the engine's requests in flight. The message after a signal shows it. */
  readonly inFlight: { requests: number }
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, and when the launcher dies. */
  readonly signal: AbortSignal
}

/** Stream for results or messages. */
export interface Output {
  readonly write: (text: string) => void
  readonly isTTY: boolean
  /** Columns of the terminal; undefined if it is not a terminal, or if its size is not known. */
  readonly columns: number | undefined
  readonly style: Style
  /** Adds the global options of the call to the commands in a hint. Absent if the call has none. */
  readonly completeHint?: CompleteHint | undefined
}

/** Parsed arguments of a command: positional arguments in order, options by their long names in camelCase. */
export interface Invocation {
  readonly args: readonly (string | readonly string[] | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
}

/** Function that runs a command. Resolves to the exit code, or rejects with the error to print. Never ends the process. */
export type CommandRun = (context: Context, invocation: Invocation) => Promise<number>

/** Prints the JSON document of a command: indented on a terminal, in one line elsewhere. */
export function writeJson({ stdout }: Pick<Context, 'stdout'>, value: unknown): void {
  const { completeHint } = stdout
  const complete = (key: string, part: unknown) =>
    typeof part === 'string' && (key === 'hint' || key === 'next') ? completeHint?.(part) : part
  stdout.write(`${JSON.stringify(value, completeHint && complete, stdout.isTTY ? 2 : undefined)}\n`)
}

/** Prints the result of a command: `value` with `--json`, else `text`. */
export function writeResult(context: Pick<Context, 'json' | 'stdout'>, value: unknown, text: string): void {
  if (context.json) writeJson(context, value)
  else context.stdout.write(text)
}

/** Returns the positional argument `index` (from 0) as a text; empty if it was not given. */
export function argument(invocation: Invocation, index: number): string {
  const value = invocation.args[index]
  return typeof value === 'string' ? value : ''
}

/** Returns the positional argument `index` (from 0) as a list; empty if it was not given. */
export function listArgument(invocation: Invocation, index: number): readonly string[] {
  const value = invocation.args[index]
  return typeof value === 'string' ? [value] : (value ?? [])
}

/** Returns the value of an option that takes a text; undefined if it was not given. `name`: in camelCase. */
export function option(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options[name]
  return typeof value === 'string' ? value : undefined
}

/** Returns the values of a repeatable option, in their order; empty if it was not given. */
export function listOption(invocation: Invocation, name: string): readonly string[] {
  const values = invocation.options[name]
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : []
}

/** Returns true if an option without a value was given. */
export function flag(invocation: Invocation, name: string): boolean {
  return invocation.options[name] === true
}
