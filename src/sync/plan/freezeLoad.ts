/**
 * Freezes a first load of people, each user as an operation of its own. Writes the same batches and entries as `freeze` does with
 * `firstMembers`, but reads records and writes bodies as bytes, without an object or a string per user.
 * test/integration/sync/firstLoad.test.ts compares the two.
 */
import { compressTemplate } from '../../db/bodyTemplate.ts'
import { copyValue } from '../../db/copyOut.ts'
import { forgetCause, setCause } from '../../db/cursor.ts'
import { writeLoadedEntries, type LoadedEntries } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeySearch.ts'
import { recordKeyBytes, UpdateWriter, type UserAt, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { inRange, sentIdentifiers, type FirstLoad, type KeyRange } from './firstLoad.ts'
import { plainHash, type MembershipTerms } from './operations.ts'
import { PlanBatches, type FreezeContext, type Frozen } from './planBatches.ts'

export interface LoadToFreeze extends FreezeContext {
  readonly loadId: number
  readonly terms: MembershipTerms
  readonly shared: FirstLoad['shared']
  readonly range: KeyRange
  /** Index for the search for implied keys. The identifiers are added to it. */
  readonly index: ImpliedKeyIndex
}

/** Number of records read at a time. */
const rowsAtATime = 5_000

/** Writes the users of the range as batches. Returns the sum of their totals and of `before`, which does not change. */
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
  const user: UserAt = { source: Buffer.alloc(0), key: 0, identifiers: 0, stride, count: 0 }
  try {
    for await (const records of recordBuffers(load)) {
      user.source = records
      for (let end = 0; end < records.length;) {
        end = findUser(user, end)
        // Other rows send all identifiers of this row.
        if (user.count === 0) continue
        if (!index.hasRoom(user.count)) await index.store()
        for (let at = user.identifiers; at < end; at += stride) index.addOne(records.readUInt32BE(at + 1), records, user.key)
        if (!writer.fits(user)) take(writer.finish())
        writer.add(user)
      }
      if (batches.isFull) await batches.write()
    }
    take(writer.finish())
    await batches.write()
  } finally {
    await batches.stored()
  }
  return batches.totals()
}

/** Number of bytes of an empty array as `array_send` writes it: number of dimensions, flags and type of the elements. */
const emptyHeaderBytes = 12
/** Number of bytes before the first element of an array with one dimension, whose length and first index follow the type. */
const headerBytes = 20
/** Number of bytes of the length before each element. */
const lengthBytes = 4
/** Distance between two identifiers of 33 bytes. */
const stride = lengthBytes + 33

/** Sets `user` to the record that begins at `at`. Returns the position of the next record. */
function findUser(user: UserAt, at: number): number {
  const array = at + recordKeyBytes
  user.key = at
  const isEmpty = user.source.readInt32BE(array) === 0
  user.count = isEmpty ? 0 : user.source.readInt32BE(array + emptyHeaderBytes)
  user.identifiers = array + headerBytes + lengthBytes
  return isEmpty ? array + emptyHeaderBytes : array + headerBytes + user.count * stride
}

/**
 * Yields the records of the range in key order, up to `rowsAtATime` in a buffer. Each is its key, and the identifiers that it sends as
 * `array_send` writes them. Postgres collects the next records while the caller works on a buffer.
 */
async function* recordBuffers({ tx, destinationId, shared, range }: LoadToFreeze): AsyncGenerator<Buffer> {
  const identifiers = shared ? sentIdentifiers : 'r.identifiers'
  // The value ends with the last key once more, after which the next read begins.
  const read = (after: Buffer | undefined) =>
    copyValue(
      tx.client,
      `select string_agg(r.key || array_send(r.identifiers), '') || (array_agg(r.key))[count(*)] from (
         select r.key, ${identifiers} as identifiers from record r ${shared ? 'left join omitted l on l.key = r.key' : ''}
         where r.destination_id = ${destinationId} and ${inRange('r.key', { after, upTo: range.upTo })} order by r.key limit ${rowsAtATime}) r`,
    )
  forgetCause(tx.client)
  let records = await read(range.after)
  while (records !== undefined) {
    const next = read(records.subarray(-recordKeyBytes))
    // If the caller stops or fails, this promise is not awaited. The next statement of the transaction then fails too, and `causeOf` returns
    // this error.
    next.catch((error: unknown) => setCause(tx.client, error))
    yield records.subarray(0, -recordKeyBytes)
    records = await next
  }
}
