/**
 * Desired content of keys: reference counts, groups and contents in `remote`. The stages say which keys, as SQL with named columns; the
 * destination is `$1` in it, `values` are behind.
 */
import { addChanged } from '../changedKeys.ts'
import type { Queryable } from '../queryable.ts'

/** Products become desired. `products`: SQL of `key` and `hash`. */
export async function desireProducts(tx: Queryable, destinationId: number, products: string): Promise<void> {
  await tx.execute(
    `insert into remote (destination_id, key, held, desired_hash)
     select $1, p.key, 1, p.hash from (${products}) p order by p.key
     on conflict (destination_id, key) do update set held = 1, desired_hash = excluded.desired_hash`,
    [destinationId],
  )
}

/** Inserts the products of a destination that has no keys. `products`: SQL of `key` and `hash`. */
export async function insertFirstProducts(tx: Queryable, destinationId: number, products: string): Promise<void> {
  await tx.execute(
    `insert into remote (destination_id, key, held, desired_hash)
     select $1, p.key, 1, p.hash from (${products}) p order by p.key`,
    [destinationId],
  )
}

/** Products get other content, beside what their source says. */
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
 * Products are no longer desired. An earlier refusal was about their content; from here on only a refused delete counts
 * (`sync/plan/pendingChanges.ts`, `lookup`). `keys`: SQL of `key`.
 */
export async function undesireProducts(tx: Queryable, destinationId: number, keys: string): Promise<void> {
  await tx.execute(
    `update remote m set held = 0, desired_hash = null, refused_code = null, refused_message = null
     from (${keys}) x where m.destination_id = $1 and m.key = x.key`,
    [destinationId],
  )
}

/** Inserts the identifiers of a destination that has no keys but implied ones. `identifiers`: SQL of `key`, `held`, `group_key` and `desired_hash`. */
export async function insertFirstIdentifiers(tx: Queryable, destinationId: number, identifiers: string): Promise<void> {
  await tx.execute(
    // In sending order, so that the rows of one answer are on few pages.
    `insert into remote (destination_id, key, held, group_key, desired_hash)
     select $1, i.key, i.held, i.group_key, i.desired_hash from (${identifiers}) i order by i.group_key`,
    [destinationId],
  )
}

/** Rows lost identifiers, or were removed. `removed`: SQL of `identifier`, `n`, the number of rows, and `suppressed`: no guard withholds its delete. */
export async function removeReferences(tx: Queryable, destinationId: number, removed: string): Promise<void> {
  await tx.execute(
    `update remote m set held = greatest(m.held - x.n, 0), erase = m.erase or (x.suppressed and m.held <= x.n)
     from (${removed}) x
     where m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
}

/**
 * Rows gained identifiers. An identifier keeps its group while it is desired or confirmed: user objects never mix. `gained`: SQL of
 * `identifier`, `n`, the number of rows, `group_key` and `times`, the desired content.
 */
export async function addReferences(tx: Queryable, destinationId: number, gained: string): Promise<void> {
  await tx.execute(
    `update remote m set held = m.held + x.n, erase = false,
       group_key = case when m.held <= 0 and m.synced_hash is null then x.group_key else m.group_key end,
       desired_hash = case when m.held <= 0 and m.synced_hash is null then x.times else m.desired_hash end
     from (${gained}) x where m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
  // Not "on conflict", which took 1.6 times as long; only plans insert, one at a time. In sending order, so that the rows of one
  // answer are on few pages: in the order of their keys its 2,500 rows would be on as many pages.
  await tx.execute(
    `insert into remote (destination_id, key, held, group_key, desired_hash)
     select $1, x.identifier, x.n, x.group_key, x.times from (${gained}) x
     where not exists (select from remote m where m.destination_id = $1 and m.key = x.identifier) order by x.group_key`,
    [destinationId],
  )
}

/** The times of rows changed, but not their identifiers: the whole users are sent again. `retimed`: SQL of `group_key` and `times`. */
export async function changeTimes(tx: Queryable, destinationId: number, retimed: string): Promise<void> {
  await tx.execute(
    `update remote m set desired_hash = x.times
     from (${retimed}) x where m.destination_id = $1 and m.group_key = x.group_key and m.held > 0 and m.desired_hash is distinct from x.times`,
    [destinationId],
  )
}

/** SQL of new content for the group `group`; `salt`: SQL of a text that no earlier content of it had. */
export const stampOf = (salt: string, group: string) => `decode(md5(${salt} || encode(${group}, 'hex')), 'hex')`

const stamped = (groups: string) =>
  `update remote m set desired_hash = g.stamp from (${groups}) g where m.destination_id = $1 and m.group_key = g.group_key and m.held > 0`

/** Gives the desired identifiers of groups one content, without adding them to the changed keys. `groups`: SQL of `group_key` and `stamp`. */
export async function unifyGroups(tx: Queryable, destinationId: number, groups: string): Promise<void> {
  await tx.execute(stamped(groups), [destinationId])
}

/** Gives the desired identifiers of groups new content, so that they are sent again: a delete beside them may affect them. */
export async function renewGroups(tx: Queryable, destinationId: number, groups: string, values: readonly unknown[]): Promise<void> {
  await tx.execute(`with stamped as (${stamped(groups)} returning m.key) ${addChanged('select key from stamped')}`, [
    destinationId,
    ...values,
  ])
}
