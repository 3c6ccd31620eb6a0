/**
 * Errors that users see: a stable code, where it happened, what happened, and the hint.
 *
 * `code` and `recovery` are for programs and never change; texts may. A message, a `where` or a cause never contains raw personal
 * data (docs/guarantees.md#no-raw-identifier-at-rest): mask it first.
 */

import type { ErrorCode } from './model/errorCodes.ts'
import type { RunReport } from './model/report.ts'

/** Next action of the program: try again, skip the record, stop the run, or ask the user to change the configuration. */
export type Recovery = 'retry' | 'skip-record' | 'stop-run' | 'fix-config'

export interface SluiceErrorOptions extends ErrorOptions {
  /** File and path, URL without its query, parameter name … Never a raw identifier. */
  readonly where?: string
  readonly hint?: string
}

export interface RunErrorOptions extends SluiceErrorOptions {
  /** Id of the run in the history that ended with this error, like `r_81`. */
  readonly runId?: string
}

export abstract class SluiceError extends Error {
  /** Upper snake case, stable, documented in docs/errors.md. */
  abstract readonly code: ErrorCode
  abstract readonly recovery: Recovery
  readonly where: string | undefined
  readonly hint: string

  constructor(message: string, options: SluiceErrorOptions = {}) {
    super(message, options)
    this.where = options.where
    this.hint = options.hint ?? ''
  }

  override get name(): string {
    return this.constructor.name
  }
}

/** Error in a call of a command or of the API, such as an unknown pipeline, flag or value. Exit code 2; nothing was sent. */
export class UsageError extends SluiceError {
  readonly code: ErrorCode
  readonly recovery = 'fix-config'
  constructor(code: ErrorCode, message: string, options: SluiceErrorOptions = {}) {
    super(message, options)
    this.code = code
  }
}

/** Problem of a pipeline file or the environment. */
export interface Problem {
  /** Path inside the definition, for example `destination.catalog_id`. */
  readonly path: string
  readonly message: string
  readonly hint?: string
  /** File and line where known. */
  readonly where?: string
}

/** Error for an invalid pipeline file or environment, with every problem. Exit code 2. */
export class ConfigError extends SluiceError {
  readonly code: ErrorCode
  readonly recovery = 'fix-config'
  readonly problems: readonly Problem[]
  constructor(code: ErrorCode, message: string, problems: readonly Problem[], options: SluiceErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.problems = problems
  }
}

/** Error that ends a run, such as an unreadable source. Exit code 1, or 5 for a locked or paused pipeline; what was confirmed is kept. */
export class RunError extends SluiceError {
  readonly code: ErrorCode
  readonly recovery = 'stop-run'
  /** Undefined if the error did not end a run of the history. */
  readonly runId: string | undefined
  constructor(code: ErrorCode, message: string, options: RunErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.runId = options.runId
  }
}

/** Returns a handler of rejections: for an error of the class it returns `fallback`, and every other error it throws again. */
export function fallbackOn<T>(errorClass: abstract new (...args: never[]) => SluiceError, fallback: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof errorClass) return fallback
    throw error
  }
}

/** Returns an error in the form that reports, the API and the `run` table have. */
export function errorJson({ code, message, where, hint }: SluiceError): NonNullable<RunReport['error']> {
  return { code, message, where: where ?? null, hint }
}
