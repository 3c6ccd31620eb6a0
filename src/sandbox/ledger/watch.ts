/** Rules that a caller broke, seen from the requests themselves (docs/sandbox.md). Refusals stay refusals; this is the test's own view. */
import type { Carried } from './carried.ts'
import type { LedgerEntry } from './ledger.ts'

interface Seen {
  readonly entry: LedgerEntry
  readonly startedAt: number
  readonly carried: Carried
  keySet: Set<string> | undefined
  finishedAt: number
}

/** Callers with an active rate limit, by endpoint and caller. */
interface Wait {
  readonly until: number
  readonly askedAt: number
}

export class Watch {
  /** In flight, or finished after something still in flight had begun: only these can overlap with the next. */
  #seen: Seen[] = []
  #open = new Set<number>()
  readonly #waits = new Map<string, Wait>()
  /** Requests in flight by method, path and body: the number of the first, and how many there are. */
  readonly #openBodies = new Map<string, { readonly first: number; count: number }>()
  readonly #now: () => number
  readonly #violate: (entry: LedgerEntry, rule: string, detail: string) => void

  readonly #graceMs: () => number

  /**
   * `graceMs`: a request that was on its way before the answer "wait" was read is no offence, so what begins within this
   * time is let pass. The connection is no evidence: a pool hands it on before its user has read the answer.
   */
  constructor(now: () => number, violate: (entry: LedgerEntry, rule: string, detail: string) => void, graceMs: () => number) {
    this.#now = now
    this.#violate = violate
    this.#graceMs = graceMs
  }

  get someoneWaits(): boolean {
    return this.#waits.size > 0
  }

  /** The request's first byte. */
  begin(entry: LedgerEntry): void {
    this.#open.add(entry.seq)
  }

  /** Its body is known. */
  carry(entry: LedgerEntry, startedAt: number, carried: Carried): void {
    this.#sameBody(entry)
    if (carried.keys.length === 0) return
    const mine: Seen = { entry, startedAt, carried, keySet: undefined, finishedAt: Number.POSITIVE_INFINITY }
    for (const other of this.#seen) if (other.finishedAt > startedAt) this.#compare(mine, other)
    this.#seen.push(mine)
    checkDuplicates(entry, carried, this.#violate)
  }

  /** The answer is out, or the connection gone. */
  finish(entry: LedgerEntry): void {
    this.#open.delete(entry.seq)
    this.#forgetBody(entry)
    const mine = this.#seen.find((one) => one.entry === entry)
    if (mine !== undefined) mine.finishedAt = this.#now()
    if (this.#open.size === 0) this.#seen = []
    else if (this.#seen.length > 64) {
      const oldest = Math.min(...this.#open)
      this.#seen = this.#seen.filter((one) => this.#open.has(one.entry.seq) || one.entry.seq > oldest - 32)
    }
  }

  /** Records that a 429 or 503 asked this caller to wait. */
  askedToWait(entry: LedgerEntry, caller: string, until: number): void {
    const key = `${entry.endpoint ?? ''} ${caller}`
    if ((this.#waits.get(key)?.until ?? 0) < until) this.#waits.set(key, { until, askedAt: this.#now() })
  }

  /** Returns true for a request, begun at `startedAt`, of a caller who had to wait. */
  checkWait(entry: LedgerEntry, caller: string, startedAt: number): void {
    const key = `${entry.endpoint ?? ''} ${caller}`
    const wait = this.#waits.get(key)
    if (wait === undefined) return
    if (startedAt >= wait.until) return void this.#waits.delete(key)
    if (startedAt > wait.askedAt + this.#graceMs())
      this.#violate(entry, 'request_during_retry_after', `${Math.ceil((wait.until - startedAt) / 1000)} s too early`)
  }

  clear(): void {
    this.#seen = []
    this.#open.clear()
    this.#waits.clear()
    this.#openBodies.clear()
  }

  #compare(mine: Seen, other: Seen): void {
    const [small, large] = mine.carried.keys.length < other.carried.keys.length ? [mine, other] : [other, mine]
    large.keySet ??= new Set(large.carried.keys)
    const set = large.keySet
    if (small.carried.keys.some((key) => set.has(key)))
      this.#violate(mine.entry, 'two_in_flight_for_one_key', `overlaps request ${other.entry.seq}`)
  }

  #sameBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyOf(entry)
    const open = this.#openBodies.get(key)
    if (open === undefined) return void this.#openBodies.set(key, { first: entry.seq, count: 1 })
    open.count++
    this.#violate(entry, 'same_body_at_once', `the same bytes as request ${open.first}, which is still on its way`)
  }

  #forgetBody(entry: LedgerEntry): void {
    if (entry.bytes === 0 || entry.method === 'GET') return
    const key = bodyOf(entry)
    const open = this.#openBodies.get(key)
    if (open !== undefined && --open.count === 0) this.#openBodies.delete(key)
  }
}

function bodyOf(entry: LedgerEntry): string {
  return `${entry.method} ${entry.path} ${entry.body_sha256}`
}

function checkDuplicates(entry: LedgerEntry, carried: Carried, violate: (entry: LedgerEntry, rule: string, detail: string) => void): void {
  const set = new Set(carried.keys)
  if (set.size === carried.keys.length) return
  violate(entry, 'duplicate_in_request', `${carried.keys.length - set.size} keys occur again in one request`)
}
