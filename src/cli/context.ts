import type { Clock } from '../clock.ts'
import type { Config, Environment, LogLevel } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { Style } from './style.ts'

/** All that a command may touch of the world around it. One a process; tests make their own. */
export interface Context {
  /** Results only. */
  readonly stdout: Output
  /** Everything else. */
  readonly stderr: Output
  readonly env: Environment
  /** Words of the command, `db url`: for the commands that errors tell people to type. */
  readonly command: string
  /** One JSON document on stdout, and nothing else there. */
  readonly json: boolean
  /** Folder of the pipeline files. */
  readonly pipelines: string
  /** Read at the first call, so that help never touches it. */
  readonly config: () => Config
  /** `level` counts where SLUICE_LOG_LEVEL says nothing else. */
  readonly log: (level?: LogLevel) => Logger
  readonly clock: Clock
  /** Requests to the service that are under way, for the word that a signal gets. */
  readonly inFlight: { requests: number }
  /** Aborted by the first SIGINT or SIGTERM, and when the launcher dies. */
  readonly signal: AbortSignal
}

export interface Output {
  readonly write: (text: string) => void
  readonly isTTY: boolean
  /** Columns of the terminal; undefined where it is none. */
  readonly columns: number | undefined
  readonly style: Style
}

/** What commander hands to a command: positional arguments in order, options by their long names in camelCase. */
export interface Invocation {
  readonly args: readonly (string | readonly string[] | undefined)[]
  readonly options: Readonly<Record<string, unknown>>
}

/** A command's work: returns the exit code, throws a SluiceError, ends nothing by itself. */
export type CommandRun = (context: Context, invocation: Invocation) => Promise<number>

/** Exit code of several runs: the worst of 1, 5, 4, 3, 0. */
export function worst(codes: readonly number[]): number {
  return [2, 1, 5, 4, 3].find((code) => codes.includes(code)) ?? 0
}

export function writeJson(context: Context, value: unknown): void {
  context.stdout.write(`${JSON.stringify(value, null, context.stdout.isTTY ? 2 : undefined)}\n`)
}

/** Positional argument `index` where the command takes one text there. */
export function argument(invocation: Invocation, index: number): string {
  const value = invocation.args[index]
  return typeof value === 'string' ? value : ''
}

/** Positional argument `index` where the command takes a list there. */
export function list(invocation: Invocation, index: number): readonly string[] {
  const value = invocation.args[index]
  return typeof value === 'string' ? [value] : (value ?? [])
}

/** An option that takes a text. */
export function option(invocation: Invocation, name: string): string | undefined {
  const value = invocation.options[name]
  return typeof value === 'string' ? value : undefined
}

/** An option that may be given several times; empty where it was not. */
export function many(invocation: Invocation, name: string): readonly string[] {
  const values = invocation.options[name]
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : []
}

export function flag(invocation: Invocation, name: string): boolean {
  return invocation.options[name] === true
}
