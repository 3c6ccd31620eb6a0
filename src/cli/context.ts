import type { Clock } from '../clock.ts'
import type { Config, Environment, LogLevel } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { Style } from './terminal/style.ts'

/** Dependencies of a command. There is one per process; tests create their own. */
export interface Context {
  /** Results only. */
  readonly stdout: Output
  /** Everything else. */
  readonly stderr: Output
  readonly env: Environment
  /** Words of the command, such as `db url`, for hints. */
  readonly command: string
  /** True to print exactly one JSON document to stdout. */
  readonly json: boolean
  /** Folder of the pipeline files. */
  readonly pipelines: string
  /** Loads the configuration at the first call, so that help does not need it. */
  readonly config: () => Config
  /** Creates a logger. `level` applies if SLUICE_LOG_LEVEL is not set. */
  readonly log: (level?: LogLevel) => Logger
  readonly clock: Clock
  /** Requests to the service in flight, for the message after a signal. */
  readonly inFlight: { requests: number }
  /** Aborted by the first SIGINT or SIGTERM, and when the launcher dies. */
  readonly signal: AbortSignal
}

export interface Output {
  readonly write: (text: string) => void
  readonly isTTY: boolean
  /** Columns of the terminal; undefined if it is not a terminal. */
  readonly columns: number | undefined
  readonly style: Style
}

/** Parsed arguments of a command: positional ones in order, options by their long names in camelCase. */
export interface Invocation {
  readonly args: readonly (string | readonly string[] | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
}

/** Function that runs a command. Returns the exit code or throws a SluiceError. Never ends the process. */
export type CommandRun = (context: Context, invocation: Invocation) => Promise<number>

export function writeJson(context: Context, value: unknown): void {
  context.stdout.write(`${JSON.stringify(value, null, context.stdout.isTTY ? 2 : undefined)}\n`)
}

/** Returns the positional argument `index` as a text. */
export function argument(invocation: Invocation, index: number): string {
  const value = invocation.args[index]
  return typeof value === 'string' ? value : ''
}

/** Returns the positional argument `index` as a list. */
export function list(invocation: Invocation, index: number): readonly string[] {
  const value = invocation.args[index]
  return typeof value === 'string' ? [value] : (value ?? [])
}

/** Returns the value of an option that takes a text. */
export function option(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options[name]
  return typeof value === 'string' ? value : undefined
}

/** Returns the values of a repeatable option. */
export function many(invocation: Invocation, name: string): readonly string[] {
  const values = invocation.options[name]
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : []
}

export function flag(invocation: Invocation, name: string): boolean {
  return invocation.options[name] === true
}
