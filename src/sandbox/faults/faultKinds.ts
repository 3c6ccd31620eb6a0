/**
 * Kinds of faults (docs/sandbox.md#faults): the stage at which each acts, and how much of the request it applies to the state.
 *
 * To add a kind: name it in `KINDS`, and its settings in `SETTINGS`, then implement it in `injectedAnswers.ts` (replaces the answer),
 * `corruptedAnswers.ts` (changes the answer), or `faultActions.ts` (waits, breaks the connection, or chooses the state). A kind that is in
 * none of them does not compile.
 */

import type { AppliedPart } from '../appliedPart.ts'

/** Stages of a request at which a fault can act, in their order. */
export const STAGES = [
  'before_read',
  'after_headers',
  'mid_upload',
  'after_read',
  'before_apply',
  'after_apply',
  'mid_response',
  'after_response',
] as const
/** Stage of a request. */
export type Stage = (typeof STAGES)[number]

/** Checked fault of a rule. Further fields are settings of its kind. */
export interface Fault {
  readonly kind: FaultKind
  /** `effectOf` has the defaults of `stage` and `apply`. */
  readonly stage?: Stage
  readonly apply?: AppliedPart
  readonly [field: string]: unknown
}

/** Defaults of each kind. The last argument of `kinds` is the applied part if the fault is armed for a stage after applying. */
const KINDS = {
  ...kinds('none', 'before_apply', 'status html empty rate_limit expire_token'),
  ...kinds('none', 'before_apply', 'stall crash', 'all'),
  ...kinds('none', 'after_read', 'reset close refuse accept_close', 'all'),
  ...kinds('none', 'after_apply', 'counts error_without_errors failed_key errors_in_200 operation_errors'),
  ...kinds('all', 'before_apply', 'delay latency hold clock_skew cursor_expired'),
  ...kinds(
    'all',
    'after_apply',
    'commit_then_reset short long reorder duplicate_results alien_id null_id null_key changed_key unknown_status no_change warnings success_with_errors product_error stale page_shift cursor_repeats',
  ),
  ...kinds(
    'all',
    'mid_response',
    'truncate slow drip extra_bytes bad_utf8 bom gzip gzip_broken gzip_bomb wrong_type wrong_length no_chunk_end large deep doubled_keys proto interim http10',
  ),
  ...kinds('half', 'after_apply', 'partial_apply'),
  ...kinds('all', 'after_response', 'half_open idle_close'),
  ...kinds('all', 'mid_upload', 'slow_upload'),
}

/** Name of a kind. */
export type FaultKind = keyof typeof KINDS

const COMMON_SETTINGS = 'kind stage apply at close'
/** Settings of kinds beside the common ones, separated by spaces. */
const SETTINGS: Partial<Record<FaultKind, string>> = {
  status: 'status body headers',
  html: 'status headers',
  empty: 'status headers',
  rate_limit: 'retry_after reset headers',
  delay: 'ms jitter',
  latency: 'ms jitter',
  hold: 'name',
  slow: 'bytes_per_s',
  drip: 'bytes_per_s',
  slow_upload: 'bytes_per_s',
  interim: 'statuses',
  idle_close: 'ms jitter',
  refuse: 'ms',
  accept_close: 'ms',
  clock_skew: 's',
  stale: 'lag_ms',
  truncate: 'bytes',
  wrong_length: 'by',
  page_shift: 'by',
  counts: 'success total shape',
  short: 'by',
  product_error: 'ids message',
  operation_errors: 'indices offset length',
  gzip_bomb: 'bytes',
  wrong_type: 'type',
  large: 'bytes',
  deep: 'depth',
}
/** Setting that is a whole number. */
export type IntegerSetting = 'status' | 'ms' | 'jitter' | 's' | 'lag_ms' | 'bytes' | 'by' | 'offset' | 'length' | 'depth' | 'bytes_per_s'

/** Returns the names of all settings of a kind. */
export function settingsOf(kind: FaultKind): readonly string[] {
  return `${COMMON_SETTINGS} ${SETTINGS[kind] ?? ''}`.trim().split(' ')
}

export const FAULT_KINDS: readonly string[] = Object.keys(KINDS)

/** Returns true for the name of a kind. */
export function isFaultKind(kind: unknown): kind is FaultKind {
  return typeof kind === 'string' && Object.hasOwn(KINDS, kind)
}

/** Union of the words of `Text`, which are separated by spaces. */
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text

/** Defaults of a kind. */
interface Effect {
  readonly stage: Stage
  readonly apply: AppliedPart
  /** Applied part if the stage is after applying. */
  readonly applyAtLateStage: AppliedPart
}

/** Returns the same defaults for each of the names, which are separated by spaces. */
function kinds<Names extends string>(
  apply: AppliedPart,
  stage: Stage,
  names: Names,
  applyAtLateStage: AppliedPart = apply,
): Record<Words<Names>, Effect> {
  const entries = names.split(' ').map((name) => [name, { apply, stage, applyAtLateStage }])
  return Object.fromEntries(entries) as Record<Words<Names>, Effect> // the keys are the words of `names`
}

/** Returns the stage and the applied part of the fault: its settings `stage` (else `at`) and `apply`, else the defaults of its kind. */
export function effectOf(fault: Fault): { readonly apply: AppliedPart; readonly stage: Stage } {
  const defaults = KINDS[fault.kind]
  const stage = fault.stage ?? stageOfAt(fault['at']) ?? defaults.stage
  return { stage, apply: fault.apply ?? (actsAfterApplying(stage) ? defaults.applyAtLateStage : defaults.apply) }
}

/** Returns true for the stages after the request was applied. */
export function actsAfterApplying(stage: Stage): boolean {
  return stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
}

/** Returns the age of the state that a `stale` fault reads, in milliseconds (`lag_ms`, by default 60,000). */
export function lagMsOf(fault: Fault): number {
  return integerSetting(fault, 'lag_ms', 60_000)
}

/** Returns the stage for the setting `at` of a fault: `before`, `during` or `after` the body is read. Undefined for another value. */
export function stageOfAt(at: unknown): Stage | undefined {
  return at === 'before' ? 'after_headers' : at === 'during' ? 'mid_upload' : at === 'after' ? 'after_read' : undefined
}

/** Returns the setting of a fault, or `fallback` without one. `readRule` has checked its type. */
export function integerSetting(fault: Fault, name: IntegerSetting, fallback: number): number {
  const value = fault[name]
  return typeof value === 'number' ? value : fallback
}
