/** Kinds of faults (docs/sandbox.md#faults): the stage at which each acts, and how much of the request it applies to the state. */

export type Stage =
  | 'before_read'
  | 'after_headers'
  | 'mid_upload'
  | 'after_read'
  | 'before_apply'
  | 'after_apply'
  | 'mid_response'
  | 'after_response'

/** How much of the request is applied to the state. `only`: the entries with these keys. `later:MS`: all of it, MS milliseconds later; the answer does not wait. */
export type Apply = 'none' | 'all' | 'twice' | `first:${number}` | 'half' | `later:${number}` | { readonly only: readonly string[] }

export interface Fault {
  readonly kind: string
  readonly stage?: Stage
  readonly apply?: Apply
  readonly [field: string]: unknown
}

/** Defaults of each kind. */
const KINDS: Readonly<Record<string, { apply: Apply; stage: Stage }>> = {
  status: { apply: 'none', stage: 'before_apply' },
  html: { apply: 'none', stage: 'before_apply' },
  empty: { apply: 'none', stage: 'before_apply' },
  rate_limit: { apply: 'none', stage: 'before_apply' },
  expire_token: { apply: 'none', stage: 'before_apply' },
  stall: { apply: 'none', stage: 'before_apply' },
  reset: { apply: 'none', stage: 'after_read' },
  close: { apply: 'none', stage: 'after_read' },
  counts: { apply: 'none', stage: 'after_apply' },
  delay: { apply: 'all', stage: 'before_apply' },
  latency: { apply: 'all', stage: 'before_apply' },
  hold: { apply: 'all', stage: 'before_apply' },
  commit_then_reset: { apply: 'all', stage: 'after_apply' },
  truncate: { apply: 'all', stage: 'mid_response' },
  slow: { apply: 'all', stage: 'mid_response' },
  drip: { apply: 'all', stage: 'mid_response' },
  partial_apply: { apply: 'half', stage: 'after_apply' },
  short: { apply: 'all', stage: 'after_apply' },
  long: { apply: 'all', stage: 'after_apply' },
  reorder: { apply: 'all', stage: 'after_apply' },
  duplicate_results: { apply: 'all', stage: 'after_apply' },
  alien_id: { apply: 'all', stage: 'after_apply' },
  null_id: { apply: 'all', stage: 'after_apply' },
  null_key: { apply: 'all', stage: 'after_apply' },
  changed_key: { apply: 'all', stage: 'after_apply' },
  unknown_status: { apply: 'all', stage: 'after_apply' },
  no_change: { apply: 'all', stage: 'after_apply' },
  warnings: { apply: 'all', stage: 'after_apply' },
  success_with_errors: { apply: 'all', stage: 'after_apply' },
  error_without_errors: { apply: 'none', stage: 'after_apply' },
  product_error: { apply: 'all', stage: 'after_apply' },
  failed_key: { apply: 'none', stage: 'after_apply' },
  errors_in_200: { apply: 'none', stage: 'after_apply' },
  operation_errors: { apply: 'none', stage: 'after_apply' },
  extra_bytes: { apply: 'all', stage: 'mid_response' },
  bad_utf8: { apply: 'all', stage: 'mid_response' },
  bom: { apply: 'all', stage: 'mid_response' },
  gzip: { apply: 'all', stage: 'mid_response' },
  gzip_broken: { apply: 'all', stage: 'mid_response' },
  gzip_bomb: { apply: 'all', stage: 'mid_response' },
  wrong_type: { apply: 'all', stage: 'mid_response' },
  wrong_length: { apply: 'all', stage: 'mid_response' },
  no_chunk_end: { apply: 'all', stage: 'mid_response' },
  large: { apply: 'all', stage: 'mid_response' },
  deep: { apply: 'all', stage: 'mid_response' },
  doubled_keys: { apply: 'all', stage: 'mid_response' },
  proto: { apply: 'all', stage: 'mid_response' },
  interim: { apply: 'all', stage: 'mid_response' },
  http10: { apply: 'all', stage: 'mid_response' },
  half_open: { apply: 'all', stage: 'after_response' },
  idle_close: { apply: 'all', stage: 'after_response' },
  refuse: { apply: 'none', stage: 'after_read' },
  accept_close: { apply: 'none', stage: 'after_read' },
  slow_upload: { apply: 'all', stage: 'mid_upload' },
  crash: { apply: 'none', stage: 'before_apply' },
  clock_skew: { apply: 'all', stage: 'before_apply' },
  stale: { apply: 'all', stage: 'after_apply' },
  page_shift: { apply: 'all', stage: 'after_apply' },
  cursor_expired: { apply: 'all', stage: 'before_apply' },
  cursor_repeats: { apply: 'all', stage: 'after_apply' },
}

export const FAULT_KINDS: readonly string[] = Object.keys(KINDS)

export const STAGES: readonly Stage[] = [
  'before_read',
  'after_headers',
  'mid_upload',
  'after_read',
  'before_apply',
  'after_apply',
  'mid_response',
  'after_response',
]

/**
 * Returns the stage and the applied part of the fault: its own settings, else the defaults of its kind. A fault that breaks the connection
 * after the request was applied applies all of it.
 */
export function effectOf(fault: Fault): { apply: Apply; stage: Stage } {
  const defaults = KINDS[fault.kind] ?? { apply: 'none', stage: 'before_apply' }
  const stage = fault.stage ?? stageOfAt(fault['at']) ?? defaults.stage
  const late = stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
  const breaks = ['reset', 'close', 'stall', 'crash', 'refuse', 'accept_close'].includes(fault.kind)
  return { stage, apply: fault.apply ?? (breaks && late ? 'all' : defaults.apply) }
}

/** Returns the age of the state that a `stale` fault reads, in milliseconds (`lag_ms`, by default 60,000). */
export function lagMsOf(fault: Fault): number {
  return typeof fault['lag_ms'] === 'number' ? fault['lag_ms'] : 60_000
}

/** Returns the stage that the setting `at` of a `reset` means: before, during or after the body is read. Undefined for another value. */
export function stageOfAt(at: unknown): Stage | undefined {
  return at === 'before' ? 'after_headers' : at === 'during' ? 'mid_upload' : at === 'after' ? 'after_read' : undefined
}

/** Returns the setting of a fault if it is a whole number, else `fallback`. */
export function wholeNumberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isInteger(value) ? value : fallback
}
