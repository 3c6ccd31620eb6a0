/**
 * Freezes a first load of people, each user as an operation of its own. Writes the same records as
 * `insertRecordsOfRange`, and the same batches and entries as `freeze` with `firstMembers`. `test/integration/sync/firstLoad.test.ts`
 * compares this file with these functions. Works on bytes (`stagedPeople.ts`), without an object or a string per user.
 */
import { setImmediate } from 'node:timers/promises'
import { compressTemplate } from '../../db/bodyTemplate.ts'
import { writeOrderedEntries, type OrderedEntries } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeyIndex.ts'
import { RecordCopy } from '../../db/records.ts'
import { recordKeyBytes, UpdateWriter, type UserAt, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { identifierBytes } from '../../model/record.ts'
import { identifiersLength, isRecordStored, personHeadBytes, type StagedPeople } from './stagedPeople.ts'
import { crashPoint } from '../crashPoint.ts'
import { plainHash } from './memberOperations.ts'
import { updateOf, type MembershipTerms } from './packUsers.ts'
import { PlanBatches, type FreezeContext, type Frozen } from './planBatches.ts'

/** Number of users that are frozen in one turn of the event loop. They take about a millisecond. */
const usersPerTurn = 500

/** Part of a first load to freeze, with its people. */
export interface LoadToFreeze extends FreezeContext {
  readonly loadId: number
  readonly snapshotId: number
  readonly terms: MembershipTerms
  /** People in key order. */
  readonly people: AsyncIterable<StagedPeople>
  /** Index of implied keys (docs/decisions/implied-keys.md), to which the identifiers are added. */
  readonly index: ImpliedKeyIndex
}

/** Writes the records, and the users as batches. Returns the totals of `before` plus those of these batches. Does not change `before`. */
export async function freezeLoad(load: LoadToFreeze, before: Frozen): Promise<Frozen> {
  const { tx, destination, destinationId, terms, index } = load
  const { expiresAtMs } = terms
  const writer = new UpdateWriter(destination.frame('upsert'), destination.limits, updateOf(terms))
  const batches = new PlanBatches<Omit<OrderedEntries, 'batchId'>>(load, before, async (entries) => {
    await writeOrderedEntries(tx, destinationId, entries)
    for (const { release } of entries) release()
  })
  const take = (written: WrittenUpdates | undefined) => {
    if (written === undefined) return
    // The body is not stored, because it is rebuilt from the template and the keys.
    const { body, sha256, ...rest } = written
    const { users } = rest
    const firstKey = rest.recordKeys.subarray(0, recordKeyBytes)
    const figures = { phase: 1, operation: 'upsert', entryCount: users, userCount: users, expiresAtMs } as const
    const changes = ['create'] as const
    const entries = { ...rest, template: compressTemplate(rest.template), changes, hashes: [plainHash], expiresAtMs }
    batches.push({ ...figures, body: undefined, sha256, load: { id: load.loadId, firstKey } }, body.length, entries)
    batches.entries.create += users
  }
  // One object is reused for all users, because creating a million takes as long as writing their bodies.
  const user: UserAt = { source: Buffer.alloc(0), key: 0, identifiers: 0, stride: identifierBytes, count: 0 }
  const records = new RecordCopy(tx, load)
  let usersSinceTurn = 0
  try {
    for await (const { bytes, starts } of load.people) {
      user.source = bytes
      // Postgres stores these records after the batches of the step before. Meanwhile this process writes the bodies of this step.
      records.begin(batches.stored())
      for (const start of starts) {
        const length = readUserAt(user, start)
        if (!isRecordStored(bytes, start)) records.add(bytes, start, user.identifiers, length)
        if (records.full) await records.flush()
        // Lets the connection send its queued records and statements, so that Postgres does not wait for the rest of the users.
        if (++usersSinceTurn === usersPerTurn) {
          usersSinceTurn = 0
          await setImmediate()
        }
        // All identifiers of this row are sent under other rows.
        if (user.count === 0) continue
        // The COPY of the records ends first, because another COPY of this connection stores the index.
        if (!index.hasRoom(user.count)) {
          await records.end()
          await index.store()
          records.begin(batches.stored())
        }
        for (let at = user.identifiers; at < user.identifiers + length; at += identifierBytes)
          index.addOne(bytes.readUInt32BE(at + 1), bytes, user.key)
        if (!writer.fits(user)) take(writer.finish())
        writer.add(user)
      }
      // Postgres stores these records and their batches while the next people are frozen.
      const recorded = records.end().then(() => crashPoint('plan.records_written'))
      await batches.write(index.isHalfFull ? index.store(recorded) : recorded)
    }
    take(writer.finish())
    await batches.write()
  } catch (error) {
    records.abort()
    throw error
  } finally {
    await batches.stored()
  }
  return batches.totals()
}

/** Sets `user` to the person at `at`. Returns the number of bytes of the identifiers. */
function readUserAt(user: UserAt, at: number): number {
  const length = identifiersLength(user.source, at)
  user.key = at
  user.identifiers = at + personHeadBytes
  user.count = length / identifierBytes
  return length
}
