/**
 * Freezes a first load of people, each user as an operation of its own. Writes the same batches and entries as `freeze` does with
 * `firstMembers`, but reads records (`loadedRecords.ts`) and writes bodies as bytes, without an object or a string per user.
 * test/integration/sync/firstLoad.test.ts compares the two.
 */
import { compressTemplate, keyBytes } from '../../db/bodyTemplate.ts'
import { writeLoadedEntries, type LoadedEntries } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeySearch.ts'
import { recordKeyBytes, UpdateWriter, type UserAt, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import type { LoadedRecords } from './loadedRecords.ts'
import { plainHash, type MembershipTerms } from './operations.ts'
import { PlanBatches, type FreezeContext, type Frozen } from './planBatches.ts'

export interface LoadToFreeze extends FreezeContext {
  readonly loadId: number
  readonly terms: MembershipTerms
  readonly records: AsyncIterable<LoadedRecords>
  /** Index for the search for implied keys. The identifiers are added to it. */
  readonly index: ImpliedKeyIndex
}

/** Writes the users as batches. Returns the sum of their totals and of `before`, which does not change. */
export async function freezeLoad(load: LoadToFreeze, before: Frozen): Promise<Frozen> {
  const { tx, destination, destinationId, terms, index } = load
  const { expiresAtMs } = terms
  const writer = new UpdateWriter(destination.frame('upsert'), destination.limits, {
    expiresAtMs,
    ...(terms.withEffectiveAt ? { effectiveAtMs: terms.plannedAtMs } : {}),
  })
  const batches = new PlanBatches<Omit<LoadedEntries, 'batchId'>>(load, before, (entries) => writeLoadedEntries(tx, destinationId, entries))
  const take = (written: WrittenUpdates | undefined) => {
    if (written === undefined) return
    // The body is not stored, because it is rebuilt from the template and the keys.
    const { body, sha256, ...rest } = written
    const { users } = rest
    const firstKey = rest.recordKeys.subarray(0, recordKeyBytes)
    const figures = { phase: 1, operation: 'upsert', entryCount: users, userCount: users, expiresAtMs } as const
    const entries = { ...rest, template: compressTemplate(rest.template), hash: plainHash, expiresAtMs }
    batches.push({ ...figures, body: undefined, sha256, load: { id: load.loadId, firstKey } }, body, entries)
    batches.entries.create += users
  }
  // One object is reused for all users, because creating a million takes as long as writing their bodies.
  const user: UserAt = { source: Buffer.alloc(0), key: 0, identifiers: 0, stride: keyBytes, count: 0 }
  try {
    for await (const { bytes: records, isLast } of load.records) {
      user.source = records
      for (let end = 0; end < records.length;) {
        end = findUser(user, end)
        // Other rows send all identifiers of this row.
        if (user.count === 0) continue
        if (!index.hasRoom(user.count)) await index.store()
        for (let at = user.identifiers; at < end; at += keyBytes) index.addOne(records.readUInt32BE(at + 1), records, user.key)
        if (!writer.fits(user)) {
          take(writer.finish())
          if (isLast && batches.isFull) await batches.write()
        }
        writer.add(user)
      }
      // Postgres inserts the next records meanwhile, and a statement waits for that. So these batches are stored together, behind that.
      if (isLast) break
      await batches.write()
      if (index.isHalfFull) await index.store()
    }
    take(writer.finish())
    await batches.write()
  } finally {
    await batches.stored()
  }
  return batches.totals()
}

/** Number of bytes of the length before the identifiers of a record. */
const lengthBytes = 4

/** Sets `user` to the record that begins at `at`. Returns the position of the next record. */
function findUser(user: UserAt, at: number): number {
  const bytes = user.source.readUInt32BE(at + recordKeyBytes)
  user.key = at
  user.identifiers = at + recordKeyBytes + lengthBytes
  user.count = bytes / keyBytes
  return user.identifiers + bytes
}
