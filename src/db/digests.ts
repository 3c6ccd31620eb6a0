/** Stores the digests of the raw records of the last complete snapshot (docs/benchmarks.md). */
import { CopyWriter } from './copyBinary.ts'
import { copyOut } from './copyOut.ts'
import type { Connection, Transaction } from './database.ts'
import { hasRows, type Queryable } from './queryable.ts'
import type { DbRow } from './row.ts'
import { keptTableSql } from './temporaryTables.ts'

/** Maximum number of digests in a chunk. */
const maxChunkDigests = 4_096
/** Maximum share of outdated digests. Above it, `loadDigests` returns undefined, so that a full read rewrites the chunks. */
const maxOutdatedShare = 0.3

/** Digests of the last complete snapshot. */
export interface StoredDigests {
  /** Number of current digests. */
  readonly count: number
  /** Number of stored digests, including outdated ones. */
  readonly stored: number
  /** Yields the chunks in order. A chunk is valid until the next one is requested. */
  readonly chunks: () => AsyncIterable<StoredChunk>
  /** Row statistics that the numbers beside the digests refer to (mapping/statistics/readStatistics.ts). */
  readonly quality: unknown
}

export interface StoredChunk {
  readonly chunk: number
  /** Digests of 16 bytes. */
  readonly digests: Uint8Array
  /**
   * Two bytes per digest, big-endian: the number of the record's feature set, which is a combination of warnings, currency, stock …
   * (docs/architecture.md#three-gates-work-that-is-skipped-safely).
   */
  readonly featureSets: Uint8Array
  /** Positions of digests that are no longer current, from 0. */
  readonly outdated: readonly number[]
}

/** Returns the key of the destination's digests, 16 bytes. */
export async function digestKey(db: Queryable, destinationId: number): Promise<Buffer> {
  const [row] = await db.query<DbRow<'destination', 'digest_key'>>('select digest_key from destination where id = $1', [destinationId])
  if (!row) throw new Error(`destination ${destinationId} does not exist`)
  return row.digest_key
}

/**
 * Loads the digests. Returns undefined if there are none, or if so many are outdated that a full read is needed. The chunks are read in the
 * transaction `tx` when they are requested.
 */
export async function loadDigests(tx: Connection, destinationId: number): Promise<StoredDigests | undefined> {
  const chunks = await tx.query<DbRow<'record_digest', 'chunk' | 'outdated'> & { count: number }>(
    `select chunk, octet_length(digests) / 16 as count, outdated from record_digest where destination_id = $1 order by chunk`,
    [destinationId],
  )
  const stored = chunks.reduce((sum, { count }) => sum + count, 0)
  const outdated = chunks.reduce((sum, chunk) => sum + chunk.outdated.length, 0)
  if (stored === 0 || outdated > stored * maxOutdatedShare) return undefined
  const quality = await loadQuality(tx, destinationId)
  if (quality === undefined) return undefined
  return {
    count: stored - outdated,
    stored,
    quality,
    async *chunks() {
      let at = 0
      const values = copyOut(
        tx.client,
        // Only the numbers of the chunks are sorted. Sorting the digests of a million records wrote them to a temporary file.
        `select d.bytes from (select chunk from record_digest where destination_id = ${destinationId} order by chunk) c
           cross join lateral (
             select d.digests || d.feature_sets as bytes from record_digest d
             where d.destination_id = ${destinationId} and d.chunk = c.chunk offset 0) d`,
      )
      for await (const value of values) {
        const entry = chunks[at++]
        // A digest has 16 bytes, and the number of a feature set has two.
        if (entry?.count !== value.length / (16 + 2)) throw new Error('the digests changed while they were read')
        const digests = value.subarray(0, entry.count * 16)
        yield { chunk: entry.chunk, digests, featureSets: value.subarray(digests.length), outdated: entry.outdated }
      }
    },
  }
}

/** Returns the row statistics that the numbers beside the digests refer to; undefined if there are no digests. */
export async function loadQuality(tx: Connection, destinationId: number): Promise<unknown> {
  const rows = await tx.query<DbRow<'record_quality', 'quality'>>('select quality from record_quality where destination_id = $1', [
    destinationId,
  ])
  return rows[0]?.quality
}

async function storeQuality(tx: Transaction, destinationId: number, quality: unknown): Promise<void> {
  await tx.query(
    `insert into record_quality (destination_id, quality) values ($1, $2)
     on conflict (destination_id) do update set quality = excluded.quality`,
    [destinationId, JSON.stringify(quality)],
  )
}

/**
 * Returns SQL of the chunks of destination `$1` that meet the condition `where`. Because of the concatenations, Postgres reads each chunk
 * from its storage only once. Without them it reads the chunk for each position, which took 0.1 s for 10,000 positions of 1,000,000. The
 * column `length` is the length of each key if all are equally long, else null.
 */
const chunksWhere = (where: string) => `(
         select keys || ''::bytea as keys, key_ends || '{}'::int[] as key_ends, outdated, octet_length(digests) / 16 as count,
           case when key_ends = '{}' then octet_length(keys) * 16 / octet_length(digests) end as length
         from record_digest where destination_id = $1 and ${where} offset 0)`

/** Returns SQL of the record key at `position` of chunk `d`, from 0. */
const keyAt = (position: string) => `case when d.length is not null then substring(d.keys from ${position} * d.length + 1 for d.length)
       else substring(d.keys from coalesce(d.key_ends[${position}], 0) + 1 for d.key_ends[${position} + 1] - coalesce(d.key_ends[${position}], 0)) end`

/** Returns true if the last complete read had a valid row with this record key; undefined if no digests are stored. */
export async function wasRead(db: Queryable, destinationId: number, key: Buffer): Promise<boolean | undefined> {
  const [row] = await db.query<{ stored: boolean; read: boolean }>(
    `select exists (select from record_digest where destination_id = $1) as stored,
       exists (
         select from ${chunksWhere('position($2::bytea in keys) > 0')} d cross join lateral generate_series(0, d.count - 1) as p
         where ${keyAt('p')} = $2 and p <> all (d.outdated)) as read`,
    [destinationId, key],
  )
  return row?.stored === true ? row.read : undefined
}

/** Deletes all digests of a destination and its row statistics, so that the next read is a full read. */
export async function deleteDigests(tx: Transaction, destinationId: number): Promise<void> {
  await tx.query('delete from record_quality where destination_id = $1', [destinationId])
  await tx.query('delete from record_digest where destination_id = $1', [destinationId])
}

/** Number of chunks in memory (2.5 MB) above which `StagedDigests` should be stored. */
const maxChunksInMemory = 16

/** Chunk that is being filled. */
interface DigestChunk {
  count: number
  readonly digests: Buffer
  readonly featureSets: Buffer
  keys: Buffer
  readonly keyEnds: Int32Array
}

/**
 * Collects the digests of the valid rows of a full read in the order of the file. Writes them to the temporary table `staged_digest`.
 * Collecting them from the table `stage` took 2.4 of 27 s of a first load of a million people.
 */
export class StagedDigests {
  #storedChunks = 0
  #count = 0
  #chunks: DigestChunk[] = []
  /** Chunks that were stored, for further digests. */
  readonly #spares: DigestChunk[] = []

  /** Number of added digests. */
  get count(): number {
    return this.#count
  }

  /** Adds the digest of a valid row (16 bytes), the number of its feature set, and its record key. */
  add(digest: Uint8Array, featureSet: number, key: Uint8Array): void {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.count === maxChunkDigests) {
      chunk = this.#spares.pop() ?? emptyChunk()
      this.#chunks.push(chunk)
    }
    const at = chunk.count++
    this.#count++
    const from = chunk.keyEnds[at - 1] ?? 0
    const end = from + key.length
    if (end > chunk.keys.length) chunk.keys = Buffer.concat([chunk.keys], end * 2)
    // Faster than `set` for few bytes. The casts hold because the indexes are below the lengths.
    for (let i = 0; i < 16; i++) chunk.digests[at * 16 + i] = digest[i] as number
    for (let i = 0; i < key.length; i++) chunk.keys[from + i] = key[i] as number
    chunk.featureSets.writeUInt16BE(featureSet, at * 2)
    chunk.keyEnds[at] = end
  }

  /** True if `store` should be called, because many chunks are in memory. */
  get full(): boolean {
    return this.#chunks.length > maxChunksInMemory
  }

  /**
   * Waits for `after`, then writes the chunks so far to `staged_digest`; without `isLast`, all except the newest chunk. When `after` ends,
   * the connection must have no open COPY. Digests may be added meanwhile, but `store` must not be called again.
   */
  async store(tx: Connection, { isLast, after }: { readonly isLast: boolean; readonly after?: Promise<unknown> }): Promise<void> {
    const chunks = this.#chunks.splice(0, this.#chunks.length - (isLast ? 0 : 1))
    await after
    if (chunks.length === 0 && !isLast) return
    const copy = new CopyWriter(tx.client, 'staged_digest (chunk, digests, feature_sets, keys, key_ends)')
    for (const { count, digests, featureSets, keys, keyEnds } of chunks) {
      const end = keyEnds[count - 1] ?? 0
      const ends = keyEnds.subarray(0, count)
      const areEquallyLong = ends.every((keyEnd, i) => keyEnd * count === end * (i + 1))
      copy.row(5)
      copy.int4(this.#storedChunks++)
      copy.bytes(digests.subarray(0, count * 16))
      copy.bytes(featureSets.subarray(0, count * 2))
      copy.bytes(keys.subarray(0, end))
      copy.int4Array(areEquallyLong ? [] : ends)
      if (copy.full) await copy.flush()
    }
    await copy.end()
    for (const chunk of chunks) this.#spares.push(Object.assign(chunk, { count: 0 }))
  }
}

function emptyChunk(): DigestChunk {
  return {
    count: 0,
    digests: Buffer.allocUnsafe(maxChunkDigests * 16),
    featureSets: Buffer.allocUnsafe(maxChunkDigests * 2),
    keys: Buffer.allocUnsafe(maxChunkDigests * 16),
    keyEnds: new Int32Array(maxChunkDigests),
  }
}

/**
 * SQL that creates the temporary tables of the digests, or deletes their rows. `staged_digest`: digests of the rows of this read.
 * `unseen_key`: keys of the records whose digests this read did not find.
 */
export const digestTablesSql = [
  keptTableSql('staged_digest', 'chunk int, digests bytea, feature_sets bytea, keys bytea, key_ends int[]'),
  keptTableSql('unseen_key', 'key bytea not null'),
].join('; ')

/** Deletes the rows of `staged_digest`. Must be called if a staged row is no longer valid, or if a valid row has no digest. */
export async function deleteStagedDigests(tx: Connection): Promise<void> {
  await tx.query('truncate staged_digest')
}

/**
 * Replaces all digests by those of a full read, from `staged_digest`, or from `stage` if `staged_digest` is empty. Stores none if a valid
 * row has no digest. `validKind`: kind of valid rows in `stage`. `quality`: row statistics to which the numbers of the feature sets
 * refer.
 */
export async function replaceDigests(tx: Transaction, destinationId: number, validKind: number, quality: unknown): Promise<void> {
  await deleteDigests(tx, destinationId)
  if (await hasRows(tx, 'select from staged_digest')) {
    await tx.query(
      `insert into record_digest (destination_id, chunk, digests, feature_sets, keys, key_ends)
       select $1, chunk, digests, feature_sets, keys, key_ends from staged_digest`,
      [destinationId],
    )
  } else {
    if (await hasRows(tx, `select from stage where kind = ${validKind} and digest is null`)) return
    await appendDigests(tx, destinationId, validKind)
  }
  await storeQuality(tx, destinationId, quality)
}

/**
 * Stores the result of a gated read, which skipped the records with known digests. Appends the digests of the staged valid rows, marks the
 * digests `unseen` as outdated, and replaces the row statistics. `validKind`: kind of valid rows in `stage`.
 */
export async function updateDigests(
  tx: Transaction,
  destinationId: number,
  validKind: number,
  unseen: readonly UnseenDigests[],
  quality: unknown,
): Promise<void> {
  await tx.query(
    `update record_digest d set outdated = d.outdated || (select array_agg(p::int) from jsonb_array_elements_text(x.positions) p)
     from jsonb_to_recordset($2::jsonb) as x (chunk int, positions jsonb) where d.destination_id = $1 and d.chunk = x.chunk`,
    [destinationId, JSON.stringify(unseen)],
  )
  await appendDigests(tx, destinationId, validKind)
  await storeQuality(tx, destinationId, quality)
}

/** Digests of one chunk that a read did not find. */
export interface UnseenDigests {
  readonly chunk: number
  /** Positions in the chunk, from 0. */
  readonly positions: readonly number[]
}

/** Fills the table `unseen_key` with the record keys of the digests `unseen`. */
export async function collectUnseenKeys(tx: Connection, destinationId: number, unseen: readonly UnseenDigests[]): Promise<void> {
  await tx.query(
    `insert into unseen_key
     select ${keyAt('p::int')}
     from jsonb_to_recordset($2::jsonb) as x (chunk int, positions jsonb)
       join lateral ${chunksWhere('chunk = x.chunk')} d on true
       cross join lateral jsonb_array_elements_text(x.positions) as p`,
    [destinationId, JSON.stringify(unseen)],
  )
  await tx.query('analyze unseen_key')
}

/**
 * Stores the digests of the staged valid rows in new chunks. Each partition of the stage starts a new chunk, and its digests are in the
 * order of the file (`KnownDigests` in sync/read/knownDigests.ts).
 */
async function appendDigests(tx: Transaction, destinationId: number, validKind: number): Promise<void> {
  for (const table of await stageTables(tx)) {
    await tx.query(
      // The aggregates need no `order by`: all four get the rows of a chunk in the same order. Sorting a million rows took 0.6 s.
      `insert into record_digest (destination_id, chunk, digests, feature_sets, keys, key_ends)
     select $1, (select coalesce(max(chunk) + 1, 0) from record_digest where destination_id = $1) + part, digests, feature_sets, keys,
       case when lengths[1] = all (lengths) then '{}'
         else array(select sum(length) over (order by at)::int from unnest(lengths) with ordinality as l (length, at) order by at) end
     from (
       select part, string_agg(digest, '') as digests, string_agg(int2send(feature_set), '') as feature_sets, string_agg(key, '') as keys,
         array_agg(octet_length(key)) as lengths
       from (
         select digest, feature_set, key, (row_number() over () - 1) / ${maxChunkDigests} as part
         from ${table} where kind = ${validKind} and digest is not null) s
       group by part) c`,
      [destinationId],
    )
  }
}

/** Returns the partitions of the stage, or `stage` if it has none. */
async function stageTables(tx: Connection): Promise<readonly string[]> {
  const rows = await tx.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'stage'::regclass order by inhrelid`,
  )
  return rows.length === 0 ? ['stage'] : rows.map(({ name }) => name)
}
