/**
 * Writes the table `record`: the content of each row at its last read. Most functions get the records as SQL with named columns. Unless
 * stated otherwise, `$1` in that SQL is the destination.
 */
import { recordKeyBytes } from '../destinations/updateWriter.ts'
import { CopyWriter } from './copyBinary.ts'
import type { Transaction } from './database.ts'
import { recordMayImply } from './impliedKeys.ts'
import type { Queryable } from './queryable.ts'
import type { ColumnName } from './row.ts'

/** Columns of a row of the source, for `insertRecords` and `updateRecords`. */
const contentColumns = [
  'hash',
  'body',
  'identifiers',
  'joined_identifiers',
  'effective_at',
  'expires_at',
  'line',
] as const satisfies readonly ColumnName<'record'>[]

/** Destination, and the snapshot of the read. */
interface Read {
  readonly destinationId: number
  readonly snapshotId: number
}

/** Inserts records, and returns their number. `rows`: SQL of `key`, the `contentColumns` and `load_id`. */
export async function insertRecords(tx: Queryable, { destinationId, snapshotId }: Read, rows: string): Promise<number> {
  return tx.execute(
    `insert into record (destination_id, key, ${contentColumns.join(', ')}, snapshot_id, load_id)
     select $1, s.key, ${contentColumns.map((column) => `s.${column}`).join(', ')}, $2, s.load_id from (${rows}) s order by s.key`,
    [destinationId, snapshotId],
  )
}

const hashBytes = 16
const lineBytes = 8
/** Number of bytes of a person's record key, content hash and line (`RecordCopy`). */
export const recordContentBytes = recordKeyBytes + hashBytes + lineBytes
/** Maximum number of bytes of records that wait for Postgres, as much as a step of a first load has (sync/plan/loadParts.ts). */
const maxWaitingBytes = 8_000_000

const loadedColumns = [
  'destination_id',
  'snapshot_id',
  'load_id',
  'key',
  'hash',
  'line',
  'joined_identifiers',
] as const satisfies readonly ColumnName<'record'>[]

/**
 * Writer of the records of a first load of people, by COPY. To insert them from the table `stage` takes 2.7 times as much processor time of
 * Postgres, and 50 B more log per record.
 */
export class RecordCopy {
  readonly #tx: Transaction
  readonly #read: Read & { readonly loadId: number }
  #copy: CopyWriter | undefined

  constructor(tx: Transaction, read: Read & { readonly loadId: number }) {
    this.#tx = tx
    this.#read = read
  }

  /** Begins a COPY when `after` ends. Records may be added earlier. */
  begin(after: Promise<unknown>): void {
    this.#copy = new CopyWriter(this.#tx.client, `record (${loadedColumns.join(', ')})`, { after, maxWaitingBytes })
  }

  /**
   * Adds a record from the bytes in `source`. Key, hash and line begin at `contentAt`. `identifiersLength` bytes of identifiers begin at
   * `identifiersAt`.
   */
  add(source: Buffer, contentAt: number, identifiersAt: number, identifiersLength: number): void {
    const copy = this.#openCopy
    copy.row(loadedColumns.length)
    copy.int4(this.#read.destinationId)
    copy.int8(this.#read.snapshotId)
    copy.int8(this.#read.loadId)
    copy.slice(source, contentAt, recordKeyBytes)
    copy.slice(source, contentAt + recordKeyBytes, hashBytes)
    copy.slice(source, contentAt + recordKeyBytes + hashBytes, lineBytes)
    copy.slice(source, identifiersAt, identifiersLength)
  }

  /** True if `flush` should be awaited before more records are added. */
  get full(): boolean {
    return this.#openCopy.full
  }

  /** Passes the added records to the connection, and waits if too many bytes wait for Postgres. */
  async flush(): Promise<void> {
    await this.#openCopy.flush()
  }

  /** Ends the COPY. The next one may begin before the promise resolves. */
  async end(): Promise<void> {
    const copy = this.#openCopy
    this.#copy = undefined
    await copy.end()
  }

  /** Aborts the COPY if one is open, because later statements of the connection would wait for its end. */
  abort(): void {
    this.#copy?.abort()
  }

  get #openCopy(): CopyWriter {
    if (this.#copy === undefined) throw new Error('no COPY is open')
    return this.#copy
  }
}

/**
 * Replaces the content of records, and marks them as live. The caller must have stored their implied keys (docs/decisions/implied-keys.md),
 * because updated records imply no keys. `rows`: SQL of `key`, the `contentColumns`, and `record_ctid`, the last known `ctid` of the
 * record. If a record has another `ctid` by now, all records are found by key. Searching 40,000 of a million records by key took 0.4 s.
 */
export async function updateRecords(tx: Queryable, { destinationId, snapshotId }: Read, rows: string): Promise<void> {
  const replace = `update record r set ${contentColumns.map((column) => `${column} = s.${column}`).join(', ')}, status = 'live', snapshot_id = $2,
     load_id = null from s where r.destination_id = $1 and r.key = s.key`
  const values = [destinationId, snapshotId]
  // Postgres estimates that each `ctid` costs as much as a random page, and would read the whole table.
  await tx.query('set local enable_seqscan = off')
  const [result] = await tx.query<{ all_replaced: boolean }>(
    `with s as materialized (${rows}), replaced as (${replace} and r.ctid = s.record_ctid returning r.destination_id)
     select (select count(*) from replaced) = (select count(*) from s) as all_replaced`,
    values,
  )
  await tx.query('set local enable_seqscan = on')
  if (result?.all_replaced !== true) await tx.execute(`with s as materialized (${rows}) ${replace}`, values)
}

export async function recordPages(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ pages: number }>(`select (pg_relation_size('record') / current_setting('block_size')::int)::int as pages`)
  return row?.pages ?? 0
}

/**
 * Reads the records from page `page` on once, because Postgres marks rows as visible at their first read. Must be called just after the
 * commit that inserted them. After a checkpoint, these marks would write each page to the log: 200 MB for the first changes after a million
 * users.
 */
export async function markRecordsVisible(tx: Queryable, page: number): Promise<void> {
  await tx.query(`select count(*) from record where ctid >= $1::text::tid`, [`(${page},0)`])
}

/** Marks as stale the records whose row was rejected. `keys`: SQL of `key`. */
export async function markStale(tx: Queryable, destinationId: number, keys: string): Promise<void> {
  await tx.execute(
    `update record r set status = 'stale'
     from (${keys}) x where r.destination_id = $1 and r.key = x.key and r.status <> 'stale'`,
    [destinationId],
  )
}

/** Marks records as missing, without another change. `keys`: SQL of `key`. */
export async function markMissing(tx: Queryable, destinationId: number, keys: string): Promise<void> {
  await tx.execute(`update record r set status = 'missing' from (${keys}) x where r.destination_id = $1 and r.key = x.key`, [destinationId])
}

/** Replaces the content of missing products, and marks them as missing. */
export async function replaceMissing(
  tx: Queryable,
  { destinationId, snapshotId }: Read,
  products: readonly { readonly key: Buffer; readonly body: string; readonly hash: Buffer }[],
): Promise<void> {
  await tx.execute(
    `update record r set body = x.body, hash = x.hash, status = 'missing', snapshot_id = $5
     from unnest($2::bytea[], $3::text[], $4::bytea[]) as x (key, body, hash)
     where r.destination_id = $1 and r.key = x.key`,
    [destinationId, products.map(({ key }) => key), products.map(({ body }) => body), products.map(({ hash }) => hash), snapshotId],
  )
}

/**
 * Clears `load_id` of records whose keys are now stored in `remote` (`remote/implied.ts`). `keys`: SQL of `key`, with `values` from `$2`
 * on.
 */
export async function endImplying(tx: Queryable, destinationId: number, keys: string, values: readonly unknown[] = []): Promise<void> {
  await tx.execute(
    `update record r set load_id = null from (${keys}) x where r.destination_id = $1 and r.key = x.key and ${recordMayImply('r')}`,
    [destinationId, ...values],
  )
}

/** Deletes records. `keys`: SQL of `key`. `keepMissing`: keeps those that are marked as missing. */
export async function deleteRecords(
  tx: Queryable,
  destinationId: number,
  keys: string,
  { keepMissing }: { readonly keepMissing: boolean },
): Promise<void> {
  await tx.execute(
    `delete from record r using (${keys}) x where r.destination_id = $1 and r.key = x.key ${keepMissing ? `and r.status <> 'missing'` : ''}`,
    [destinationId],
  )
}

/** Deletes all records of a destination. Returns their number. */
export async function deleteRecordsOf(tx: Queryable, destinationId: number): Promise<number> {
  return tx.execute('delete from record where destination_id = $1', [destinationId])
}

/**
 * Deletes missing records of products whose delete is not needed any more. The product is then not desired, has no confirmed content, and
 * has no unresolved request. `unresolved`: SQL of `key` of unresolved requests, without parameters.
 */
export async function deleteUnneededMissing(tx: Queryable, destinationId: number, unresolved: string): Promise<void> {
  await tx.execute(
    `delete from record r where r.destination_id = $1 and r.status = 'missing'
       and not exists (select from (${unresolved}) u where u.key = r.key)
       and not exists (select from remote m where m.destination_id = $1 and m.key = r.key and (m.ref_count > 0 or m.synced_hash is not null))`,
    [destinationId],
  )
}

/** Deletes missing records whose delete was confirmed. `keys`: SQL of `key`, with the batch as `$1` and the destination as `$2`. */
export async function deleteRemoved(tx: Queryable, keys: string, values: readonly [batchId: number, destinationId: number]): Promise<void> {
  await tx.execute(`delete from record r using (${keys}) x where r.destination_id = $2 and r.key = x.key and r.status = 'missing'`, [
    ...values,
  ])
}
