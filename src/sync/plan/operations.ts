/**
 * Yields the operations of a plan: from its pending changes, or for a first load from the records. Reads the keys through a cursor, so that
 * memory does not grow with the plan. Yields some thousand operations at a time, because a promise for each operation would double the time.
 */
import type pg from 'pg'
import { rowIdentifiers } from '../../db/identifiers.ts'
import type { Transaction } from '../../db/database.ts'
import { renderProduct, renderProductKey } from '../../destinations/catalog.ts'
import { renderUserOperation } from '../../destinations/userOperation.ts'
import type { Operation } from '../../destinations/destination.ts'
import type { Change } from '../../model/report.ts'
import { eachPortion } from '../../db/cursor.ts'
import type { FrozenEntry } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { createsAgain, isNotListed } from '../../db/invalidated.ts'
import type { DesiredContext } from './desired.ts'
import { inRange, sentIdentifiers, type KeyRange } from './firstLoad.ts'
import { joinOwnEnds, notEnded, overdue, ownEffectiveAt, ownExpiresAt } from './ownEnds.ts'
import { productChange } from './planTables.ts'

/** One operation to freeze, with its bytes. */
export interface PlannedOperation extends FrozenEntry {
  readonly bytes: Buffer
  readonly op: Operation
  /**
   * Phase of sending. An operation of phase 2 waits until every delete of this plan is settled, so that the old identifiers of a user, or
   * the old spelling of a product id, are deleted before the update.
   */
  readonly phase: 1 | 2
}

/** Transaction and destination whose operations are read. */
type OperationContext = Pick<DesiredContext, 'tx' | 'destinationId'>

/** Times and size of the operations on people. */
export interface MembershipTerms {
  /** Time of the plan by the database's clock: start of every membership whose row has no own start. */
  readonly plannedAtMs: number
  /** End of every membership whose row has no own end. */
  readonly expiresAtMs: number
  readonly usersPerOperation: number
  /** False for do-not-reach lists, whose uploads have no `effective_at` (docs/spec-notes.md#audience-uploads). */
  readonly takesEffectiveAt: boolean
}

/** Number of rows that a cursor fetches at a time. */
const fetchRows = 5_000
/** SQL of the keys of a group as one text, because reading an array of bytea costs an object, a parse and a copy per key. */
const hexKeys = `string_agg(encode(m.key, 'hex'), ',' order by m.key)`
/** Maximum number of bytes of an identifier in a request, with its JSON name and quotes. */
const longestIdentifierBytes = 160
/** Maximum bytes of an operation with several users, well below the 5,000,000 bytes of a request (spec 8). */
const operationBytes = 4_500_000

/** Yields products to delete, then products to put, both in the order of their ids. `freeze` separates ids that collide. */
export async function* productOperations(context: OperationContext): AsyncGenerator<PlannedOperation[]> {
  const { tx, destinationId } = context
  const deletes = cursor<{ key: Buffer; remote_key: string }>(
    tx,
    `select m.key, m.remote_key from remote m join pending_product t using (key)
     where m.destination_id = ${destinationId} and t.what = ${productChange.delete} order by m.key`,
  )
  for await (const portion of deletes) {
    yield portion.map(({ key, remote_key }) => ({
      bytes: renderProductKey(remote_key),
      op: 'delete',
      change: 'delete',
      phase: 1,
      recordKey: key,
      keys: [key.toString('hex')],
      hash: null,
      expiresAtMs: null,
      users: 1,
    }))
  }
  const upserts = cursor<{ key: Buffer; created: boolean; product_key: string | null; body: string; hash: Buffer }>(
    tx,
    `select m.key, ${createsAgain('m.synced_hash')} as created,
       case when ${isNotListed('m.synced_hash')} then null else m.remote_key end as product_key, r.body, r.hash
     from remote m join pending_product t using (key) join record r on r.destination_id = m.destination_id and r.key = m.key
     where m.destination_id = ${destinationId} and t.what in (${productChange.upsert}, ${productChange.lookup}) order by m.key`,
  )
  for await (const portion of upserts)
    yield portion.map(({ key, created, product_key, body, hash }) =>
      putProduct(key, renderProduct(body, product_key), hash, created ? 'create' : 'update'),
    )
}

/** Returns the operation that puts a product. */
function putProduct(key: Buffer, bytes: Buffer, hash: Buffer, change: Change): PlannedOperation {
  return {
    bytes,
    op: 'upsert',
    change,
    phase: 1,
    recordKey: key,
    keys: [key.toString('hex')],
    hash,
    expiresAtMs: null,
    users: 1,
  }
}

/** Yields all products of an untouched destination as creates, in the order of their ids. */
export async function* firstProducts(context: OperationContext): AsyncGenerator<PlannedOperation[]> {
  const products = cursor<{ key: Buffer; body: string; hash: Buffer }>(
    context.tx,
    `select key, body, hash from record where destination_id = ${context.destinationId} order by key`,
  )
  for await (const portion of products)
    yield portion.map(({ key, body, hash }) => putProduct(key, renderProduct(body, null), hash, 'create'))
}

/**
 * Yields the operations of a plain first load for the record keys in `range`. Each user is sent without the identifiers that are sent under
 * another row. `shared`: true if the table `omitted` has such identifiers. `index`: index of implied keys, to which the sent identifiers
 * are added; undefined if no key is implied.
 */
export function firstMembers(
  { tx, destinationId }: OperationContext,
  terms: MembershipTerms,
  of: { readonly shared: boolean; readonly range: KeyRange; readonly index: ImpliedKeyIndex | undefined },
): AsyncGenerator<PlannedOperation[]> {
  const hex = (identifiers: string) => `replace(array_to_string(${identifiers}, ','), '\\x', '')`
  const mine = `r.destination_id = ${destinationId} and ${inRange('r.key', of.range)}`
  const rows = cursor<{ key: Buffer; keys: string }>(
    tx,
    of.shared
      ? `select r.key, ${hex(sentIdentifiers)} as keys
         from record r left join omitted l on l.key = r.key where ${mine} order by r.key`
      : `select r.key, ${hex(rowIdentifiers('r'))} as keys from record r where ${mine} order by r.key`,
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

/** Yields users to delete, then users to update. The update of a user of whom the plan deletes an identifier is in phase 2. */
export async function* memberOperations(context: OperationContext, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
  const { tx, destinationId } = context
  const deletes = cursor<{ group_key: Buffer; keys: string }>(
    tx,
    `select group_key, keys_to_delete as keys from pending_group where deletes and not overdue and keys_to_delete is not null
     union all
     select t.group_key, ${hexKeys}
     from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key
       ${joinOwnEnds(destinationId)}
     where t.deletes and (t.overdue or t.keys_to_delete is null) and ((m.ref_count <= 0 and m.synced_hash is not null) or (t.overdue and ${overdue}))
     group by t.group_key order by group_key`,
  )
  for await (const portion of deletes) {
    yield portion.map(({ group_key, keys: joined }) => {
      const keys = joined.split(',')
      const bytes = renderUserOperation({ op: 'delete', users: [keys] })
      return { bytes, op: 'delete', change: 'delete', phase: 1, recordKey: group_key, keys, hash: null, expiresAtMs: null, users: 1 }
    })
  }

  const timed = await tx.query(
    'select from record where destination_id = $1 and (effective_at is not null or expires_at is not null) limit 1',
    [destinationId],
  )
  yield* packUsers(cursor<GroupRow>(tx, timed.length === 0 ? untimedGroups(destinationId) : timedGroups(destinationId)), terms)
}

const groupColumns = 't.group_key, t.deletes, t.renewal, t.created, t.content_version'
const groupKeys = `${hexKeys} as keys, max(m.desired_hash::text)::bytea as hash`

/** SQL of the groups to update if no row has own times, without reading their records. */
const untimedGroups = (destinationId: number) =>
  `select ${groupColumns}, ${groupKeys}, null as effective_ms, null as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
   group by ${groupColumns} order by t.deletes, t.group_key`

/** SQL of the groups to update if rows have own times: one row per user object. */
const timedGroups = (destinationId: number) =>
  `select ${groupColumns}, ${groupKeys},
     extract(epoch from ${ownEffectiveAt}) * 1000 as effective_ms, extract(epoch from ${ownExpiresAt}) * 1000 as expires_ms
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
     ${joinOwnEnds(destinationId)}
   -- A user whose identifiers start or expire at different times is sent as one user object for each pair of times.
   where ${notEnded} group by ${groupColumns}, ${ownEffectiveAt}, ${ownExpiresAt}
   order by t.deletes, ${ownEffectiveAt} nulls first, ${ownExpiresAt} nulls first, t.group_key`

/** User object to send: identifiers of one group with equal times. */
interface GroupRow {
  readonly group_key: Buffer
  /** True if the plan also deletes an identifier of this user. Then the user is sent in phase 2, after all deletes. */
  readonly deletes: boolean
  readonly renewal: boolean
  readonly created: boolean
  /** New common content of a group that changed or loses identifiers (`pendingGroups.ts`); null if `hash` applies. */
  readonly content_version: Buffer | null
  /** Keys in hex, separated by commas. */
  readonly keys: string
  /** Desired content of the identifiers. */
  readonly hash: Buffer
  readonly effective_ms: string | null
  readonly expires_ms: string | null
}

/** Yields operations with up to `usersPerOperation` users. The users of one operation have equal times, content, phase and change. */
async function* packUsers(portions: AsyncIterable<readonly GroupRow[]>, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
  let collected: GroupRow[] = []
  let collectedBytes = 0
  const sameOperation = (a: GroupRow, b: GroupRow) =>
    a.deletes === b.deletes &&
    a.effective_ms === b.effective_ms &&
    a.expires_ms === b.expires_ms &&
    hashOf(a).equals(hashOf(b)) &&
    changeOf(a) === changeOf(b)
  for await (const portion of portions) {
    const operations: PlannedOperation[] = []
    for (const group of portion) {
      const first = collected[0]
      // Estimate: a key in hex with its comma has about 68 characters.
      const bytes = 16 + (group.keys.length / 68 + 1) * longestIdentifierBytes
      if (
        first &&
        (collected.length >= terms.usersPerOperation || collectedBytes + bytes > operationBytes || !sameOperation(first, group))
      ) {
        operations.push(userOperation(collected, terms))
        collected = []
        collectedBytes = 0
      }
      collected.push(group)
      collectedBytes += bytes
    }
    yield operations
  }
  if (collected.length > 0) yield [userOperation(collected, terms)]
}

function userOperation(groups: readonly GroupRow[], terms: MembershipTerms): PlannedOperation {
  const [first] = groups
  if (!first) throw new Error('an operation must have a user')
  const expiresAtMs = first.expires_ms === null ? terms.expiresAtMs : Number(first.expires_ms)
  const users = groups.map(({ keys }) => keys.split(','))
  const effectiveAtMs = first.effective_ms === null ? terms.plannedAtMs : Number(first.effective_ms)
  return {
    bytes: renderUserOperation({
      op: 'update',
      users,
      ...(terms.takesEffectiveAt ? { effectiveAtMs } : {}),
      expiresAtMs,
    }),
    op: 'upsert',
    change: changeOf(first),
    phase: first.deletes ? 2 : 1,
    recordKey: first.group_key,
    keys: users.length === 1 ? (users[0] ?? []) : users.flat(),
    hash: hashOf(first),
    expiresAtMs,
    users: groups.length,
  }
}

function hashOf(group: GroupRow): Buffer {
  return group.content_version ?? group.hash
}

function changeOf(group: GroupRow): Change {
  if (group.renewal) return 'renewal'
  return group.created ? 'create' : 'update'
}

function cursor<Row extends pg.QueryResultRow>(tx: Transaction, query: string): AsyncGenerator<Row[]> {
  return eachPortion(tx.client, 'operation_cursor', query, fetchRows)
}
