/** States of pipelines, runs, batches and operations: which one applies, and its word, colour and shape. */
import type { Pause } from '../db/pauses.ts'
import type { BatchStatus, OperationOutcome, OutcomeGroup } from '../sync/reports/batchDetails.ts'
import type { PipelineOverview } from '../sync/reports/overview.ts'
import { badge, type Html, type Shape, type Tone } from './html.ts'

const states: Readonly<Record<string, readonly [word: string, tone: Tone, shape?: Shape]>> = {
  succeeded: ['Succeeded', 'ok'],
  partial: ['Partial', 'warn'],
  withheld: ['Needs approval', 'warn'],
  stopped: ['Stopped by a guard', 'warn'],
  failed: ['Failed', 'fail'],
  cancelled: ['Cancelled', 'idle'],
  skipped: ['Skipped', 'idle'],
  queued: ['Queued', 'info', 'idle'],
  running: ['Running', 'info', 'running'],
  stopping: ['Stopping', 'info', 'running'],
  paused: ['Paused', 'idle', 'paused'],
  new: ['No runs yet', 'idle'],
  // Batches, and operations in them. A parked batch is out of attempts in its run.
  waiting: ['Waiting', 'info', 'idle'],
  sending: ['Sending', 'info', 'running'],
  unresolved: ['Unresolved', 'warn'],
  parked: ['Next run', 'warn'],
  settled: ['Answered', 'ok'],
  confirmed: ['Confirmed', 'ok'],
  refused: ['Refused', 'fail'],
  split: ['Split', 'idle'],
  moved: ['Moved', 'idle'],
  unsent: ['Not sent', 'idle'],
  planned: ['Planned', 'info', 'idle'],
}

/** Renders the state of a run, batch, operation or pipeline as word, shape and colour. */
export function stateBadge(state: string): Html {
  return badge(...(states[state] ?? ([state, 'idle'] as const)))
}

/** Returns the word of a state that `stateBadge` shows; the state itself if it is unknown. */
export function stateWord(state: string): string {
  return states[state]?.[0] ?? state
}

/** Returns the tone of a state that `stateBadge` shows; `idle` if the state is unknown. */
export function toneOf(state: string): Tone {
  return states[state]?.[1] ?? 'idle'
}

/** Returns the state of a pipeline for `stateBadge`: its open run, a pause, or its last run. */
export function pipelineState(overview: PipelineOverview, pause: Pause | undefined): string {
  if (overview.open !== undefined) return runState(overview.open)
  if (pause !== undefined) return 'paused'
  return overview.last === undefined ? 'new' : runState(overview.last)
}

/**
 * Returns the state of a run for `stateBadge`. A withheld run without a plan was stopped by a guard; a withheld run with a plan has deletes
 * that need approval. A running run that was cancelled is stopping.
 */
export function runState(run: { readonly status: string; readonly planId?: string | null; readonly cancelRequested?: boolean }): string {
  if (run.status === 'withheld' && (run.planId ?? undefined) === undefined) return 'stopped'
  if (run.status === 'running' && run.cancelRequested) return 'stopping'
  return run.status
}

/** Returns the state of a batch for `stateBadge`. `outcomes`: undefined if they were not loaded, empty if they have expired. */
export function batchState({ status, outcomes }: { readonly status: BatchStatus; readonly outcomes?: readonly OutcomeGroup[] }): string {
  if (status === 'pending') return 'waiting'
  if (status === 'in_flight') return 'sending'
  if (status === 'ambiguous') return 'unresolved'
  if (status === 'superseded') return 'unsent'
  if (status !== 'settled' || outcomes === undefined || outcomes.length === 0) return status
  return outcomes.every((group) => group.outcome === 'confirmed') ? 'confirmed' : 'refused'
}

/** Returns the state of an operation for `stateBadge`. `status`: of its batch. */
export function operationState(outcome: OperationOutcome, status: BatchStatus): string {
  if (outcome === 'superseded' && status === 'split') return 'moved'
  if (outcome === 'ambiguous' && status === 'in_flight') return 'sending'
  return { confirmed: 'confirmed', refused: 'refused', ambiguous: 'unresolved', pending: 'unsent', superseded: 'unsent' }[outcome]
}
