/**
 * Exit codes with their meanings, and functions that return the code of a run, an error, erasures or several runs. `main.ts` adds the codes
 * of signals, and of output that cannot be written. Commands that only examine (`check`, `doctor`, `auth status`, `db status`,
 * `webhooks check`) choose their own codes.
 */
import { ConfigError, SluiceError, UsageError } from '../errors.ts'
import type { RunStatus } from '../model/report.ts'
import type { Receipt } from '../db/erasures.ts'

/** Exit codes with their meanings, for the help. Tests compare README and docs with them. */
export const exitCodes: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done'],
  ['1', 'failed'],
  ['2', 'usage or configuration: nothing was sent'],
  [
    '3',
    'done, but records were refused by the service, left unresolved, or not sent; audit: products differ from what was confirmed; forget: a delete is not confirmed',
  ],
  ['4', 'deletes, or the run, withheld by a guard (plan and check too)'],
  ['5', 'the pipeline is paused, or locked by another run'],
  ['130', 'interrupted by SIGINT; the state is safe'],
  ['143', 'interrupted by SIGTERM or SIGHUP, or the launcher died; the state is safe'],
]

export const exitCodeOfStatus: Readonly<Record<RunStatus, number>> = {
  succeeded: 0,
  failed: 1,
  cancelled: 1,
  partial: 3,
  withheld: 4,
  skipped: 5,
}

/** Exit codes of runs, the worst first. */
export const worstFirst: readonly number[] = [1, 5, 4, 3, 0]

/**
 * Returns the exit code of an error:
 * - 2 for a wrong command line, call or configuration
 * - 5 for a pipeline that another run locks
 * - 1 for any other error, also for a refusal by the service
 */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof SluiceError && error.code === 'PIPELINE_HELD') return 5
  const isUsage =
    error instanceof UsageError || error instanceof ConfigError || (error instanceof SluiceError && error.code === 'CALL_INVALID')
  return isUsage ? 2 : 1
}

/** Returns 3 if the command waited for its deletes, but some are not planned or not confirmed yet. Otherwise 0. */
export function exitCodeOfErasures(receipts: readonly Receipt[], waited: boolean): number {
  return waited && receipts.some(({ audiences, deletes }) => audiences === null || deletes.confirmed < deletes.planned) ? 3 : 0
}

/** Returns the worst exit code of several pipelines; 0 for none. */
export function worstExitCode(codes: readonly number[]): number {
  return worstFirst.find((code) => codes.includes(code)) ?? 0
}
