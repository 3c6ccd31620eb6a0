/** Packs users into operations. */
import { renderUserOperation, type UserOperation } from '../../destinations/renderUserOperation.ts'
import type { Change } from '../../model/report.ts'
import type { PlannedOperation } from './plannedOperation.ts'

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

/** Returns an update of users whose rows have no own times, without its users. */
export function updateOf({ plannedAtMs, expiresAtMs, takesEffectiveAt }: MembershipTerms): Omit<UserOperation, 'users'> {
  return { op: 'update', ...(takesEffectiveAt ? { effectiveAtMs: plannedAtMs } : {}), expiresAtMs }
}

/** Maximum number of bytes of an identifier in a request, with its JSON name and quotes. */
const maxIdentifierBytes = 160
/** Maximum number of bytes of an operation with several users, well below the 5,000,000 bytes of a request (spec 8). */
const maxOperationBytes = 4_500_000

/** User object to send: identifiers of one group with equal times. */
export interface GroupRow {
  readonly group_key: Buffer
  /** True if the plan also deletes an identifier of this user. Then the user is sent in phase 2, after all deletes. */
  readonly deletes: boolean
  readonly renewal: boolean
  /** True if the service has none of the identifiers of the group. */
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
export async function* packUsers(portions: AsyncIterable<readonly GroupRow[]>, terms: MembershipTerms): AsyncGenerator<PlannedOperation[]> {
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
      const bytes = 16 + (group.keys.length / 68 + 1) * maxIdentifierBytes
      if (
        first &&
        (collected.length >= terms.usersPerOperation || collectedBytes + bytes > maxOperationBytes || !sameOperation(first, group))
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
