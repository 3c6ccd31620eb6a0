/**
 * Checks the rules on keys and timing (docs/sandbox.md#violations): no key twice in a request, no two requests in flight for one key or
 * with one body, and no request before a requested wait is over. Violations change no answer.
 */
import type { RequestContent } from './requestContent.ts'
import type { LedgerEntry } from './ledger.ts'

/** Request whose body arrived. Machine times, milliseconds since 1970. */
interface Seen {
  readonly entry: LedgerEntry
  readonly startedAt: number
  readonly content: RequestContent
  /** Keys of `content`; undefined until they are needed. */
  keySet: Set<string> | undefined
  /** Infinite while the request is in flight. */
  finishedAt: number
}

/** Wait that an answer requested. Machine times, milliseconds since 1970. */
interface Wait {
  readonly until: number
  readonly requestedAt: number
}

/** Requests in flight, and the waits that answers requested. */
export class TrafficRules {
  /** Requests that a later one can overlap with. Emptied when none is in flight. */
  #seen: Seen[] = []
  /** Requests in flight, by `seq`. */
  #open = new Set<number>()
  /** Waits by endpoint and caller. */
  readonly #waits = new Map<string, Wait>()
  /** Requests in flight by method, path and body: `seq` of the first, and their number. */
  readonly #openBodies = new Map<string, { readonly first: number; count: number }>()
  readonly #now: () => number
  readonly #recordViolation: (entry: LedgerEntry, rule: string, detail: string) => void
  readonly #graceMs: () => number

  /**
   * `graceMs` returns the time after an answer with a wait in which requests are still allowed. Such a request may have been sent before
   * the caller read the answer, also on the same connection: pools reuse a connection before the caller reads the answer.
   */
  constructor(now: () => number, recordViolation: (entry: LedgerEntry, rule: string, detail: string) => void, graceMs: () => number) {
    this.#now = now
    this.#recordViolation = recordViolation
    this.#graceMs = graceMs
  }

  /** True if waits are stored, also waits that are over. */
  get hasWaits(): boolean {
    return this.#waits.size > 0
  }

  /** Records a request whose headers are complete. */
  begin(entry: LedgerEntry): void {
    this.#open.add(entry.seq)
  }

  /** Checks a request whose body arrived. */
  arrive(entry: LedgerEntry, startedAt: number, content: RequestContent): void {
    this.#openBody(entry)
    if (content.keys.length === 0) return
    const mine: Seen = { entry, startedAt, content, keySet: undefined, finishedAt: Number.POSITIVE_INFINITY }
    for (const other of this.#seen) if (other.finishedAt > startedAt) this.#compare(mine, other)
    this.#seen.push(mine)
    const repeated = content.keys.length - new Set(content.keys).size
    if (repeated > 0) this.#recordViolation(entry, 'duplicate_in_request', `${repeated} keys occur more than once in one request`)
  }

  /** Records that the answer was sent, or that the connection ended. */
  finish(entry: LedgerEntry): void {
    this.#open.delete(entry.seq)
    this.#closeBody(entry)
    const mine = this.#seen.find((one) => one.entry === entry)
    if (mine !== undefined) mine.finishedAt = this.#now()
    if (this.#open.size === 0) this.#seen = []
    else if (this.#seen.length > 64) {
      // Limits memory and time: keeps ended requests only from the 31st before the oldest request in flight on. A dropped one may still
      // overlap with a request whose body has not arrived yet. This violation is then missed.
      const oldest = Math.min(...this.#open)
      this.#seen = this.#seen.filter((one) => this.#open.has(one.entry.seq) || one.entry.seq > oldest - 32)
    }
  }

  /** Records that an answer of the endpoint requested a wait until `until`, a machine time. Of several waits, keeps the last to end. */
  recordWait(entry: LedgerEntry, caller: string, until: number): void {
    const key = `${entry.endpoint ?? ''} ${caller}`
    if ((this.#waits.get(key)?.until ?? 0) < until) this.#waits.set(key, { until, requestedAt: this.#now() })
  }

  /** Records a violation if the request began after the grace time, but before the wait of its endpoint and caller was over. */
  checkWait(entry: LedgerEntry, caller: string, startedAt: number): void {
    const key = `${entry.endpoint ?? ''} ${caller}`
    const wait = this.#waits.get(key)
    if (wait === undefined) return
    if (startedAt >= wait.until) return void this.#waits.delete(key)
    if (startedAt > wait.requestedAt + this.#graceMs())
      this.#recordViolation(entry, 'request_during_retry_after', `${Math.ceil((wait.until - startedAt) / 1000)} s too early`)
  }

  clear(): void {
    this.#seen = []
    this.#open.clear()
    this.#waits.clear()
    this.#openBodies.clear()
  }

  /** Records a violation if both requests have a key in common. */
  #compare(mine: Seen, other: Seen): void {
    const [small, large] = mine.content.keys.length < other.content.keys.length ? [mine, other] : [other, mine]
    large.keySet ??= new Set(large.content.keys)
    const set = large.keySet
    if (small.content.keys.some((key) => set.has(key)))
      this.#recordViolation(mine.entry, 'two_in_flight_for_one_key', `overlaps request ${other.entry.seq}`)
  }

  #openBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyOf(entry)
    const open = this.#openBodies.get(key)
    if (open === undefined) return void this.#openBodies.set(key, { first: entry.seq, count: 1 })
    open.count++
    this.#recordViolation(entry, 'same_body_at_once', `the same bytes as request ${open.first}, which is still in flight`)
  }

  #closeBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyOf(entry)
    const open = this.#openBodies.get(key)
    if (open !== undefined && --open.count === 0) this.#openBodies.delete(key)
  }
}

function bodyOf(entry: LedgerEntry): string {
  return `${entry.method} ${entry.path} ${entry.body_sha256}`
}
