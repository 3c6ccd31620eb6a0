/**
 * Checks that a caller keeps the order of a key's values (docs/guarantees.md#key-order, docs/guarantees.md#idempotent-resend), seen from the requests alone: a value with an
 * unknown outcome is sent again, unchanged, before anything newer, and never after it.
 *
 * Only what is certain is a violation. A value that was answered may rightly come back (10, 12, 10 EUR), and so may a user
 * whose erasure was answered, with the very bytes of before: planned again, they say the same. The switch `values_recur: never`
 * promises that the test's data do neither, and then every older value after a newer one counts.
 */
import type { KeyValue } from './carried.ts'
import type { LedgerEntry } from './ledger.ts'

type Violate = (entry: LedgerEntry, rule: string, detail: string) => void

/** The newest value sent for a key, while its outcome is unknown. */
interface Unsettled {
  readonly value: string
  readonly removes: boolean
  readonly expiresAt: string | undefined
  /** All keys of the request that carried it. */
  readonly beside: ReadonlySet<string>
}

interface History {
  current: string
  readonly older: Set<string>
}

/** More than the concurrent requests can have; beyond it the oldest are dropped, so that memory stays flat. */
const MOST_KEYS = 200_000

export class Generations {
  readonly #unsettled = new Map<string, Unsettled>()
  readonly #superseded = new Map<string, Set<string>>()
  readonly #histories = new Map<string, History>()
  readonly #violate: Violate

  constructor(violate: Violate) {
    this.#violate = violate
  }

  /** Does the order of this request's keys matter? Otherwise its values need not be worked out. */
  concerns(keys: readonly string[]): boolean {
    return (
      (this.#unsettled.size > 0 || this.#superseded.size > 0) && keys.some((key) => this.#unsettled.has(key) || this.#superseded.has(key))
    )
  }

  /** A body that arrived. `carried`: all its keys; `now`: the sandbox's time; `strict`: values never come back. */
  arrive(entry: LedgerEntry, values: readonly KeyValue[], carried: readonly string[], now: number, strict: boolean): void {
    const broken = new Set<string>()
    for (const value of values) {
      const rule = this.#classify(value, carried, now) ?? (strict && !value.removes ? this.#classifyHistory(value) : undefined)
      if (rule !== undefined) broken.add(rule)
    }
    for (const rule of broken) this.#violate(entry, rule, DETAIL[rule] ?? '')
  }

  /** Outcome of the caller's attempt, as far as the sandbox sees it. `strict`: as for `arrive`. */
  end(entry: LedgerEntry, values: () => readonly KeyValue[], carried: readonly string[], strict: boolean): void {
    const outcome = outcomeOf(entry)
    if (outcome === 'unknown') this.#leaveOpen(values(), carried)
    else if (outcome === 'known' && this.concerns(carried))
      for (const { key, value, removes } of values()) {
        const open = this.#unsettled.get(key)
        if (open?.value === value || (removes && open?.removes === true)) this.#unsettled.delete(key)
        if (!strict && removes && isUser(key)) this.#superseded.delete(key)
      }
  }

  clear(): void {
    this.#unsettled.clear()
    this.#superseded.clear()
    this.#histories.clear()
  }

  #classify({ key, value, removes }: KeyValue, carried: readonly string[], now: number): string | undefined {
    const open = this.#unsettled.get(key)
    if (open !== undefined && open.value !== value) {
      // Taken away twice, in whatever company, is the same.
      if (removes && open.removes) return undefined
      this.#unsettled.delete(key)
      const gone = this.#superseded.get(key) ?? new Set()
      this.#superseded.set(key, gone.add(open.value))
      trim(this.#superseded)
      // An erasure takes away a user who may have arrived (docs/guarantees.md#suppression-wins); what has lapsed meanwhile is planned again (docs/guarantees.md#freshness).
      if ((removes && isUser(key)) || (open.expiresAt !== undefined && Date.parse(open.expiresAt) <= now)) return undefined
      return carried.every((other) => open.beside.has(other)) && removes === open.removes
        ? 'entry_differs_between_attempts'
        : 'newer_before_older_settled'
    }
    return !removes && this.#superseded.get(key)?.has(value) === true ? 'older_after_newer' : undefined
  }

  #classifyHistory({ key, value }: KeyValue): string | undefined {
    const history = this.#histories.get(key)
    if (history === undefined) {
      this.#histories.set(key, { current: value, older: new Set() })
      return undefined
    }
    if (history.current === value) return undefined
    if (history.older.has(value)) return 'older_after_newer'
    history.older.add(history.current)
    history.current = value
    return undefined
  }

  #leaveOpen(values: readonly KeyValue[], carried: readonly string[]): void {
    const beside = new Set(carried)
    for (const { key, value, expiresAt, removes } of values) {
      this.#unsettled.set(key, { value, removes, expiresAt, beside })
    }
    trim(this.#unsettled)
  }
}

const DETAIL: Readonly<Record<string, string>> = {
  entry_differs_between_attempts: 'an entry is not what it was at the attempt whose outcome is unknown',
  newer_before_older_settled: 'a newer value although the outcome of the older one is unknown',
  older_after_newer: 'an older value after a newer one',
}

/** Not a product: users alone are erased. */
function isUser(key: string): boolean {
  return !key.startsWith('p ')
}

/** `neither`: refused without settling what earlier attempts did (docs/guarantees.md 'refused', retry and pause). */
function outcomeOf({ status, client_closed: closed }: LedgerEntry): 'known' | 'unknown' | 'neither' {
  if (status === null || closed || status >= 500 || status === 408) return 'unknown'
  return [401, 403, 404, 423, 429].includes(status) ? 'neither' : 'known'
}

function trim(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= MOST_KEYS) return
    map.delete(key)
  }
}
