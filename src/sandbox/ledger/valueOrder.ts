/**
 * Checks the order in which a caller sends the values of a key (docs/guarantees.md#key-order, docs/guarantees.md#idempotent-resend). If the
 * outcome of a value is unknown, the caller must send it again unchanged before a newer value, and never after one.
 *
 * Records a violation only if it is certain. An earlier value whose outcome is known may be sent again (10, 12, 10 EUR), and so may the
 * data of a user after a `Delete` of the user was answered. The switch `values_recur: never` declares that the data of the test never
 * returns to an earlier value. Then every older value after a newer one is a violation.
 */
import type { KeyValue } from './requestContent.ts'
import type { LedgerEntry } from './ledger.ts'

type RecordViolation = (entry: LedgerEntry, rule: string, detail: string) => void

/** Newest value that was sent for a key, if its outcome is unknown. */
interface Unresolved {
  readonly value: string
  readonly removes: boolean
  readonly expiresAt: string | undefined
  /** All keys of the request that sent it. */
  readonly requestKeys: ReadonlySet<string>
  /** All keys of the operation: the identifiers of its users. */
  readonly operationKeys: readonly string[]
}

/** All values of a key, for `values_recur: never`. */
interface History {
  current: string
  readonly older: Set<string>
}

/** Maximum number of keys in `#unresolved`, and in `#superseded`: more than concurrent requests have. Limits memory. */
const MOST_KEYS = 200_000

/** Values of keys whose order is checked. */
export class ValueOrder {
  readonly #unresolved = new Map<string, Unresolved>()
  /** Values by key that were superseded while their outcome was unknown. */
  readonly #superseded = new Map<string, Set<string>>()
  readonly #histories = new Map<string, History>()
  readonly #recordViolation: RecordViolation

  constructor(recordViolation: RecordViolation) {
    this.#recordViolation = recordViolation
  }

  /** Returns true if a rule other than that of `values_recur: never` can apply to one of the keys. If not, the values need no hashes. */
  concerns(keys: readonly string[]): boolean {
    return (
      (this.#unresolved.size > 0 || this.#superseded.size > 0) && keys.some((key) => this.#unresolved.has(key) || this.#superseded.has(key))
    )
  }

  /**
   * Checks the values of a request whose body arrived. `keysOfRequest`: all keys of the request. `now`: the sandbox's time, milliseconds
   * since 1970. `strict`: `values_recur` is `never`.
   */
  arrive(entry: LedgerEntry, values: readonly KeyValue[], keysOfRequest: readonly string[], now: number, strict: boolean): void {
    const broken = new Set<string>()
    for (const value of values) {
      const rule = this.#classify(value, keysOfRequest, now) ?? (strict && !value.removes ? this.#classifyHistory(value) : undefined)
      if (rule !== undefined) broken.add(rule)
    }
    for (const rule of broken) this.#recordViolation(entry, rule, DETAIL[rule] ?? '')
  }

  /**
   * Records the outcome of a request, as its caller sees it. `keysOfRequest`, `strict`: as for `arrive`. Calls `values` only if they are
   * needed.
   */
  finish(entry: LedgerEntry, values: () => readonly KeyValue[], keysOfRequest: readonly string[], strict: boolean): void {
    const outcome = outcomeOf(entry)
    if (outcome === 'unknown') this.#keepUnresolved(values(), keysOfRequest)
    else if (outcome === 'known' && this.concerns(keysOfRequest))
      for (const { key, value, removes } of values()) {
        const open = this.#unresolved.get(key)
        if (open?.value === value || (removes && open?.removes === true)) this.#unresolved.delete(key)
        if (!strict && removes && isUser(key)) this.#superseded.delete(key)
      }
  }

  clear(): void {
    this.#unresolved.clear()
    this.#superseded.clear()
    this.#histories.clear()
  }

  /** Returns the rule that the value breaks; undefined if it breaks none. Marks an unresolved value that it replaces as superseded. */
  #classify({ key, value, removes }: KeyValue, keysOfRequest: readonly string[], now: number): string | undefined {
    const open = this.#unresolved.get(key)
    if (open !== undefined && open.value !== value) {
      // Two deletes of a key are equal, whatever else their requests contain.
      if (removes && open.removes) return undefined
      this.#unresolved.delete(key)
      const superseded = this.#superseded.get(key) ?? new Set()
      this.#superseded.set(key, superseded.add(open.value))
      trim(this.#superseded)
      // An operation with an erased identifier cannot be sent again unchanged, so its other users may get new values too.
      if (removes && isUser(key))
        for (const other of open.operationKeys)
          if (this.#unresolved.get(other)?.requestKeys === open.requestKeys) this.#unresolved.delete(other)
      // Allowed (docs/sandbox.md#violations): the `Delete` of a user, which may be an erasure, and a new value for an expired one.
      if ((removes && isUser(key)) || (open.expiresAt !== undefined && Date.parse(open.expiresAt) <= now)) return undefined
      return keysOfRequest.every((other) => open.requestKeys.has(other)) && removes === open.removes
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

  #keepUnresolved(values: readonly KeyValue[], keysOfRequest: readonly string[]): void {
    const requestKeys = new Set(keysOfRequest)
    const operations = new Map<number, string[]>()
    for (const { key, value, expiresAt, removes, operation } of values) {
      const operationKeys = operations.get(operation) ?? []
      operations.set(operation, operationKeys)
      operationKeys.push(key)
      this.#unresolved.set(key, { value, removes, expiresAt, requestKeys, operationKeys })
    }
    trim(this.#unresolved)
  }
}

const DETAIL: Readonly<Record<string, string>> = {
  entry_differs_between_attempts: 'an entry differs from the attempt whose outcome is unknown',
  newer_before_older_settled: 'a newer value while the outcome of the older one is unknown',
  older_after_newer: 'an older value after a newer one',
}

/** Returns true for the key of an identifier in an audience (`a …`) or a do-not-reach list (`d …`). Only users are erased, not products. */
function isUser(key: string): boolean {
  return key.startsWith('a ') || key.startsWith('d ')
}

/** Returns the outcome of a request. `neither`: it was refused, and does not change whether the outcome of earlier attempts is known. */
function outcomeOf({ status, client_closed: closed }: LedgerEntry): 'known' | 'unknown' | 'neither' {
  if (status === null || closed || status >= 500 || status === 408) return 'unknown'
  return [401, 403, 404, 423, 429].includes(status) ? 'neither' : 'known'
}

/** Drops the oldest keys above {@link MOST_KEYS}. */
function trim(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= MOST_KEYS) return
    map.delete(key)
  }
}
