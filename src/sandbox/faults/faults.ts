/** Faults that a test armed (docs/sandbox.md): which request each of them hits. */
import { lagOf, planOf, type Fault } from './faultKinds.ts'
import { readRule, type FaultMatch, type RuleInput } from './faultRule.ts'

export interface FaultRule extends RuleInput {
  readonly id: string
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

  /** Age of the oldest state that a read may need, in milliseconds; 0 if no rule needs one. */
  get longestLagMs(): number {
    return Math.max(0, ...this.#rules.map(({ fault }) => (fault.kind === 'stale' ? lagOf(fault) : 0)))
  }

  list(): readonly FaultRule[] {
    return this.#rules
  }

  /** @throws {FaultError} */
  add(input: unknown): FaultRule {
    const asked = readRule(input)
    const rule: FaultRule = { id: `f${this.#nextId++}`, ...asked, armedAt: this.#now(), matched: 0, fired: 0 }
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

function actsBeforeBody(fault: Fault): boolean {
  return ['before_read', 'after_headers', 'mid_upload'].includes(planOf(fault).stage)
}

function needsBody(match: FaultMatch): boolean {
  return match.contains_key !== undefined || match.attempt_of_same_body !== undefined
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
