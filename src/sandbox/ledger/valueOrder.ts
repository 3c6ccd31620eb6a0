/**
 * Checks the order in which a caller sends the values of a key. A key names a product or identifier. Its value is the hash of the entry
 * that a request sends for it (`KeyValue`). Rules (docs/guarantees.md#key-order, docs/guarantees.md#idempotent-resend):
 * - While the outcome of a value is unknown, the caller must send the same value again before it sends a newer one.
 * - Once it has sent a newer value, it must not send the older one.
 *
 * Records a violation only if there is no doubt. Allowed are:
 * - A value with a known outcome, sent again later: data may change from 10 to 12 and back to 10 EUR.
 * - An earlier value of a user, once a `Delete` of the user is answered.
 *
 * With the switch `values_recur: never`, the test promises that its data never returns to an earlier value. Every older value after a newer
 * one is then a violation.
 */
import type { KeyValue } from './requestContent.ts'
import type { LedgerEntry } from './ledger.ts'

type RecordViolation = (entry: LedgerEntry, rule: string, detail: string) => void

/** Newest value that was sent for a key, while the outcome of that value is unknown. */
interface Unresolved {
  readonly value: string
  readonly removes: boolean
  readonly expiresAt: string | undefined
  /** All keys of the request that sent the value. */
  readonly requestKeys: ReadonlySet<string>
  /** All keys of the operation that contains the value. */
  readonly operationKeys: readonly string[]
}

/** All values that were sent for a key, for `values_recur: never`. */
interface History {
  current: string
  readonly older: Set<string>
}

/** Maximum number of keys in each of `#unresolved` and `#superseded`. Limits memory. Concurrent requests have fewer keys. */
const MAX_KEYS = 200_000

/** Values of keys whose order is checked. */
export class ValueOrder {
  readonly #unresolved = new Map<string, Unresolved>()
  /** Values that a newer value replaced while their outcome was unknown, by key. */
  readonly #superseded = new Map<string, Set<string>>()
  readonly #histories = new Map<string, History>()
  readonly #recordViolation: RecordViolation

  constructor(recordViolation: RecordViolation) {
    this.#recordViolation = recordViolation
  }

  /** Returns true if a value of a key has or had an unknown outcome. If none had, only the rule of `values_recur: never` can apply. */
  tracksAny(keys: readonly string[]): boolean {
    return (
      (this.#unresolved.size > 0 || this.#superseded.size > 0) && keys.some((key) => this.#unresolved.has(key) || this.#superseded.has(key))
    )
  }

  /**
   * Checks the values of a request whose body arrived. `keysOfRequest`: all keys of the request. `now`: time of the sandbox's clock,
   * milliseconds since 1970. `valuesNeverRecur`: true with `values_recur: never`.
   */
  bodyArrived(
    entry: LedgerEntry,
    values: readonly KeyValue[],
    keysOfRequest: readonly string[],
    now: number,
    valuesNeverRecur: boolean,
  ): void {
    const broken = new Set<string>()
    for (const value of values) {
      const rule =
        this.#checkValue(value, keysOfRequest, now) ?? (valuesNeverRecur && !value.removes ? this.#checkHistory(value) : undefined)
      if (rule !== undefined) broken.add(rule)
    }
    for (const rule of broken) this.#recordViolation(entry, rule, DETAIL[rule] ?? '')
  }

  /**
   * Records the outcome of a request, as its caller sees it. `values`: returns the values of the request; called only if they are needed.
   * `keysOfRequest`, `valuesNeverRecur`: as for `bodyArrived`.
   */
  requestEnded(entry: LedgerEntry, values: () => readonly KeyValue[], keysOfRequest: readonly string[], valuesNeverRecur: boolean): void {
    const outcome = outcomeOf(entry)
    if (outcome === 'unknown') this.#keepUnresolved(values(), keysOfRequest)
    else if (outcome === 'known' && this.tracksAny(keysOfRequest))
      for (const { key, value, removes } of values()) {
        const unresolved = this.#unresolved.get(key)
        if (unresolved?.value === value || (removes && unresolved?.removes === true)) this.#unresolved.delete(key)
        if (!valuesNeverRecur && removes && isUser(key)) this.#superseded.delete(key)
      }
  }

  clear(): void {
    this.#unresolved.clear()
    this.#superseded.clear()
    this.#histories.clear()
  }

  /**
   * Returns the rule that the value breaks; undefined if it breaks none. If it replaces an unresolved value, moves that one to
   * `#superseded`.
   */
  #checkValue({ key, value, removes }: KeyValue, keysOfRequest: readonly string[], now: number): string | undefined {
    const unresolved = this.#unresolved.get(key)
    if (unresolved !== undefined && unresolved.value !== value) {
      // Two deletes of a key count as the same value.
      if (removes && unresolved.removes) return undefined
      this.#unresolved.delete(key)
      const superseded = this.#superseded.get(key) ?? new Set()
      this.#superseded.set(key, superseded.add(unresolved.value))
      dropOldest(this.#superseded)
      // After the `Delete` of an identifier, the caller cannot send the earlier operation again unchanged: it contains that identifier. So
      // the other users of that operation may get new values.
      if (removes && isUser(key))
        for (const other of unresolved.operationKeys)
          if (this.#unresolved.get(other)?.requestKeys === unresolved.requestKeys) this.#unresolved.delete(other)
      // Allowed (docs/sandbox.md#violations): a new value after the old one expired, and the `Delete` of a user, which may be an erasure.
      if ((removes && isUser(key)) || (unresolved.expiresAt !== undefined && Date.parse(unresolved.expiresAt) <= now)) return undefined
      return keysOfRequest.every((other) => unresolved.requestKeys.has(other)) && removes === unresolved.removes
        ? 'entry_differs_between_attempts'
        : 'newer_before_older_settled'
    }
    return !removes && this.#superseded.get(key)?.has(value) === true ? 'older_after_newer' : undefined
  }

  /** Adds the value to the history of the key. Returns the rule that the value breaks; undefined if it breaks none. */
  #checkHistory({ key, value }: KeyValue): string | undefined {
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

  #keepUnresolved(values: readonly KeyValue[], keysOfRequest: readonly string[]): void {
    const requestKeys = new Set(keysOfRequest)
    const operations = new Map<number, string[]>()
    for (const { key, value, expiresAt, removes, operation } of values) {
      const operationKeys = operations.get(operation) ?? []
      operations.set(operation, operationKeys)
      operationKeys.push(key)
      this.#unresolved.set(key, { value, removes, expiresAt, requestKeys, operationKeys })
    }
    dropOldest(this.#unresolved)
  }
}

const DETAIL: Readonly<Record<string, string>> = {
  entry_differs_between_attempts: 'an entry differs from the attempt whose outcome is unknown',
  newer_before_older_settled: 'a newer value while the outcome of the older one is unknown',
  older_after_newer: 'an older value after a newer one',
}

/** Returns true for the key of an identifier in an audience (`a …`) or a do-not-reach list (`d …`). */
function isUser(key: string): boolean {
  return key.startsWith('a ') || key.startsWith('d ')
}

/** Returns the outcome of a request. `unchanged`: a refusal that does not show the outcome of earlier attempts. */
function outcomeOf({ status, client_closed: closed }: LedgerEntry): 'known' | 'unknown' | 'unchanged' {
  if (status === null || closed || status >= 500 || status === 408) return 'unknown'
  return [401, 403, 404, 423, 429].includes(status) ? 'unchanged' : 'known'
}

function dropOldest(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= MAX_KEYS) return
    map.delete(key)
  }
}
