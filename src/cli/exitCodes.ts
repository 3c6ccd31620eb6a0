/**
 * Exit codes: their meanings, and those of runs, errors, erasures and several runs. `main.ts` adds those of signals and of output that
 * cannot be written. Commands that only examine (`check`, `doctor`, `auth status`, `db status`, `webhooks check`) return their own.
 */
import { ConfigError, SluiceError, UsageError } from '../errors.ts'
import type { RunStatus } from '../model/report.ts'
import type { Receipt } from '../db/erasures.ts'

/** Exit codes with their meanings, for the help. */
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

/** Returns the exit code of one run. */
export function exitCodeOfRun(status: RunStatus): number {
  switch (status) {
    case 'succeeded':
      return 0
    case 'partial':
      return 3
    case 'withheld':
      return 4
    case 'skipped':
      return 5
    case 'cancelled':
    case 'failed':
      return 1
  }
}

/**
 * Returns the exit code of an error: 2 for a wrong command line or configuration, 5 for a pipeline that another run locks, else 1.
 * A refusal by the service is 1, because the command had already started.
 */
export function exitCodeOfError(error: unknown): number {
  if (error instanceof SluiceError && error.code === 'PIPELINE_HELD') return 5
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
}

/** Returns 3 if the command waited for its deletes and some are not confirmed, else 0. */
export function exitCodeOfErasures(receipts: readonly Receipt[], waited: boolean): number {
  return waited && receipts.some(({ deletes }) => deletes.confirmed < deletes.planned) ? 3 : 0
}

/** Returns the exit code of several runs: the first of 2, 1, 5, 4, 3 that one of them has, else 0. */
export function worstExitCode(codes: readonly number[]): number {
  return [2, 1, 5, 4, 3].find((code) => codes.includes(code)) ?? 0
}
