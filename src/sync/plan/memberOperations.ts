import { rowIdentifiers } from '../../db/identifiers.ts'
import type { Connection } from '../../db/database.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { hasRows } from '../../db/queryable.ts'
import { renderUserOperation } from '../../destinations/renderUserOperation.ts'
import { inRange, sentIdentifiers, type KeyRange } from './firstLoad.ts'
import { ownTimesJoinSql, notEndedSql, overdueSql, ownEffectiveAtSql, ownExpiresAtSql } from './ownTimes.ts'
import { packUsers, type UserRow, type MembershipTerms } from './packUsers.ts'
import { queryPortions, type OperationContext, type PlannedOperation } from './plannedOperation.ts'

/** SQL of the keys of a group (identifiers that are sent as one user), as one text. A text is cheaper to read than an array. */
const hexKeys = `string_agg(encode(m.key, 'hex'), ',' order by m.key)`

/**
 * Yields the operations of a first load, from the records in `range`. No row may have an `effective_at` or `expires_at`.
 *
 * - `hasShared`: rows share identifiers, so the table `omitted` has those that are sent under another row.
 * - `index`: search index that gets the sent identifiers; undefined if they have rows in `remote` (docs/decisions/implied-keys.md).
 */
export function firstMemberOperations(
  { tx, destinationId }: OperationContext,
  terms: MembershipTerms,
  options: { readonly hasShared: boolean; readonly range: KeyRange; readonly index: ImpliedKeyIndex | undefined },
): AsyncGenerator<PlannedOperation[]> {
  const hex = (identifiers: string) => `replace(array_to_string(${identifiers}, ','), '\\x', '')`
  const isInRange = `r.destination_id = ${destinationId} and ${inRange('r.key', options.range)}`
  const rows = queryPortions<{ key: Buffer; keys: string }>(
    tx,
    options.hasShared
      ? `select r.key, ${hex(sentIdentifiers)} as keys
         from record r left join omitted o on o.key = r.key where ${isInRange} order by r.key`
      : `select r.key, ${hex(rowIdentifiers('r'))} as keys from record r where ${isInRange} order by r.key`,
  )
  return packUsers(firstUsers(rows, options.index), terms)
}

/** Content hash of an identifier whose row sets no start and no end. Equals `plainTimes` of `db/impliedKeys.ts`. */
export const plainHash = Buffer.from([1])

async function* firstUsers(
  portions: AsyncIterable<readonly { readonly key: Buffer; readonly keys: string }[]>,
  index: ImpliedKeyIndex | undefined,
): AsyncGenerator<UserRow[]> {
  for await (const portion of portions) {
    // A row without `keys` is not sent: all its identifiers are sent under other rows.
    const sent = portion.filter(({ keys }) => keys !== '')
    await index?.add(sent)
    yield sent.map(({ key, keys }) => ({
      group_key: key,
      keys,
      deletes: false,
      renewal: false,
      refused: false,
      created: true,
      content_version: null,
      hash: plainHash,
      effective_ms: null,
      expires_ms: null,
    }))
  }
}

/**
 * Yields the deletes, then the updates, from the table `pending_group`. If the plan deletes an identifier of a user, the update of this
 * user waits for all deletes (phase 2).
 */
export async function* memberOperations(context: OperationContext, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
  const { tx, destinationId } = context
  const deletes = queryPortions<{ group_key: Buffer; keys: string }>(
    tx,
    `select t.group_key, t.keys_to_delete as keys from pending_group t where t.deletes and not t.overdue and t.keys_to_delete is not null
     union all
     -- keys_to_delete lacks the overdue keys (the end of their rows has passed), and is null for rerun --failed. In both cases the keys are
     -- read from remote.
     select t.group_key, ${hexKeys}
     from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key
       ${ownTimesJoinSql(destinationId)}
     where t.deletes and (t.overdue or t.keys_to_delete is null)
       and ((m.ref_count <= 0 and m.synced_hash is not null) or (t.overdue and ${overdueSql}))
     group by t.group_key order by group_key`,
  )
  for await (const portion of deletes) {
    yield portion.map(({ group_key, keys: joinedKeys }) => {
      const keys = joinedKeys.split(',')
      const bytes = renderUserOperation({ op: 'delete', users: [keys] })
      return { bytes, op: 'delete', change: 'delete', phase: 1, recordKey: group_key, keys, hash: null, expiresAtMs: null, users: 1 }
    })
  }

  const users = (await recordsHaveTimes(tx, destinationId)) ? timedUsers(destinationId) : untimedUsers(destinationId)
  yield* packUsers(queryPortions<UserRow>(tx, users), terms)
}

/** Returns true if a record of the destination has an `effective_at` or `expires_at`. */
export async function recordsHaveTimes(tx: Connection, destinationId: number): Promise<boolean> {
  return hasRows(tx, 'select from record where destination_id = $1 and (effective_at is not null or expires_at is not null)', [
    destinationId,
  ])
}

const groupColumns = 't.group_key, t.deletes, t.renewal, t.created, t.content_version'
/** SQL of the keys and their desired content. The content is the same for all keys of a group, unless the group has a `content_version`. */
const keysAndContent = `${hexKeys} as keys, max(m.desired_hash::text)::bytea as hash, bool_or(m.refused_code is not null) as refused`

/** Returns SQL of the users to update if no row has its own times. Does not read the records. */
const untimedUsers = (destinationId: number) =>
  `select ${groupColumns}, ${keysAndContent}, null as effective_ms, null as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
   group by ${groupColumns} order by t.deletes, t.group_key`

/**
 * Returns SQL of the users to update if rows have their own times. A group is sent as one user for each start and end that its identifiers
 * have.
 */
const timedUsers = (destinationId: number) =>
  `select ${groupColumns}, ${keysAndContent},
     extract(epoch from ${ownEffectiveAtSql}) * 1000 as effective_ms, extract(epoch from ${ownExpiresAtSql}) * 1000 as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
     ${ownTimesJoinSql(destinationId)}
   where ${notEndedSql} group by ${groupColumns}, ${ownEffectiveAtSql}, ${ownExpiresAtSql}
   order by t.deletes, ${ownEffectiveAtSql} nulls first, ${ownExpiresAtSql} nulls first, t.group_key`
