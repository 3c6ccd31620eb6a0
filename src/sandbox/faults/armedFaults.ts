/** Stores the armed rules, and finds the rule that hits a request (docs/sandbox.md#faults). */
import { lagMsOf, stageAndPartOf, type Fault } from './faultKinds.ts'
import type { FaultMatch, FaultRule } from './faultRule.ts'

/** Armed fault with its conditions and counts. The control API calls the whole rule a fault. */
export interface ArmedRule extends FaultRule {
  readonly id: string
  /** Machine time, milliseconds since 1970. */
  readonly armedAt: number
  /**
   * Number of requests that satisfied `match`, not considering its `nth`, `every` and `probability`. Counts no further request once the
   * rule has hit `times` requests.
   */
  matched: number
  /** Number of requests that the rule has hit. */
  fired: number
}

/** Properties of a request that the conditions of rules compare. */
export interface RequestToMatch {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly worker: string | undefined
  readonly isFirstOfConnection: boolean
  /** Absent until the body is read. */
  readonly body?: Buffer
  /** SHA-256 of the body in hex. Absent until the body is read. */
  readonly bodyHash?: string
}

/** Armed rules in the order in which they were armed. */
export class ArmedFaults {
  #rules: ArmedRule[] = []
  /** Number of requests with a body, by method, path and hash of the body. For `attempt_of_same_body`. */
  readonly #attempts = new Map<string, number>()
  readonly #now: () => number
  readonly #random: () => number
  #nextId = 1

  constructor(now: () => number, random: () => number) {
    this.#now = now
    this.#random = random
  }

  /** Longest lag of the `stale` rules with hits left, in milliseconds; 0 without such a rule. */
  get longestLagMs(): number {
    return Math.max(0, ...this.#rules.map((rule) => (rule.fault.kind === 'stale' && hasHitsLeft(rule) ? lagMsOf(rule.fault) : 0)))
  }

  list(): readonly ArmedRule[] {
    return this.#rules
  }

  /** Arms a rule. Returns it with its id and counts. */
  add(rule: FaultRule): ArmedRule {
    const armed: ArmedRule = { id: `f${this.#nextId++}`, ...rule, armedAt: this.#now(), matched: 0, fired: 0 }
    this.#rules.push(armed)
    return armed
  }

  /** Removes a rule. Returns false for an unknown id. The last rule is removed as by `clear`. */
  remove(id: string): boolean {
    const others = this.#rules.filter((rule) => rule.id !== id)
    if (others.length === this.#rules.length) return false
    if (others.length === 0) this.clear()
    else this.#rules = others
    return true
  }

  /** Removes all rules, and the counts for `attempt_of_same_body`. */
  clear(): void {
    this.#rules = []
    this.#attempts.clear()
  }

  /** Returns the first rule that hits the request before its body is read. Counts the request in the rules that it matches. */
  hitBeforeBody(request: RequestToMatch): ArmedRule | undefined {
    return this.#hit(request, (rule) => !needsBody(rule))
  }

  /**
   * Returns the first rule that hits the request once its body is read. Counts the request in the rules that it matches, and for
   * `attempt_of_same_body`.
   */
  hitWithBody(request: RequestToMatch): ArmedRule | undefined {
    if (this.#rules.length > 0 && (request.body?.length ?? 0) > 0) {
      const key = attemptKey(request)
      this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1)
    }
    return this.#hit(request, needsBody)
  }

  /** Returns the first eligible rule that hits the request. Counts the request in all eligible rules that match it and have hits left. */
  #hit(request: RequestToMatch, isEligible: (rule: ArmedRule) => boolean): ArmedRule | undefined {
    let chosen: ArmedRule | undefined
    for (const rule of this.#rules) {
      if (!isEligible(rule) || !hasHitsLeft(rule) || !this.#matches(rule, request)) continue
      rule.matched++
      const { nth, every, probability } = rule.match
      if (chosen !== undefined || (nth !== undefined && rule.matched < nth) || (every !== undefined && rule.matched % every !== 0)) continue
      if (probability !== undefined && this.#random() >= probability) continue
      rule.fired++
      chosen = rule
    }
    return chosen
  }

  /** Returns true if the request satisfies `match`, not considering its `nth`, `every` and `probability`. */
  #matches({ match, armedAt }: ArmedRule, request: RequestToMatch): boolean {
    const { contains_key: text } = match
    return (
      (match.method === undefined || match.method.toUpperCase() === request.method) &&
      (match.path === undefined || matchesPath(match.path, request.path)) &&
      (match.worker === undefined || match.worker === request.worker) &&
      (match.first_of_connection !== true || request.isFirstOfConnection) &&
      (match.after_ms === undefined || this.#now() - armedAt >= match.after_ms) &&
      (text === undefined || `${request.path}?${request.query}`.includes(text) || request.body?.includes(text) === true) &&
      (match.attempt_of_same_body === undefined || this.#attempts.get(attemptKey(request)) === match.attempt_of_same_body)
    )
  }
}

function attemptKey({ method, path, bodyHash }: RequestToMatch): string {
  return `${method} ${path} ${bodyHash ?? ''}`
}

/** Returns true if the path begins with `pattern`, or matches `pattern` as a regular expression. */
function matchesPath(pattern: string, path: string): boolean {
  if (path.startsWith(pattern)) return true
  try {
    return new RegExp(pattern).test(path)
  } catch {
    // `pattern` is not a valid regular expression, so it is only compared as a prefix.
    return false
  }
}

function hasHitsLeft({ times, fired }: ArmedRule): boolean {
  return times === null || fired < times
}

/** Returns true if the rule can hit a request only after the body of the request is read. */
function needsBody(rule: ArmedRule): boolean {
  return !actsBeforeBody(rule.fault) || bodyMatchOf(rule.match) !== undefined
}

export function actsBeforeBody(fault: Fault): boolean {
  return ['before_read', 'after_headers', 'mid_upload'].includes(stageAndPartOf(fault).stage)
}

/** Returns the first field of `match` that depends on the body; undefined without one. Rules with such a field hit only after the body. */
export function bodyMatchOf(match: FaultMatch): keyof FaultMatch | undefined {
  return (['contains_key', 'attempt_of_same_body'] as const).find((name) => match[name] !== undefined)
}
