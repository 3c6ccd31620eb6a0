/**
 * Lists the kinds of faults (docs/sandbox.md#faults), with the stage and the applied part of each.
 *
 * To add a kind, name it in `KINDS`, and its settings in `SETTINGS`. Implement it in `injectedAnswers.ts` (replaces the answer),
 * `corruptedAnswers.ts` (changes the answer), or `faultActions.ts` (all other effects). The compiler rejects a kind that no file
 * implements.
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
export type Stage = (typeof STAGES)[number]

/** Checked fault of a rule. All other fields are settings of the kind. */
export interface Fault {
  readonly kind: FaultKind
  /** Use `stageAndPartOf` to read `stage` and `apply` with their defaults. */
  readonly stage?: Stage
  readonly apply?: AppliedPart
  readonly [field: string]: unknown
}

const KINDS = {
  ...kindsWithDefaults('none', 'before_apply', 'status html empty rate_limit expire_token'),
  ...kindsWithDefaults('none', 'before_apply', 'stall crash', 'all'),
  ...kindsWithDefaults('none', 'after_read', 'reset close refuse accept_close', 'all'),
  ...kindsWithDefaults('none', 'after_apply', 'counts error_without_errors failed_key errors_in_200 operation_errors'),
  ...kindsWithDefaults('all', 'before_apply', 'delay latency hold clock_skew cursor_expired'),
  ...kindsWithDefaults(
    'all',
    'after_apply',
    'commit_then_reset short long reorder duplicate_results alien_id null_id null_key changed_key unknown_status no_change warnings success_with_errors product_error stale page_shift cursor_repeats',
  ),
  ...kindsWithDefaults(
    'all',
    'mid_response',
    'truncate slow drip extra_bytes bad_utf8 bom gzip gzip_broken gzip_bomb wrong_type wrong_length no_chunk_end large deep doubled_keys proto interim http10',
  ),
  ...kindsWithDefaults('half', 'after_apply', 'partial_apply'),
  ...kindsWithDefaults('all', 'after_response', 'half_open idle_close'),
  ...kindsWithDefaults('all', 'mid_upload', 'slow_upload'),
}

export type FaultKind = keyof typeof KINDS

const COMMON_SETTINGS = 'kind stage apply at close'
/** Further settings of kinds, separated by spaces. */
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
/** Name of a setting that is a whole number. */
export type IntegerSetting = 'status' | 'ms' | 'jitter' | 's' | 'lag_ms' | 'bytes' | 'by' | 'offset' | 'length' | 'depth' | 'bytes_per_s'

/** Returns the names of all settings of a kind, the common ones included. */
export function settingsOf(kind: FaultKind): readonly string[] {
  return `${COMMON_SETTINGS} ${SETTINGS[kind] ?? ''}`.trim().split(' ')
}

export const FAULT_KINDS: readonly string[] = Object.keys(KINDS)

export function isFaultKind(kind: unknown): kind is FaultKind {
  return typeof kind === 'string' && Object.hasOwn(KINDS, kind)
}

/** Union of the words of `Text`, which are separated by spaces. */
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text

interface KindDefaults {
  readonly stage: Stage
  readonly apply: AppliedPart
  /** Applied part if the fault has a stage after applying. */
  readonly applyAtLateStage: AppliedPart
}

/** Returns a map with the same defaults for each name. `names`: separated by spaces. */
function kindsWithDefaults<Names extends string>(
  apply: AppliedPart,
  stage: Stage,
  names: Names,
  applyAtLateStage: AppliedPart = apply,
): Record<Words<Names>, KindDefaults> {
  const entries = names.split(' ').map((name) => [name, { apply, stage, applyAtLateStage }])
  return Object.fromEntries(entries) as Record<Words<Names>, KindDefaults> // the keys are the words of `names`
}

/**
 * Returns the stage and the applied part of a fault. The fault sets them with `stage` (or else `at`) and `apply`. Otherwise the defaults of
 * its kind apply.
 */
export function stageAndPartOf(fault: Fault): { readonly apply: AppliedPart; readonly stage: Stage } {
  const defaults = KINDS[fault.kind]
  const stage = fault.stage ?? stageOfAtSetting(fault['at']) ?? defaults.stage
  return { stage, apply: fault.apply ?? (actsAfterApplying(stage) ? defaults.applyAtLateStage : defaults.apply) }
}

/** Returns true for a stage after the request is applied. */
export function actsAfterApplying(stage: Stage): boolean {
  return stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
}

/** Returns the age of the state that a `stale` fault reads, in milliseconds (`lag_ms`, by default 60,000). */
export function lagMsOf(fault: Fault): number {
  return integerSetting(fault, 'lag_ms', 60_000)
}

/** Returns the stage for the setting `at` (`before`, `during` or `after` the body is read); undefined for any other value. */
export function stageOfAtSetting(at: unknown): Stage | undefined {
  return at === 'before' ? 'after_headers' : at === 'during' ? 'mid_upload' : at === 'after' ? 'after_read' : undefined
}

/** Returns the setting of a fault, or `fallback` without one. `readRule` has checked its type. */
export function integerSetting(fault: Fault, name: IntegerSetting, fallback: number): number {
  const value = fault[name]
  return typeof value === 'number' ? value : fallback
}
