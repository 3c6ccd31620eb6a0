import { renderUserOperation, type UserOperation } from '../../destinations/renderUserOperation.ts'
import type { Change } from '../../model/report.ts'
import type { PlannedOperation } from './plannedOperation.ts'

/** Settings of the operations on people. */
export interface MembershipTerms {
  /** Time of the plan: start of every membership whose row sets no start. */
  readonly plannedAtMs: number
  /** End of every membership whose row sets no end. */
  readonly expiresAtMs: number
  readonly usersPerOperation: number
  /** False for do-not-reach lists, whose uploads have no `effective_at` (docs/spec-notes.md#audience-uploads). */
  readonly takesEffectiveAt: boolean
}

/** Returns the fields of an update, except `users`. The rows of the users must set no times. */
export function updateWithoutUsers({ plannedAtMs, expiresAtMs, takesEffectiveAt }: MembershipTerms): Omit<UserOperation, 'users'> {
  return { op: 'update', ...(takesEffectiveAt ? { effectiveAtMs: plannedAtMs } : {}), expiresAtMs }
}

/** Maximum bytes of an identifier in a request, with its JSON name and quotes. */
const maxIdentifierBytes = 160
/** Maximum bytes of an operation with several users, well below the 5,000,000 of a request (spec 8). */
const maxOperationBytes = 4_500_000

/** User to send: identifiers of one group with equal times. A group is the identifiers that are sent under one record. */
export interface UserRow {
  readonly group_key: Buffer
  /** True if the plan also deletes an identifier of this user. Then the user is sent in phase 2, after all deletes. */
  readonly deletes: boolean
  readonly renewal: boolean
  /** True if the service refused an identifier of this user. */
  readonly refused: boolean
  /** True if the service has none of the identifiers of the group. */
  readonly created: boolean
  /** New content of all identifiers of a group that changed or loses identifiers; otherwise null. */
  readonly content_version: Buffer | null
  /** Keys in hex, separated by commas. */
  readonly keys: string
  /** Desired content of the identifiers, unless there is a `content_version`. */
  readonly hash: Buffer
  /** Start that the rows set, in epoch milliseconds; null: `plannedAtMs`. */
  readonly effective_ms: string | null
  /** End that the rows set, in epoch milliseconds; null: `expiresAtMs`. */
  readonly expires_ms: string | null
}

/**
 * Yields operations with up to `usersPerOperation` users. The users of one operation have equal times, content, phase and change. The
 * service refuses an operation as a whole. The push isolates the failing user (`push/isolateRecord.ts`), who gets an operation of its own
 * in the next plan.
 */
export async function* packUsers(portions: AsyncIterable<readonly UserRow[]>, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
  let collected: UserRow[] = []
  let collectedBytes = 0
  for await (const portion of portions) {
    const operations: PlannedOperation[] = []
    for (const row of portion) {
      const first = collected[0]
      // Estimate: a key in hex with its comma has about 68 characters.
      const bytes = 16 + (row.keys.length / 68 + 1) * maxIdentifierBytes
      const isFull = collected.length >= terms.usersPerOperation || collectedBytes + bytes > maxOperationBytes
      if (first !== undefined && (isFull || !canShareOperation(first, row))) {
        operations.push(userOperation(collected, terms))
        collected = []
        collectedBytes = 0
      }
      collected.push(row)
      collectedBytes += bytes
    }
    yield operations
  }
  if (collected.length > 0) yield [userOperation(collected, terms)]
}

function canShareOperation(one: UserRow, other: UserRow): boolean {
  return (
    !one.refused &&
    !other.refused &&
    one.deletes === other.deletes &&
    one.effective_ms === other.effective_ms &&
    one.expires_ms === other.expires_ms &&
    hashOf(one).equals(hashOf(other)) &&
    changeOf(one) === changeOf(other)
  )
}

function userOperation(rows: readonly UserRow[], terms: MembershipTerms): PlannedOperation {
  const [first] = rows
  if (!first) throw new Error('an operation must have a user')
  const users = rows.map(({ keys }) => keys.split(','))
  const effectiveAtMs = first.effective_ms === null ? terms.plannedAtMs : Number(first.effective_ms)
  const expiresAtMs = first.expires_ms === null ? terms.expiresAtMs : Number(first.expires_ms)
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
    users: rows.length,
  }
}

function hashOf(row: UserRow): Buffer {
  return row.content_version ?? row.hash
}

function changeOf(row: UserRow): Change {
  if (row.renewal) return 'renewal'
  return row.created ? 'create' : 'update'
}
