/** Yields the operations on people of a plan: from its pending changes, or for a first load from the records. */
import { rowIdentifiers } from '../../db/identifiers.ts'
import type { Transaction } from '../../db/database.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { renderUserOperation } from '../../destinations/renderUserOperation.ts'
import { inRange, sentIdentifiers, type KeyRange } from './firstLoad.ts'
import { joinOwnEnds, notEnded, overdue, ownEffectiveAt, ownExpiresAt } from './ownEnds.ts'
import { packUsers, type GroupRow, type MembershipTerms } from './packUsers.ts'
import { queryPortions, type OperationContext, type PlannedOperation } from './plannedOperation.ts'

/** SQL of the keys of a group as one text. Reading an array of bytea instead would cost an object, a parse and a copy per key. */
const hexKeys = `string_agg(encode(m.key, 'hex'), ',' order by m.key)`

/**
 * Yields the operations of a first load without own times of rows, for the record keys in `range`. Each user is sent without the
 * identifiers that are sent under another row. `hasShared`: true if there are such identifiers, in the table `omitted`. `index`: index of
 * implied keys (docs/decisions/implied-keys.md), to which the sent identifiers are added; undefined if no key is implied.
 */
export function firstMembers(
  { tx, destinationId }: OperationContext,
  terms: MembershipTerms,
  of: { readonly hasShared: boolean; readonly range: KeyRange; readonly index: ImpliedKeyIndex | undefined },
): AsyncGenerator<PlannedOperation[]> {
  const hex = (identifiers: string) => `replace(array_to_string(${identifiers}, ','), '\\x', '')`
  const isInRange = `r.destination_id = ${destinationId} and ${inRange('r.key', of.range)}`
  const rows = queryPortions<{ key: Buffer; keys: string }>(
    tx,
    of.hasShared
      ? `select r.key, ${hex(sentIdentifiers)} as keys
         from record r left join omitted o on o.key = r.key where ${isInRange} order by r.key`
      : `select r.key, ${hex(rowIdentifiers('r'))} as keys from record r where ${isInRange} order by r.key`,
  )
  return packUsers(firstGroups(rows, of.index), terms)
}

/** Content hash of identifiers without own times. Equals `plainTimes` of `db/impliedKeys.ts`. */
export const plainHash = Buffer.from([1])

/** Yields the users of a first load, and adds their identifiers to the index. */
async function* firstGroups(
  portions: AsyncIterable<readonly { readonly key: Buffer; readonly keys: string }[]>,
  index: ImpliedKeyIndex | undefined,
): AsyncGenerator<GroupRow[]> {
  for await (const portion of portions) {
    // A row whose identifiers are all sent under other rows makes no user.
    const sent = portion.filter(({ keys }) => keys !== '')
    await index?.add(sent)
    yield sent.map(({ key, keys }) => ({
      group_key: key,
      keys,
      deletes: false,
      renewal: false,
      created: true,
      content_version: null,
      hash: plainHash,
      effective_ms: null,
      expires_ms: null,
    }))
  }
}

/** Yields the deletes, then the updates. The update of a user of whom the plan deletes an identifier is in phase 2. */
export async function* memberOperations(context: OperationContext, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
  const { tx, destinationId } = context
  const deletes = queryPortions<{ group_key: Buffer; keys: string }>(
    tx,
    `select t.group_key, t.keys_to_delete as keys from pending_group t where t.deletes and not t.overdue and t.keys_to_delete is not null
     union all
     -- keys_to_delete lacks the overdue keys, and is null for rerun --failed. In both cases the keys are read from remote.
     select t.group_key, ${hexKeys}
     from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key
       ${joinOwnEnds(destinationId)}
     where t.deletes and (t.overdue or t.keys_to_delete is null)
       and ((m.ref_count <= 0 and m.synced_hash is not null) or (t.overdue and ${overdue}))
     group by t.group_key order by group_key`,
  )
  for await (const portion of deletes) {
    yield portion.map(({ group_key, keys: joinedKeys }) => {
      const keys = joinedKeys.split(',')
      const bytes = renderUserOperation({ op: 'delete', users: [keys] })
      return { bytes, op: 'delete', change: 'delete', phase: 1, recordKey: group_key, keys, hash: null, expiresAtMs: null, users: 1 }
    })
  }

  const groups = (await haveOwnTimes(tx, destinationId)) ? timedGroups(destinationId) : untimedGroups(destinationId)
  yield* packUsers(queryPortions<GroupRow>(tx, groups), terms)
}

/** Returns true if a row of the destination has own times. */
export async function haveOwnTimes(tx: Transaction, destinationId: number): Promise<boolean> {
  const timed = await tx.query(
    'select from record where destination_id = $1 and (effective_at is not null or expires_at is not null) limit 1',
    [destinationId],
  )
  return timed.length > 0
}

const groupColumns = 't.group_key, t.deletes, t.renewal, t.created, t.content_version'
/** SQL of the keys and the desired content of a group. Without a `content_version`, all keys of a group have the same content. */
const keysAndContent = `${hexKeys} as keys, max(m.desired_hash::text)::bytea as hash`

/** Returns SQL of the groups to update, with their desired identifiers, if no row has own times. Does not read their records. */
const untimedGroups = (destinationId: number) =>
  `select ${groupColumns}, ${keysAndContent}, null as effective_ms, null as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
   group by ${groupColumns} order by t.deletes, t.group_key`

/**
 * Returns SQL of the groups to update if rows have own times: one row per user object. A user whose identifiers start or expire at
 * different times is sent as one user object for each pair of times.
 */
const timedGroups = (destinationId: number) =>
  `select ${groupColumns}, ${keysAndContent},
     extract(epoch from ${ownEffectiveAt}) * 1000 as effective_ms, extract(epoch from ${ownExpiresAt}) * 1000 as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
     ${joinOwnEnds(destinationId)}
   where ${notEnded} group by ${groupColumns}, ${ownEffectiveAt}, ${ownExpiresAt}
   order by t.deletes, ${ownEffectiveAt} nulls first, ${ownExpiresAt} nulls first, t.group_key`
