/**
 * Checks four rules (docs/sandbox.md#violations):
 * - A request contains no key twice.
 * - Requests in flight have no key in common.
 * - Requests in flight have different bodies.
 * - A caller waits as long as an answer requested.
 */
import type { RequestContent } from './requestContent.ts'
import type { LedgerEntry } from './ledger.ts'

/** Request whose body arrived. Machine times, milliseconds since 1970. */
interface SeenRequest {
  readonly entry: LedgerEntry
  readonly startedAt: number
  readonly content: RequestContent
  /** Keys of `content`; undefined until they are needed. */
  keySet: Set<string> | undefined
  /** `Infinity` while the request is in flight. */
  finishedAt: number
}

/** Wait that an answer requested. Machine times, milliseconds since 1970. */
interface Wait {
  readonly until: number
  readonly requestedAt: number
}

/** Number of requests in `#seen` above which the oldest ended ones are dropped. Limits memory and time. */
const MAX_SEEN = 1000

/** Requests in flight, and the waits that answers requested. */
export class TrafficRules {
  /** Requests in flight whose body arrived, and ended ones that a request in `#incompleteRequests` may overlap. */
  #seen: SeenRequest[] = []
  /** Start of each request whose body has not arrived, by `seq`. */
  readonly #incompleteRequests = new Map<number, number>()
  /** Waits by endpoint and caller. */
  readonly #waits = new Map<string, Wait>()
  /** Requests in flight with the same method, path and body, by `seq`, in the order of their arrival. */
  readonly #bodiesInFlight = new Map<string, Set<number>>()
  readonly #now: () => number
  readonly #recordViolation: (entry: LedgerEntry, rule: string, detail: string) => void
  readonly #graceMs: () => number

  /**
   * `graceMs` returns a time in milliseconds, from the answer that requests a wait. Requests in that time are allowed: the caller may have
   * sent them before it read the answer. Such requests may use the connection of the answer, because a pool reuses it early.
   */
  constructor(now: () => number, recordViolation: (entry: LedgerEntry, rule: string, detail: string) => void, graceMs: () => number) {
    this.#now = now
    this.#recordViolation = recordViolation
    this.#graceMs = graceMs
  }

  /** True if waits are stored. Some may be over. */
  get hasWaits(): boolean {
    return this.#waits.size > 0
  }

  headersArrived(entry: LedgerEntry, startedAt: number): void {
    this.#incompleteRequests.set(entry.seq, startedAt)
  }

  bodyArrived(entry: LedgerEntry, startedAt: number, content: RequestContent): void {
    this.#incompleteRequests.delete(entry.seq)
    this.#beginBody(entry)
    if (content.keys.length === 0) return
    const request: SeenRequest = { entry, startedAt, content, keySet: undefined, finishedAt: Number.POSITIVE_INFINITY }
    for (const other of this.#seen) if (other.finishedAt > startedAt) this.#checkKeys(request, other)
    this.#seen.push(request)
    const repeated = countRepeated(content.keys)
    if (repeated > 0) this.#recordViolation(entry, 'duplicate_in_request', `keys that occur more than once in one request: ${repeated}`)
  }

  requestEnded(entry: LedgerEntry): void {
    this.#incompleteRequests.delete(entry.seq)
    this.#endBody(entry)
    const request = this.#seen.find((one) => one.entry === entry)
    if (request !== undefined) request.finishedAt = this.#now()
    // Later requests cannot overlap an ended request. A violation with an ended request above `MAX_SEEN` is missed.
    const oldestStart = Math.min(...this.#incompleteRequests.values())
    let excess = this.#seen.length - MAX_SEEN
    this.#seen = this.#seen.filter(
      ({ finishedAt }) => finishedAt === Number.POSITIVE_INFINITY || (finishedAt > oldestStart && excess-- <= 0),
    )
  }

  /**
   * Records that an answer requested a wait until `until`, a machine time. For each endpoint and caller, keeps only the wait that ends
   * last.
   */
  recordWait(entry: LedgerEntry, caller: string, until: number): void {
    const key = `${entry.endpoint ?? ''} ${caller}`
    if ((this.#waits.get(key)?.until ?? 0) < until) this.#waits.set(key, { until, requestedAt: this.#now() })
  }

  /** Records a violation if the request began after the grace time and before the end of the wait. Deletes a wait that is over. */
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
    this.#incompleteRequests.clear()
    this.#waits.clear()
    this.#bodiesInFlight.clear()
  }

  #checkKeys(request: SeenRequest, other: SeenRequest): void {
    const [small, large] = request.content.keys.length < other.content.keys.length ? [request, other] : [other, request]
    large.keySet ??= new Set(large.content.keys)
    const set = large.keySet
    if (small.content.keys.some((key) => set.has(key)))
      this.#recordViolation(request.entry, 'two_in_flight_for_one_key', `overlaps request ${other.entry.seq}`)
  }

  /** Stores the body of a request as in flight. Records a violation if the same body is in flight already. */
  #beginBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyKeyOf(entry)
    const withSameBody = this.#bodiesInFlight.get(key)
    if (withSameBody === undefined) return void this.#bodiesInFlight.set(key, new Set([entry.seq]))
    const [first] = withSameBody
    withSameBody.add(entry.seq)
    this.#recordViolation(entry, 'same_body_at_once', `the same bytes as request ${first}, which is still in flight`)
  }

  #endBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyKeyOf(entry)
    const withSameBody = this.#bodiesInFlight.get(key)
    withSameBody?.delete(entry.seq)
    if (withSameBody?.size === 0) this.#bodiesInFlight.delete(key)
  }
}

/** Returns the number of different keys that occur more than once. */
function countRepeated(keys: readonly string[]): number {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const key of keys) (seen.has(key) ? repeated : seen).add(key)
  return repeated.size
}

function bodyKeyOf(entry: LedgerEntry): string {
  return `${entry.method} ${entry.path} ${entry.body_sha256}`
}
