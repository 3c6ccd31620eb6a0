/** Digests of raw records, kept with the snapshot that they stand for (performance.md, gate 2). */
import type pg from 'pg'
import type { Database } from './database.ts'

const chunkRecords = 4_096
/** More gone than this share of all, and the chunks are written anew by the next full reading. */
const goneShare = 0.3

export interface StoredDigests {
  /** Those that still count. */
  readonly count: number
  /** Those stored, the gone ones included. */
  readonly stored: number
  /** Chunks in order: their digests, and where in them the digests are that still count. */
  readonly chunks: AsyncIterable<{ readonly chunk: number; readonly digests: Buffer; readonly gone: readonly number[] }>
}

/** Undefined when there are none, or so many are gone that a full reading is due. */
export async function loadDigests(db: Database, destinationId: number): Promise<StoredDigests | undefined> {
  const [row] = await db.query<{ total: string | null; gone: string | null }>(
    `select sum(octet_length(digests) / 16) as total, sum(cardinality(gone)) as gone from sluice.record_digest where destination_id = $1`,
    [destinationId],
  )
  const total = Number(row?.total ?? 0)
  const gone = Number(row?.gone ?? 0)
  if (total === 0 || gone > total * goneShare) return undefined
  return { count: total - gone, stored: total, chunks: readChunks(db, destinationId) }
}

async function* readChunks(
  db: Database,
  destinationId: number,
): StoredDigests['chunks'] extends AsyncIterable<infer Chunk> ? AsyncGenerator<Chunk> : never {
  let after = -1
  for (;;) {
    const rows = await db.query<{ chunk: number; digests: Buffer; gone: number[] }>(
      `select chunk, digests, gone from sluice.record_digest where destination_id = $1 and chunk > $2 order by chunk limit 32`,
      [destinationId, after],
    )
    yield* rows
    const last = rows.at(-1)
    if (!last) return
    after = last.chunk
  }
}

/** Nothing is known any more: the next reading is a full one. */
export async function forgetDigests(client: pg.PoolClient, destinationId: number): Promise<void> {
  await client.query('delete from sluice.record_digest where destination_id = $1', [destinationId])
}

/** A full reading: the stage's digests are all there are. None are kept unless every valid row has one. */
export async function replaceDigests(client: pg.PoolClient, destinationId: number, validKind: number): Promise<void> {
  await forgetDigests(client, destinationId)
  const { rows } = await client.query<{ whole: boolean }>(`select count(*) = count(digest) as whole from stage where kind = ${validKind}`)
  if (rows[0]?.whole === true) await appendDigests(client, destinationId, validKind)
}

/** A gated reading: new records are appended, those not seen again are marked. */
export async function updateDigests(
  client: pg.PoolClient,
  destinationId: number,
  validKind: number,
  unseen: readonly UnseenDigests[],
): Promise<void> {
  await client.query(
    `update sluice.record_digest d set gone = d.gone || (select array_agg(p::int) from jsonb_array_elements_text(x.positions) p)
     from jsonb_to_recordset($2::jsonb) as x (chunk int, positions jsonb) where d.destination_id = $1 and d.chunk = x.chunk`,
    [destinationId, JSON.stringify(unseen)],
  )
  await appendDigests(client, destinationId, validKind)
}

export interface UnseenDigests {
  readonly chunk: number
  /** From 0. */
  readonly positions: readonly number[]
}

/** Fills the temporary table `left_key` with the keys of digests that were not seen again. */
export async function collectLeftKeys(client: pg.PoolClient, destinationId: number, unseen: readonly UnseenDigests[]): Promise<void> {
  await client.query('create temp table left_key (key bytea not null)')
  await client.query(
    `insert into left_key
     select d.keys[p::int + 1]
     from jsonb_to_recordset($2::jsonb) as x (chunk int, positions jsonb)
       join sluice.record_digest d on d.destination_id = $1 and d.chunk = x.chunk
       cross join lateral jsonb_array_elements_text(x.positions) as p`,
    [destinationId, JSON.stringify(unseen)],
  )
  await client.query('analyze left_key')
}

async function appendDigests(client: pg.PoolClient, destinationId: number, validKind: number): Promise<void> {
  await client.query(
    `insert into sluice.record_digest (destination_id, chunk, digests, keys)
     select $1, (select coalesce(max(chunk) + 1, 0) from sluice.record_digest where destination_id = $1) + n / ${chunkRecords},
       string_agg(digest, '' order by n), array_agg(key order by n)
     from (select digest, key, row_number() over () - 1 as n from stage where kind = ${validKind} and digest is not null) s
     group by n / ${chunkRecords}`,
    [destinationId],
  )
}
