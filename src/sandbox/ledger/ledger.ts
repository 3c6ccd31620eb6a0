/** Stores every request in order, counts those in flight, and stores the rules that callers broke (docs/sandbox.md#violations). */
import type { KeyValue } from './requestContent.ts'

export interface LedgerEntry {
  readonly seq: number
  /** Machine time at which the headers were complete, ISO 8601. */
  readonly time: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  query: string
  endpoint: string | null
  /** Null while in flight, and if the connection broke before a status was sent. */
  status: number | null
  /** Size of the request body. */
  bytes: number
  body_sha256: string
  /** Number of products, product keys or users. */
  items: number
  /** True if the handler ran on the state, not on a copy, and succeeded. The answer that was sent may differ. */
  applied: boolean
  fault: string | null
  fault_id: string | null
  readonly connection: number
  readonly worker: string | null
  body_end_at: string | null
  applied_at: string | null
  answer_started_at: string | null
  answer_ended_at: string | null
  answer_bytes: number
  client_closed: boolean
  /** Only with the switch `ledger_keys`, for a request with products or identifiers. */
  keys?: readonly Pick<KeyValue, 'key' | 'value'>[]
}

export interface Violation {
  readonly seq: number
  readonly time: string
  readonly rule: string
  readonly detail: string
  readonly method: string
  readonly path: string
}

export interface EndpointStats {
  requests: number
  readonly by_status: Record<string, number>
  items: number
  most_in_flight: number
  most_in_60_s: number
}

export class Ledger {
  readonly entries: LedgerEntry[] = []
  readonly violations: Violation[] = []
  /** Request whose handler was called last. Violations that areas report are recorded for it. */
  current: LedgerEntry | undefined
  readonly #inFlight = new Map<string, { now: number; most: number }>()
  #seq = 0

  /** Adds an entry. Its other fields are set while the request continues. */
  open(first: Pick<LedgerEntry, 'time' | 'method' | 'path' | 'query' | 'endpoint' | 'connection' | 'worker'>): LedgerEntry {
    const entry: LedgerEntry = {
      seq: ++this.#seq,
      time: first.time,
      method: first.method,
      path: first.path,
      query: first.query,
      endpoint: first.endpoint,
      status: null,
      bytes: 0,
      body_sha256: '',
      items: 0,
      applied: false,
      fault: null,
      fault_id: null,
      connection: first.connection,
      worker: first.worker,
      body_end_at: null,
      applied_at: null,
      answer_started_at: null,
      answer_ended_at: null,
      answer_bytes: 0,
      client_closed: false,
    }
    this.entries.push(entry)
    return entry
  }

  /** Returns the entries after `seq`, exclusive. */
  after(seq: number): readonly LedgerEntry[] {
    const first = this.entries[0]?.seq ?? 1
    return this.entries.slice(Math.max(0, seq - first + 1))
  }

  /** Counts a request to the endpoint as in flight. */
  begin(endpoint: string): void {
    const counter = this.#inFlight.get(endpoint) ?? { now: 0, most: 0 }
    counter.now++
    counter.most = Math.max(counter.most, counter.now)
    this.#inFlight.set(endpoint, counter)
  }

  /** Counts a request to the endpoint as ended. */
  end(endpoint: string): void {
    const counter = this.#inFlight.get(endpoint)
    if (counter !== undefined && counter.now > 0) counter.now--
  }

  inFlight(endpoint: string): number {
    return this.#inFlight.get(endpoint)?.now ?? 0
  }

  /** Records a violation. `entry` is undefined for one that belongs to no request: its `seq` is 0. */
  recordViolation(entry: LedgerEntry | undefined, time: string, rule: string, detail: string): void {
    this.violations.push({ seq: entry?.seq ?? 0, time, rule, detail, method: entry?.method ?? '', path: entry?.path ?? '' })
  }

  /** Returns the counts of all requests by endpoint name, `unknown` for requests without a route. */
  stats(): Record<string, EndpointStats> {
    const stats: Record<string, EndpointStats> = {}
    const starts = new Map<string, { times: number[]; first: number }>()
    for (const entry of this.entries) {
      const name = entry.endpoint ?? 'unknown'
      const one = (stats[name] ??= {
        requests: 0,
        by_status: {},
        items: 0,
        most_in_flight: this.#inFlight.get(name)?.most ?? 0,
        most_in_60_s: 0,
      })
      one.requests++
      one.items += entry.items
      const status = entry.status === null ? 'none' : String(entry.status)
      one.by_status[status] = (one.by_status[status] ?? 0) + 1
      let window = starts.get(name)
      if (window === undefined) starts.set(name, (window = { times: [], first: 0 }))
      const at = Date.parse(entry.time)
      window.times.push(at)
      while ((window.times[window.first] ?? at) <= at - 60_000) window.first++
      one.most_in_60_s = Math.max(one.most_in_60_s, window.times.length - window.first)
    }
    return stats
  }

  clear(): void {
    this.entries.length = 0
    this.violations.length = 0
    this.#inFlight.clear()
    this.#seq = 0
  }
}
