/**
 * Computes the exit codes of runs, errors, erasures and several runs. `main.ts` adds those of signals and of output that cannot be
 * written.
 */
import { ConfigError, SluiceError, UsageError } from '../errors.ts'
import type { RunStatus } from '../model/report.ts'
import type { Receipt } from '../db/erasures.ts'

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
