/**
 * Freezes the pending changes of people: packs them into batches (requests) and stores these. Each operation has one user. The result
 * equals that of `freeze` with `memberOperations` (test/integration/sync/freezeChanges.test.ts compares the two). Works on bytes, which
 * takes half of the processor time (60,000 operations).
 */
import type { FrozenBatch } from '../../db/batches/insert.ts'
import { compressTemplate } from '../../db/bodyTemplate.ts'
import { eachPortion } from '../../db/cursor.ts'
import type { Connection, Transaction } from '../../db/database.ts'
import { writeOrderedEntries, type OrderedEntries } from '../../db/entries/write.ts'
import { hasRows } from '../../db/queryable.ts'
import type { Destination } from '../../destinations/destination.ts'
import { plainType } from '../../destinations/renderUserOperation.ts'
import { recordKeyBytes, UpdateWriter, type PackedUser, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { identifierBytes } from '../../model/record.ts'
import type { Change } from '../../model/report.ts'
import { recordsHaveTimes } from './memberOperations.ts'
import { updateWithoutUsers, type MembershipTerms } from './packUsers.ts'
import { noTotals, PlanBatches, type FreezeContext, type FrozenTotals } from './planBatches.ts'

/** Changes, by the index that the bytes of a user have (`usersOf`). */
const changeNames = ['create', 'update', 'renewal', 'delete'] as const satisfies readonly Change[]
/** In the bytes of a user (`usersOf`): number of bytes before the record key. */
const headBytes = 7
const usersPerValue = 1_000
const valuesPerPortion = 5

/**
 * Returns true if no record has an `effective_at` or `expires_at`, and every identifier of the destination is a digest. `freezeChanges`
 * needs both.
 */
export async function areDigestsWithoutTimes(tx: Connection, destinationId: number): Promise<boolean> {
  if (await recordsHaveTimes(tx, destinationId)) return false
  return !(await hasRows(tx, 'select from remote where destination_id = $1 and key >= $2', [destinationId, Buffer.from([plainType])]))
}

/**
 * Writes the deletes, then the updates. If the plan deletes an identifier of a user, the update of this user waits for all deletes (phase
 * 2).
 */
export async function freezeChanges(context: FreezeContext, terms: MembershipTerms): Promise<FrozenTotals> {
  const { tx, destination, destinationId } = context
  const batches: WrittenBatches = new PlanBatches(context, noTotals(), (entries) => writeOrderedEntries(tx, destinationId, entries))
  try {
    const deletes = new ChangeWriter(batches, destination, undefined)
    await writeUsers(deletes, tx, deletedUsers)
    const updates = new ChangeWriter(batches, destination, terms)
    await writeUsers(updates, tx, updatedUsers(destinationId))
    await batches.write()
  } finally {
    await batches.awaitStored()
  }
  return batches.totals()
}

async function writeUsers(writer: ChangeWriter, tx: Transaction, users: string): Promise<void> {
  for await (const values of eachPortion<{ users: Buffer }>(tx.client, 'operation_cursor', usersOf(users), valuesPerPortion)) {
    for (const value of values) await writer.add(value.users)
  }
  writer.end()
}

/** Batches whose bodies an `UpdateWriter` writes. */
export type WrittenBatches = PlanBatches<Omit<OrderedEntries, 'batchId'>>

/** Adds a written body to `batches` as a batch. The body is not stored: it is rebuilt from the template and the keys. */
export function addWritten(
  batches: WrittenBatches,
  { body, sha256, ...rest }: WrittenUpdates,
  columns: Pick<FrozenBatch, 'phase' | 'operation' | 'expiresAtMs' | 'load'>,
  changes: Pick<OrderedEntries, 'changes' | 'hashes'>,
): void {
  batches.add({ ...columns, entryCount: rest.users, userCount: rest.users, body: undefined, sha256 }, body.length, {
    ...rest,
    ...changes,
    template: compressTemplate(rest.template),
    expiresAtMs: columns.expiresAtMs ?? null,
  })
}

/** Writer of all updates or all deletes of a plan. */
class ChangeWriter {
  readonly #batches: WrittenBatches
  readonly #operation: 'delete' | 'upsert'
  readonly #expiresAtMs: number | undefined
  readonly #writer: UpdateWriter
  readonly #user: PackedUser = { source: Buffer.alloc(0), keyAt: 0, identifiersAt: 0, stride: identifierBytes, count: 0 }
  #phase: 1 | 2 = 1
  #changes: Change[] = []
  #hashes: Buffer[] = []

  constructor(batches: WrittenBatches, destination: Pick<Destination, 'frame' | 'limits'>, terms: MembershipTerms | undefined) {
    this.#batches = batches
    this.#operation = terms === undefined ? 'delete' : 'upsert'
    this.#expiresAtMs = terms?.expiresAtMs
    const operation = terms === undefined ? ({ op: 'delete' } as const) : updateWithoutUsers(terms)
    this.#writer = new UpdateWriter(destination.frame(this.#operation), destination.limits, operation)
  }

  /** Adds the users in `bytes` (format: `usersOf`). Users of phase 2 must follow those of phase 1. */
  async add(bytes: Buffer): Promise<void> {
    const user = this.#user
    user.source = bytes
    for (let at = 0; at < bytes.length;) {
      const phase = bytes[at] === 1 ? 2 : 1
      const change = changeNames[bytes[at + 1] ?? 0] ?? 'update'
      const length = bytes.readInt32BE(at + 3)
      const hashAt = at + headBytes + recordKeyBytes
      user.keyAt = at + headBytes
      user.identifiersAt = hashAt + (bytes[at + 2] ?? 0)
      user.count = length / identifierBytes
      if (phase !== this.#phase || !this.#writer.fits(user)) this.end()
      this.#phase = phase
      this.#writer.add(user)
      this.#changes.push(change)
      if (user.identifiersAt > hashAt) this.#hashes.push(bytes.subarray(hashAt, user.identifiersAt))
      this.#batches.countsByChange[change]++
      at = user.identifiersAt + length
    }
    if (this.#batches.isFull) await this.#batches.write()
  }

  end(): void {
    const written = this.#writer.finish()
    if (written === undefined) return
    const columns = { phase: this.#phase, operation: this.#operation, expiresAtMs: this.#expiresAtMs, load: undefined }
    addWritten(this.#batches, written, columns, { changes: this.#changes, hashes: this.#hashes })
    this.#changes = []
    this.#hashes = []
  }
}

/**
 * Returns SQL of `bytea` values with up to `usersPerValue` users each, in sending order. `users`: SQL with the columns `later` (true in
 * phase 2), `key`, `change` (index of `changeNames`), `hash` and `identifiers`. The bytes of each user are:
 *
 * - 1 byte: 1 in phase 2, otherwise 0
 * - 1 byte: the index of the change in `changeNames`
 * - 1 byte: the length of the content hash
 * - 4 bytes: the length of the identifiers
 * - the record key, the hash, and the identifiers
 */
function usersOf(users: string): string {
  const byte = (number: string) => `substring(int2send((${number})::int2) from 2)`
  return `select string_agg(${byte('later::int')} || ${byte('change')} || ${byte('length(hash)')} || int4send(length(identifiers))
      || key || hash || identifiers, ''::bytea order by place) as users
    from (select u.*, row_number() over (order by later, key) - 1 as place from (${users}) u) u
    group by place / ${usersPerValue} order by place / ${usersPerValue}`
}

/** SQL of the users of whom the plan deletes identifiers. */
const deletedUsers = `select false as later, t.group_key as key, ${changeNames.indexOf('delete')} as change, ''::bytea as hash,
    decode(replace(t.keys_to_delete, ',', ''), 'hex') as identifiers
  from pending_group t where t.deletes and t.keys_to_delete is not null`

/** Returns SQL of the users to update, each with all its desired identifiers. */
const updatedUsers = (destinationId: number) =>
  `select t.deletes as later, t.group_key as key,
     case when t.renewal then ${changeNames.indexOf('renewal')}
       when t.created then ${changeNames.indexOf('create')}
       else ${changeNames.indexOf('update')} end as change,
     coalesce(t.content_version, max(m.desired_hash::text)::bytea) as hash,
     string_agg(m.key, ''::bytea order by m.key) as identifiers
   from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
   group by t.group_key, t.deletes, t.renewal, t.created, t.content_version`
