/** The kinds of faults (docs/sandbox.md): at which stage each acts, and what of the request it lets through to the state. */

export type Stage =
  | 'before_read'
  | 'after_headers'
  | 'mid_upload'
  | 'after_read'
  | 'before_apply'
  | 'after_apply'
  | 'mid_response'
  | 'after_response'

/** Part of the request that is applied to the state: none, all, the first n entries, those named, all of it twice, or later. */
export type Apply = 'none' | 'all' | 'twice' | `first:${number}` | 'half' | `later:${number}` | { readonly only: readonly string[] }

export interface Fault {
  readonly kind: string
  readonly stage?: Stage
  readonly apply?: Apply
  readonly [field: string]: unknown
}

/** Defaults of each kind: applied or not, and the stage at which it acts. */
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

/** Effect of the fault, with the defaults of its kind. */
export function planOf(fault: Fault): { apply: Apply; stage: Stage } {
  const defaults = KINDS[fault.kind] ?? { apply: 'none', stage: 'before_apply' }
  const stage = fault.stage ?? stageOfAt(fault['at']) ?? defaults.stage
  const late = stage === 'after_apply' || stage === 'mid_response' || stage === 'after_response'
  const breaks = ['reset', 'close', 'stall', 'crash', 'refuse', 'accept_close'].includes(fault.kind)
  return { stage, apply: fault.apply ?? (breaks && late ? 'all' : defaults.apply) }
}

/** `lag_ms` of a stale read. */
export function lagOf(fault: Fault): number {
  return typeof fault['lag_ms'] === 'number' ? fault['lag_ms'] : 60_000
}

/** `at` of a reset: before, during or after the body is read. */
export function stageOfAt(at: unknown): Stage | undefined {
  return at === 'before' ? 'after_headers' : at === 'during' ? 'mid_upload' : at === 'after' ? 'after_read' : undefined
}

/** A whole number of a fault's settings. */
export function whole(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isInteger(value) ? value : fallback
}
