/**
 * Writes the desired state of keys to `remote`:
 * - reference count: the number of records with the key
 * - group: the record with which an identifier is sent
 * - desired content
 *
 * Most functions get the keys as SQL with named columns. `$1` in that SQL is the destination.
 */
import { addChangedSql, type ChangedKeys } from '../changedKeys.ts'
import type { Queryable } from '../queryable.ts'

/** Inserts desired products, or replaces their desired content. Returns their number. `products`: SQL of `key` and `hash`. */
export async function desireProducts(tx: Queryable, destinationId: number, products: string): Promise<number> {
  return tx.execute(
    `insert into remote (destination_id, key, ref_count, desired_hash)
     select $1, p.key, 1, p.hash from (${products}) p order by p.key
     on conflict (destination_id, key) do update set ref_count = 1, desired_hash = excluded.desired_hash`,
    [destinationId],
  )
}

/** Inserts the desired products of a destination that has no row in `remote`. `products`: SQL of `key` and `hash`. */
export async function insertFirstProducts(tx: Queryable, destinationId: number, products: string): Promise<void> {
  await tx.execute(
    `insert into remote (destination_id, key, ref_count, desired_hash)
     select $1, p.key, 1, p.hash from (${products}) p order by p.key`,
    [destinationId],
  )
}

/** Replaces the desired content of products. Keeps their reference counts. */
export async function changeProducts(
  tx: Queryable,
  destinationId: number,
  products: readonly { readonly key: Buffer; readonly hash: Buffer }[],
): Promise<void> {
  await tx.execute(
    `update remote m set desired_hash = x.hash
     from unnest($2::bytea[], $3::bytea[]) as x (key, hash)
     where m.destination_id = $1 and m.key = x.key`,
    [destinationId, products.map(({ key }) => key), products.map(({ hash }) => hash)],
  )
}

/**
 * Marks products as no longer desired. Clears an earlier refusal, because that refusal was about the content. A later refusal is about the
 * delete (`lookup` in `sync/plan/pendingProducts.ts`). `keys`: SQL of `key`.
 */
export async function undesireProducts(tx: Queryable, destinationId: number, keys: string): Promise<void> {
  await tx.execute(
    `update remote m set ref_count = 0, desired_hash = null, refused_code = null, refused_message = null
     from (${keys}) x where m.destination_id = $1 and m.key = x.key`,
    [destinationId],
  )
}

/**
 * Inserts identifiers of a destination that has no row in `remote`. `identifiers`: SQL of `key`, `ref_count`, `group_key` and
 * `desired_hash`.
 */
export async function insertFirstIdentifiers(tx: Queryable, destinationId: number, identifiers: string): Promise<void> {
  await tx.execute(
    // The rows are in the order of sending, so that the rows of one answer are on few pages.
    `insert into remote (destination_id, key, ref_count, group_key, desired_hash)
     select $1, i.key, i.ref_count, i.group_key, i.desired_hash from (${identifiers}) i order by i.group_key`,
    [destinationId],
  )
}

/**
 * Subtracts removed rows from the reference counts of identifiers. If no row is left, clears an earlier refusal, because that refusal was
 * not about the delete. `removed`: SQL of `identifier`, `n` (number of rows) and `suppressed` (true if no guard may withhold the delete).
 */
export async function removeReferences(tx: Queryable, destinationId: number, removed: string): Promise<void> {
  await tx.execute(
    `update remote m set ref_count = greatest(m.ref_count - x.n, 0), suppressed = m.suppressed or (x.suppressed and m.ref_count <= x.n),
       refused_code = case when m.ref_count > x.n then m.refused_code end, refused_message = case when m.ref_count > x.n then m.refused_message end
     from (${removed}) x
     where m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
}

/**
 * Adds new rows to the reference counts of stored identifiers, and ends their suppression. An identifier keeps its group while it is
 * desired or confirmed, so that it is in only one user object. `gained`: SQL of `identifier`, `n` (number of rows), `group_key` and
 * `desired_times` (desired content).
 */
export async function addReferences(tx: Queryable, destinationId: number, gained: string): Promise<void> {
  await tx.execute(
    `update remote m set ref_count = m.ref_count + x.n, suppressed = false,
       group_key = case when m.ref_count <= 0 and m.synced_hash is null then x.group_key else m.group_key end,
       desired_hash = case when m.ref_count <= 0 and m.synced_hash is null then x.desired_times else m.desired_hash end
     from (${gained}) x where m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
}

/** Inserts the identifiers that are not stored. `gained`: as for `addReferences`. */
export async function insertReferences(tx: Queryable, destinationId: number, gained: string): Promise<void> {
  // "on conflict" took 1.6 times as long. It is not needed, because only one plan at a time inserts keys of a destination. The rows are in
  // the order of sending, so that the 2,500 rows of one answer are on few pages. In the order of their keys they would be on about 2,500
  // pages.
  await tx.execute(
    `insert into remote (destination_id, key, ref_count, group_key, desired_hash)
     select $1, x.identifier, x.n, x.group_key, x.desired_times from (${gained}) x
     where not exists (select from remote m where m.destination_id = $1 and m.key = x.identifier) order by x.group_key`,
    [destinationId],
  )
}

/**
 * Replaces the desired content of all desired identifiers of groups whose times changed. `changedTimes`: SQL of `group_key` and
 * `desired_times`.
 */
export async function changeTimes(tx: Queryable, destinationId: number, changedTimes: string): Promise<void> {
  await tx.execute(
    `update remote m set desired_hash = x.desired_times
     from (${changedTimes}) x where m.destination_id = $1 and m.group_key = x.group_key and m.ref_count > 0 and m.desired_hash is distinct from x.desired_times`,
    [destinationId],
  )
}

/**
 * Returns SQL of a new desired content (`desired_hash`) for a group. `group`: SQL of the group's key. `salt`: SQL of a text that was not used
 * for earlier content of the group.
 */
export const contentVersionOf = (salt: string, group: string) => `decode(md5(${salt} || encode(${group}, 'hex')), 'hex')`

const writeContent = (groups: string) =>
  `update remote m set desired_hash = g.content_version from (${groups}) g
   where m.destination_id = $1 and m.group_key = g.group_key and m.ref_count > 0 and m.desired_hash is distinct from g.content_version returning m.key`

/**
 * Gives the desired identifiers of each group the same content, and adds them to the changed keys. `groups`: SQL of `group_key` and
 * `content_version`.
 */
export async function unifyGroups(changed: ChangedKeys, groups: string): Promise<void> {
  await changed.write(writeContent(groups))
}

/**
 * Gives the desired identifiers of groups new content, so that they are sent again. A delete in the group may affect them. `groups`: SQL of
 * `group_key` and `content_version`. `values`: parameters of `groups` from `$2` on.
 */
export async function replaceGroupContent(tx: Queryable, destinationId: number, groups: string, values: readonly unknown[]): Promise<void> {
  await tx.execute(`with written as (${writeContent(groups)}) ${addChangedSql('select key from written')}`, [destinationId, ...values])
}
