/** Stores every request and every violation (docs/sandbox.md#violations), and counts requests in flight. */
import type { KeyValue } from './requestContent.ts'

/** Request in the form of `GET /_sandbox/ledger`. Times are machine times, ISO 8601. */
export interface LedgerEntry {
  /** Position in the ledger, from 1. */
  readonly seq: number
  /** Time at which the headers were complete. */
  readonly time: string
  readonly method: string
  /** Path without the query. */
  readonly path: string
  query: string
  /** Name of the endpoint; null if no endpoint serves the request. */
  endpoint: string | null
  /** Status that was sent. Null while in flight, and if the connection broke before a status was sent. */
  status: number | null
  /** Size of the request body; 0 until the body is read. */
  bytes: number
  /** SHA-256 of the request body, in hex. Covers at most the first 32 MiB. Empty until the body is read. */
  body_sha256: string
  /** Number of products, product keys or users. */
  items: number
  /**
   * True if the handler accepted the request, and a fault did not omit all of its entries. Also true for a refused request if the switch
   * `partial_apply` applied a part of it. A fault may change the answer, so the answer may not show this.
   */
  applied: boolean
  /** Kind of the fault that hit the request. If two hit it, kind of the later one. */
  fault: string | null
  fault_id: string | null
  /** Number of the connection, from 1; 0 if it is unknown. */
  readonly connection: number
  /** Value of the header `x-test-worker`. */
  readonly worker: string | null
  body_end_at: string | null
  /** Time at which the handler ended; null if `applied` is false. */
  applied_at: string | null
  /** Time at which the answer began; null without an answer. */
  answer_started_at: string | null
  /** Time at which the answer was sent or the connection ended. */
  answer_ended_at: string | null
  /** Size of the body of the answer. If a fault sends only a part of the body, size of the part. */
  answer_bytes: number
  /** True if the connection ended before the answer was sent, whichever side closed it. */
  client_closed: boolean
  /** Products or identifiers of the request. Set only with the switch `ledger_keys`. */
  keys?: readonly Pick<KeyValue, 'key' | 'value'>[]
}

/** Violation: a rule that a caller broke, with the request. */
export interface Violation {
  /** `seq` of the request; 0 without one. */
  readonly seq: number
  readonly time: string
  readonly rule: string
  readonly detail: string
  readonly method: string
  readonly path: string
}

/** Counts of the requests to one endpoint. */
export interface EndpointStats {
  requests: number
  /** Number of requests by status. Requests without a status count as `none`. */
  readonly by_status: Record<string, number>
  items: number
  most_in_flight: number
  most_in_60_s: number
}

/** Requests and violations since the last reset. */
export class Ledger {
  readonly entries: LedgerEntry[] = []
  readonly violations: Violation[] = []
  /** Request whose handler was called last. Violations that areas report are recorded for it. */
  current: LedgerEntry | undefined
  readonly #inFlight = new Map<string, { now: number; most: number }>()

  /** Adds an entry for a request, and counts the request as in flight. The other fields of the entry are set later. */
  open(initial: Pick<LedgerEntry, 'time' | 'method' | 'path' | 'query' | 'endpoint' | 'connection' | 'worker'>): LedgerEntry {
    const entry: LedgerEntry = {
      seq: this.entries.length + 1,
      ...initial,
      status: null,
      bytes: 0,
      body_sha256: '',
      items: 0,
      applied: false,
      fault: null,
      fault_id: null,
      body_end_at: null,
      applied_at: null,
      answer_started_at: null,
      answer_ended_at: null,
      answer_bytes: 0,
      client_closed: false,
    }
    this.entries.push(entry)
    const counter = this.#inFlight.get(nameOf(entry)) ?? { now: 0, most: 0 }
    counter.now++
    counter.most = Math.max(counter.most, counter.now)
    this.#inFlight.set(nameOf(entry), counter)
    return entry
  }

  /** Returns the entries with a `seq` above the given one. */
  after(seq: number): readonly LedgerEntry[] {
    return this.entries.slice(Math.max(0, seq))
  }

  /** Returns false once a reset has removed the entry. */
  has(entry: LedgerEntry): boolean {
    return this.entries[entry.seq - 1] === entry
  }

  /** Counts a request as no longer in flight. */
  finish(entry: LedgerEntry): void {
    const counter = this.#inFlight.get(nameOf(entry))
    if (counter !== undefined && counter.now > 0) counter.now--
  }

  inFlight(endpoint: string): number {
    return this.#inFlight.get(endpoint)?.now ?? 0
  }

  /** Records a violation. `entry`: undefined for a violation without a request. `time`: ISO 8601. */
  recordViolation(entry: LedgerEntry | undefined, time: string, rule: string, detail: string): void {
    this.violations.push({ seq: entry?.seq ?? 0, time, rule, detail, method: entry?.method ?? '', path: entry?.path ?? '' })
  }

  /** Returns the counts of all requests by endpoint name. Requests without an endpoint count as `unknown`. */
  stats(): Record<string, EndpointStats> {
    const stats: Record<string, EndpointStats> = {}
    // Start times of the requests to each endpoint. `first`: index of the first one in the 60 s before the current entry.
    const windows = new Map<string, { times: number[]; first: number }>()
    for (const entry of this.entries) {
      const name = nameOf(entry)
      const counts = (stats[name] ??= {
        requests: 0,
        by_status: {},
        items: 0,
        most_in_flight: this.#inFlight.get(name)?.most ?? 0,
        most_in_60_s: 0,
      })
      counts.requests++
      counts.items += entry.items
      const status = entry.status === null ? 'none' : String(entry.status)
      counts.by_status[status] = (counts.by_status[status] ?? 0) + 1
      let window = windows.get(name)
      if (window === undefined) windows.set(name, (window = { times: [], first: 0 }))
      const at = Date.parse(entry.time)
      window.times.push(at)
      while ((window.times[window.first] ?? at) <= at - 60_000) window.first++
      counts.most_in_60_s = Math.max(counts.most_in_60_s, window.times.length - window.first)
    }
    return stats
  }

  clear(): void {
    this.entries.length = 0
    this.violations.length = 0
    this.#inFlight.clear()
  }
}

function nameOf({ endpoint }: LedgerEntry): string {
  return endpoint ?? 'unknown'
}
