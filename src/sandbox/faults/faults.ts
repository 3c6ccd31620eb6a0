/** Faults that a test arms (interface.md 5, guarantees 6.1): which request they hit, and what of it is applied. */

export interface FaultMatch {
  readonly method?: string
  /** A prefix of the path, or a regular expression found in it. */
  readonly path?: string
  /** Begins with the nth matching request, counted from arming. */
  readonly nth?: number
  /** Hits each nth one. */
  readonly every?: number
  readonly probability?: number
  /** Text that the path, query or body holds: a product id, a digest. */
  readonly contains_key?: string
  /** Value of the header `x-test-worker`. */
  readonly worker?: string
  /** Milliseconds after arming. */
  readonly after_ms?: number
  /** Hits the nth sending of one and the same body. */
  readonly attempt_of_same_body?: number
  /** Hits only the first request of each connection. */
  readonly first_of_connection?: boolean
}

export type Stage =
  | 'before_read'
  | 'after_headers'
  | 'mid_upload'
  | 'after_read'
  | 'before_apply'
  | 'after_apply'
  | 'mid_response'
  | 'after_response'

/** How much of the request reaches the state: none, all, the first n entries, those named, all of it twice, or later. */
export type Apply = 'none' | 'all' | 'twice' | `first:${number}` | 'half' | `later:${number}` | { readonly only: readonly string[] }

export interface Fault {
  readonly kind: string
  readonly stage?: Stage
  readonly apply?: Apply
  readonly [field: string]: unknown
}

export interface FaultRule {
  readonly id: string
  readonly match: FaultMatch
  /** Undefined: for ever. */
  readonly times: number | undefined
  readonly fault: Fault
  readonly armedAt: number
  matched: number
  fired: number
}

export interface FaultProbe {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly worker: string | undefined
  readonly firstOfConnection: boolean
  /** Undefined before the body was read. */
  readonly body?: Buffer
  readonly bodyHash?: string
}

/** What each kind does when the rule does not say: applied or not, and at which stage it acts. */
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

const STAGES: readonly Stage[] = [
  'before_read',
  'after_headers',
  'mid_upload',
  'after_read',
  'before_apply',
  'after_apply',
  'mid_response',
  'after_response',
]

/** The rule is not one; the control door answers 400 with the message. */
export class FaultError extends Error {}

export class Faults {
  #rules: FaultRule[] = []
  readonly #attempts = new Map<string, number>()
  readonly #now: () => number
  readonly #random: () => number
  #nextId = 1

  constructor(now: () => number, random: () => number) {
    this.#now = now
    this.#random = random
  }

  get armed(): boolean {
    return this.#rules.length > 0
  }

  /** How far back a read may have to look, in milliseconds; 0 when no rule asks for it. */
  get longestLagMs(): number {
    return Math.max(0, ...this.#rules.map(({ fault }) => (fault.kind === 'stale' ? lagOf(fault) : 0)))
  }

  list(): readonly FaultRule[] {
    return this.#rules
  }

  /** @throws {FaultError} */
  add(input: unknown): FaultRule {
    const { match = {}, times = 1, fault } = asObject(input, 'a fault rule') as { match?: unknown; times?: unknown; fault?: unknown }
    const checked = checkFault(fault)
    const rule: FaultRule = {
      id: `f${this.#nextId++}`,
      match: checkMatch(match),
      times: times === null || times === 'always' || times === -1 || times === 0 ? undefined : checkWhole(times, 'times'),
      fault: checked,
      armedAt: this.#now(),
      matched: 0,
      fired: 0,
    }
    this.#rules.push(rule)
    return rule
  }

  remove(id: string): boolean {
    const before = this.#rules.length
    this.#rules = this.#rules.filter((rule) => rule.id !== id)
    return this.#rules.length < before
  }

  clear(): void {
    this.#rules = []
    this.#attempts.clear()
  }

  /** First rule that acts before the body is read and hits this request. */
  beforeBody(probe: FaultProbe): FaultRule | undefined {
    return this.#first(probe, (rule) => actsBeforeBody(rule.fault) && !needsBody(rule.match))
  }

  /** First rule of the others. Counts the sending of this body. */
  withBody(probe: FaultProbe): FaultRule | undefined {
    if (probe.bodyHash !== undefined && (probe.body?.length ?? 0) > 0) {
      const key = `${probe.method} ${probe.path} ${probe.bodyHash}`
      this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1)
    }
    return this.#first(probe, (rule) => !actsBeforeBody(rule.fault) || needsBody(rule.match))
  }

  #first(probe: FaultProbe, eligible: (rule: FaultRule) => boolean): FaultRule | undefined {
    let chosen: FaultRule | undefined
    for (const rule of this.#rules) {
      if (!eligible(rule) || (rule.times !== undefined && rule.fired >= rule.times) || !this.#hits(rule, probe)) continue
      rule.matched++
      const { nth, every, probability } = rule.match
      if (chosen !== undefined || (nth !== undefined && rule.matched < nth) || (every !== undefined && rule.matched % every !== 0)) continue
      if (probability !== undefined && this.#random() >= probability) continue
      rule.fired++
      chosen = rule
    }
    return chosen
  }

  #hits({ match, armedAt }: FaultRule, probe: FaultProbe): boolean {
    if (match.method !== undefined && match.method.toUpperCase() !== probe.method) return false
    if (match.path !== undefined && !probe.path.startsWith(match.path) && !pattern(match.path).test(probe.path)) return false
    if (match.worker !== undefined && match.worker !== probe.worker) return false
    if (match.first_of_connection === true && !probe.firstOfConnection) return false
    if (match.after_ms !== undefined && this.#now() - armedAt < match.after_ms) return false
    if (
      match.contains_key !== undefined &&
      !`${probe.path}?${probe.query}`.includes(match.contains_key) &&
      probe.body?.includes(match.contains_key) !== true
    )
      return false
    if (
      match.attempt_of_same_body !== undefined &&
      this.#attempts.get(`${probe.method} ${probe.path} ${probe.bodyHash ?? ''}`) !== match.attempt_of_same_body
    )
      return false
    return true
  }
}

/** What the fault does, its kind's defaults filled in. */
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

function actsBeforeBody(fault: Fault): boolean {
  return ['before_read', 'after_headers', 'mid_upload'].includes(planOf(fault).stage)
}

function needsBody(match: FaultMatch): boolean {
  return match.contains_key !== undefined || match.attempt_of_same_body !== undefined
}

/** `at` of a reset: before, during or after the body is read. */
function stageOfAt(at: unknown): Stage | undefined {
  return at === 'before' ? 'after_headers' : at === 'during' ? 'mid_upload' : at === 'after' ? 'after_read' : undefined
}

function checkFault(input: unknown): Fault {
  const fault = asObject(input, '"fault"') as Fault
  if (typeof fault.kind !== 'string' || KINDS[fault.kind] === undefined)
    throw new FaultError(`fault.kind is one of: ${Object.keys(KINDS).join(', ')}`)
  if (fault.stage !== undefined && !STAGES.includes(fault.stage)) throw new FaultError(`fault.stage is one of: ${STAGES.join(', ')}`)
  if (fault['at'] !== undefined && stageOfAt(fault['at']) === undefined) throw new FaultError('fault.at is before, during or after')
  return fault.apply === undefined ? fault : { ...fault, apply: checkApply(fault.apply) }
}

function checkApply(apply: unknown): Apply {
  if (Array.isArray(apply)) return { only: apply.map(String) }
  if (typeof apply === 'object' && apply !== null && 'only' in apply && Array.isArray(apply.only)) return { only: apply.only.map(String) }
  const text = String(apply)
  const only = /^only:\[?(.*?)\]?$/.exec(text)
  if (only !== null) return { only: (only[1] ?? '').split(',').map((id) => id.trim().replaceAll('"', '')) }
  if (text === 'first_half') return 'half'
  if (['none', 'all', 'twice', 'half'].includes(text) || /^(first|later):\d+$/.test(text)) return text as Apply
  throw new FaultError('fault.apply is none, all, half, twice, first:N, later:MS or only:[ids]')
}

function checkMatch(input: unknown): FaultMatch {
  const match = asObject(input, '"match"')
  const known = [
    'method',
    'path',
    'nth',
    'every',
    'probability',
    'contains_key',
    'worker',
    'after_ms',
    'attempt_of_same_body',
    'first_of_connection',
  ]
  const unknown = Object.keys(match).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new FaultError(`match.${unknown} is unknown; there are: ${known.join(', ')}`)
  return match as FaultMatch
}

function checkWhole(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1)
    throw new FaultError(`${name} is a whole number from 1, or "always"`)
  return value
}

function asObject(input: unknown, what: string): Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) throw new FaultError(`${what} is an object`)
  return input as Record<string, unknown>
}

const PATTERNS = new Map<string, RegExp>()

function pattern(text: string): RegExp {
  let found = PATTERNS.get(text)
  if (found === undefined) {
    try {
      found = new RegExp(text.startsWith('/') && text.length > 2 && text.endsWith('/') && !text.includes('/', 1) ? text.slice(1, -1) : text)
    } catch {
      found = /(?!)/
    }
    PATTERNS.set(text, found)
  }
  return found
}

/** A whole number of a fault's settings. */
export function whole(value: unknown, fallback: number): number {
  return typeof value === 'number' && Number.isInteger(value) ? value : fallback
}
