/**
 * Freezes a part of a first load of people: stores its records, and its requests (batches) with one user per operation. The result equals
 * that of `insertRecordsOfRange` and `freeze` (test/integration/sync/firstLoad.test.ts compares them). Works on bytes, because that is
 * faster.
 */
import { setImmediate } from 'node:timers/promises'
import { writeOrderedEntries } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { RecordCopy } from '../../db/records.ts'
import { recordKeyBytes, UpdateWriter, type PackedUser, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { identifierBytes } from '../../model/record.ts'
import { identifiersLength, isRecordStored, personHeadBytes, type StagedPeople } from './stagedPeople.ts'
import { crashPoint } from '../crashPoint.ts'
import { addWritten, type WrittenBatches } from './freezeChanges.ts'
import { plainHash } from './memberOperations.ts'
import { updateWithoutUsers, type MembershipTerms } from './packUsers.ts'
import { PlanBatches, type FreezeContext, type FrozenTotals } from './planBatches.ts'

/** Number of users that are frozen in one turn of the event loop, in about a millisecond. */
const usersPerTurn = 500

export interface LoadToFreeze extends FreezeContext {
  /** Id of the run; stored in the column `load_id` of its records and batches. */
  readonly loadId: number
  readonly snapshotId: number
  readonly terms: MembershipTerms
  readonly people: AsyncIterable<StagedPeople>
  /** Search index of the identifiers, which have no rows in `remote` (docs/decisions/implied-keys.md). This part adds its identifiers. */
  readonly index: ImpliedKeyIndex
}

/** Stores the records and the batches. Returns `earlierTotals` plus the totals of these batches. */
export async function freezeLoad(load: LoadToFreeze, earlierTotals: FrozenTotals): Promise<FrozenTotals> {
  const { tx, destination, destinationId, terms, index } = load
  const { expiresAtMs } = terms
  const writer = new UpdateWriter(destination.frame('upsert'), destination.limits, updateWithoutUsers(terms))
  const batches: WrittenBatches = new PlanBatches(load, earlierTotals, async (entries) => {
    await writeOrderedEntries(tx, destinationId, entries)
    for (const { release } of entries) release()
  })
  const addBatch = (written: WrittenUpdates | undefined) => {
    if (written === undefined) return
    const firstKey = written.recordKeys.subarray(0, recordKeyBytes)
    const columns = { phase: 1, operation: 'upsert', expiresAtMs, load: { id: load.loadId, firstKey } } as const
    addWritten(batches, written, columns, { changes: ['create'], hashes: [plainHash] })
    batches.countsByChange.create += written.users
  }
  // One object is reused for all users, because creating a million takes as long as writing their bodies.
  const user: PackedUser = { source: Buffer.alloc(0), keyAt: 0, identifiersAt: 0, stride: identifierBytes, count: 0 }
  const records = new RecordCopy(tx, load)
  let usersSinceTurn = 0
  try {
    for await (const { bytes, starts } of load.people) {
      user.source = bytes
      // Postgres stores these records after the earlier batches, while this process writes the next bodies.
      records.begin(batches.awaitStored())
      for (const start of starts) {
        const length = readUserAt(user, start)
        if (!isRecordStored(bytes, start)) records.add(bytes, start, user.identifiersAt, length)
        if (records.full) await records.flush()
        // In this pause the connection sends, so that Postgres need not wait for the other users.
        if (++usersSinceTurn === usersPerTurn) {
          usersSinceTurn = 0
          await setImmediate()
        }
        // All identifiers of this person are sent under other rows.
        if (user.count === 0) continue
        // The COPY of the records must end first, because `index.store` is another COPY on this connection.
        if (!index.hasRoom(user.count)) {
          await records.end()
          await index.store()
          records.begin(batches.awaitStored())
        }
        for (let at = user.identifiersAt; at < user.identifiersAt + length; at += identifierBytes)
          index.addOne(bytes.readUInt32BE(at + 1), bytes, user.keyAt)
        if (!writer.fits(user)) addBatch(writer.finish())
        writer.add(user)
      }
      // Postgres stores these records and their batches while the next people are frozen.
      const recorded = records.end().then(() => crashPoint('plan.records_written'))
      await batches.write(index.isHalfFull ? index.store(recorded) : recorded)
    }
    addBatch(writer.finish())
    await batches.write()
  } catch (error) {
    records.abort()
    throw error
  } finally {
    await batches.awaitStored()
  }
  return batches.totals()
}

/** Sets `user` to the person at position `at` of `user.source`. Returns the number of bytes of the identifiers. */
function readUserAt(user: PackedUser, at: number): number {
  const length = identifiersLength(user.source, at)
  user.keyAt = at
  user.identifiersAt = at + personHeadBytes
  user.count = length / identifierBytes
  return length
}
