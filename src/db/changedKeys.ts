/**
 * Stores the keys that may be out of sync in `changed_key`, so that a plan need not compare all keys. Code that may make desired and synced
 * content of a key differ adds the key. If very many keys of a destination change, the flag `destination.all_changed` replaces them. An
 * index of the keys out of sync would have to be updated at every write of a key (docs/decisions/changed-keys.md).
 */
import type { Database, Queryable } from './database.ts'
import { storeAllChanged } from './destinations.ts'
import type { DbRow } from './row.ts'

/** SQL condition: the key of row `m` of `remote` is out of sync, so its desired and synced content differ. */
export const isOutOfSync =
  '((m.ref_count > 0 and m.desired_hash is distinct from m.synced_hash) or (m.ref_count = 0 and m.synced_hash is not null))'

/**
 * Number of changed records from which on the flag is set and the plan reads all keys. Reading a million keys takes 0.3 s, and adding a
 * million keys takes longer.
 */
const allChangedFrom = 100_000
/** Returns the number of keys out of sync above which the flag stays set. `keys`: number of keys of the destination. */
const maxOutOfSync = (keys: number): number => 1_000 + keys * 0.1

/**
 * Returns SQL that adds the keys that the query `keys` returns, as one row. One row and index entry per key took four times as much
 * write-ahead log. The table may have a key several times. `destination`: SQL of the destination's id.
 */
export const addChangedSql = (keys: string, destination = '$1'): string =>
  `insert into changed_key (destination_id, keys) select ${destination}::int, array_agg(c.key) from (${keys}) as c (key) group by 1`

/**
 * Returns the SQL condition that `m.key` is one of the keys of `source`: SQL of a table with the column `keys`. Compares with an array, so
 * that Postgres searches the keys in the order of the index. For 30,000 keys, all of them changed, this takes a quarter of the time of one
 * search for each key.
 */
const isOneOf = (source: string): string =>
  `m.key = any(array(select ck.key from ${source} c cross join lateral unnest(c.keys) as ck (key)))`

/** Returns the SQL condition that the key `m` is one of the changed keys of a destination. `destination`: SQL of the destination's id. */
export const isChangedKey = (destination: string): string => isOneOf(`(select keys from changed_key where destination_id = ${destination})`)

/**
 * Returns SQL that is true if many keys changed. Then reading all of `remote` is faster than a search for each key. A page of 23 keys is
 * read in 7 µs, and a key is found in 4 µs (Postgres 18). `destination`: SQL of the destination's id.
 */
const manyChanged = (destination: string): string =>
  `(select coalesce(sum(cardinality(keys)), 0) > 2 * pg_relation_size('remote') / current_setting('block_size')::int
     from changed_key where destination_id = ${destination})`

/** Changed keys of a destination whose row the transaction has locked. */
export class ChangedKeys {
  readonly #db: Queryable
  readonly #destinationId: number
  #allChanged: boolean

  constructor(db: Queryable, destinationId: number, allChanged: boolean) {
    this.#db = db
    this.#destinationId = destinationId
    this.#allChanged = allChanged
  }

  /** Adds keys, unless all keys are marked as changed. `keys`: SQL with the destination as `$1`, followed by `values`. */
  async add(keys: string, values: readonly unknown[] = []): Promise<void> {
    if (!this.#allChanged) await this.#db.execute(addChangedSql(keys), [this.#destinationId, ...values])
  }

  /**
   * Runs `statement`. Unless all keys are marked as changed, adds the returned keys for which `where` is true. `statement`: SQL that writes
   * keys and returns `key` and the columns of `where`, with the destination as `$1`.
   */
  async write(statement: string, where = 'true'): Promise<void> {
    await this.#db.execute(
      this.#allChanged ? statement : `with written as (${statement}) ${addChangedSql(`select key from written where ${where}`)}`,
      [this.#destinationId],
    )
  }

  /** Marks all keys as changed. */
  async markAllChanged(): Promise<void> {
    if (this.#allChanged) return
    await storeAllChanged(this.#db, this.#destinationId, true)
    this.#allChanged = true
  }

  /** Marks all keys as changed if `records` is at least `allChangedFrom`. Must be called before that number of records changes. */
  async markAllIfMany(records: number): Promise<void> {
    if (records >= allChangedFrom) await this.markAllChanged()
  }

  /** Returns the SQL condition that the key `m` is out of sync. The condition reads only the changed keys, unless they are many. */
  async outOfSync(): Promise<string> {
    return this.#allChanged || (await this.#areMany()) ? isOutOfSync : `(${isChangedKey(`${this.#destinationId}`)} and ${isOutOfSync})`
  }

  async #areMany(): Promise<boolean> {
    const [row] = await this.#db.query<{ many: boolean }>(`select ${manyChanged('$1')} as many`, [this.#destinationId])
    return row?.many === true
  }
}

/**
 * Deletes changed keys that are in sync, and resets the flag if few keys are out of sync. May be called at any time: a missing call only
 * makes the next plan read more keys.
 *
 * The lock of the destination's row stops plans meanwhile, but not answers. If an answer leaves a key out of sync, because newer content is
 * desired, the same transaction adds the key to `changed_key`. So each statement here sees both the answer and the added key, or neither.
 */
export async function deleteChangedInSync(db: Database, destinationId: number): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.query<DbRow<'destination', 'all_changed'> & { many: boolean }>(
      `select all_changed, ${manyChanged('$1')} as many from destination where id = $1 for update`,
      [destinationId],
    )
    if (row?.all_changed !== true) {
      await replaceChanged(tx, destinationId, keysWhere(row?.many === true ? isOutOfSync : `${isOneOf('seen')} and ${isOutOfSync}`))
      return
    }
    // The rows are deleted before the keys are counted. So a row that an answer adds after this statement is kept.
    await tx.execute('delete from changed_key where destination_id = $1', [destinationId])
    const [counts] = await tx.query<{ keys: number; out_of_sync: number }>(
      `select count(*)::int as keys, count(*) filter (where ${isOutOfSync})::int as out_of_sync from remote m where destination_id = $1`,
      [destinationId],
    )
    if (counts === undefined || counts.out_of_sync > maxOutOfSync(counts.keys)) return
    if (counts.out_of_sync > 0) {
      await tx.execute(addChangedSql(`select m.key from remote m where m.destination_id = $1 and ${isOutOfSync}`), [destinationId])
    }
    await storeAllChanged(tx, destinationId, false)
  })
}

/** Deletes the changed keys of a destination. */
export async function deleteChangedOf(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from changed_key where destination_id = $1', [destinationId])
}

/**
 * Deletes the changed keys that have no row in `remote`. Adds those keys of an erased person that are out of sync, because earlier versions
 * did not add them. The keys of the person are `identifiers`, and keys in the groups of `records`.
 */
export async function eraseChanged(
  tx: Queryable,
  destinationId: number,
  { identifiers, records }: { readonly identifiers: readonly Buffer[]; readonly records: readonly Buffer[] },
): Promise<void> {
  const isErased = '(m.key = any($2::bytea[]) or m.group_key = any($3::bytea[]))'
  // Not one query with `or`: Postgres would compare each of the seen keys with all others.
  const kept = `${keysWhere(isOneOf('seen'))} union ${keysWhere(`${isErased} and ${isOutOfSync}`)}`
  await replaceChanged(tx, destinationId, kept, [identifiers, records])
}

/** Returns SQL of the keys `m` of the destination `$1` for which `condition` is true. */
const keysWhere = (condition: string): string => `select m.key from remote m where m.destination_id = $1 and ${condition}`

/** Replaces the rows of a destination by one row with the kept keys. `kept`: SQL of these keys; `seen` has the replaced rows. */
async function replaceChanged(tx: Queryable, destinationId: number, kept: string, values: readonly unknown[] = []): Promise<void> {
  await tx.execute(`with seen as (delete from changed_key where destination_id = $1 returning keys) ${addChangedSql(kept)}`, [
    destinationId,
    ...values,
  ])
}
