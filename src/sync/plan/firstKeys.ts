/**
 * Keys of a plain first load, written behind their batches: Postgres inserts those of the last batches while this process renders the
 * next ones. Keys of provisional batches are stored as confirmed (`db/provisional.ts`).
 */
import type pg from 'pg'
import { plainTimes } from './desired.ts'
import { insertKeys, type FirstLoad } from './firstLoad.ts'
import { refreshStatistics } from './statistics.ts'

/** A frozen batch: it has the records from its first one to the first one of the next batch. */
export interface FrozenRange {
  readonly batchId: number
  readonly firstKey: Buffer
  readonly provisional: boolean
  readonly expiresAtMs: number | null
}

const content = [plainTimes, plainTimes, 'r.ends_at', 'r.batch_id'].map((value, i) =>
  i === 0 ? value : `case when r.provisional then ${value} end`,
)
const records = `
  select f.provisional, f.batch_id, f.ends_at, i.key, i.identifiers
  from (
    select batch_id, provisional, to_timestamp(ends_at / 1000.0) as ends_at, first_key, next_key
    from unnest($2::bigint[], $3::boolean[], $4::float8[], $5::bytea[], $6::bytea[]) as f (batch_id, provisional, ends_at, first_key, next_key)) f
  cross join lateral (
    select key, identifiers from record
    where destination_id = $1 and key >= f.first_key and (f.next_key is null or key < f.next_key) order by key) i`

export class FirstKeys {
  readonly #client: pg.PoolClient
  readonly #destinationId: number
  readonly #first: FirstLoad
  /** The last batch, whose end is not known yet. */
  #last: FrozenRange | undefined
  #running: Promise<void> = Promise.resolve()
  #failure: unknown

  constructor(client: pg.PoolClient, destinationId: number, first: FirstLoad) {
    this.#client = client
    this.#destinationId = destinationId
    this.#first = first
  }

  /** Waits until the connection is free. @throws what an insert threw */
  async idle(): Promise<void> {
    await this.#running
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Starts to insert the keys of written batches; those of the last one follow with the next. The connection must be free. */
  add(ranges: readonly FrozenRange[]): void {
    const known = [...(this.#last === undefined ? [] : [this.#last]), ...ranges]
    this.#last = known.at(-1)
    this.#insert(known.slice(0, -1), this.#last)
  }

  /** Inserts the keys of the last batch. */
  async end(): Promise<void> {
    await this.idle()
    if (this.#last !== undefined) this.#insert([this.#last], undefined)
    await this.idle()
    await refreshStatistics(this.#client, this.#destinationId, this.#first.creates, ['remote'])
  }

  #insert(ranges: readonly FrozenRange[], next: FrozenRange | undefined): void {
    if (ranges.length === 0) return
    const query = {
      shared: this.#first.shared,
      columns: 'desired_hash, synced_hash, expires_at, batch_id',
      content: content.join(', '),
      records,
    }
    this.#running = insertKeys(this.#client, this.#destinationId, query, [
      ranges.map(({ batchId }) => batchId),
      ranges.map(({ provisional }) => provisional),
      ranges.map(({ expiresAtMs }) => expiresAtMs),
      ranges.map(({ firstKey }) => firstKey),
      ranges.map((_, i) => (ranges[i + 1] ?? next)?.firstKey ?? null),
    ]).catch((error: unknown) => {
      this.#failure ??= error
    })
  }
}
