/**
 * Freezes a first load of people, each user as an operation of its own. Writes the same batches and entries as `freeze` does with
 * `firstMembers`, but reads records and writes bodies as bytes, without an object or a string per user.
 * test/integration/sync/firstLoad.test.ts compares the two.
 */
import type { Transaction } from '../../db/database.ts'
import { compressTemplate } from '../../db/bodyTemplate.ts'
import { copyBatches, reserveBatchIds } from '../../db/batches/insert.ts'
import { copyValue } from '../../db/copyOut.ts'
import { forgetCause, setCause } from '../../db/cursor.ts'
import { writeLoadedEntries } from '../../db/entries/write.ts'
import type { ImpliedKeyIndex } from '../../db/impliedKeySearch.ts'
import type { Destination } from '../../destinations/destination.ts'
import { recordKeyBytes, UpdateWriter, type UserAt, type WrittenUpdates } from '../../destinations/updateWriter.ts'
import { crashPoint } from '../crashPoint.ts'
import { inRange, sentIdentifiers, type FirstLoad, type KeyRange } from './firstLoad.ts'
import type { Frozen } from './freeze.ts'
import { plainHash, type MembershipTerms } from './operations.ts'

export interface LoadToFreeze {
  readonly planId: string
  readonly destinationId: number
  readonly loadId: number
  /** `seq` of the last batch that the plan has already; 0 if it has none. */
  readonly lastSeq: number
  readonly terms: MembershipTerms
  readonly shared: FirstLoad['shared']
  readonly range: KeyRange
  /** Index for the search for implied keys. The identifiers are added to it. */
  readonly index: ImpliedKeyIndex
  readonly onProgress: (done: number) => void
}

/** Number of records read at a time. */
const rowsAtATime = 5_000
/** Number of batches written at a time. */
const batchesAtATime = 2

/** Written batch with its template compressed. The body is not kept, because it is rebuilt from the template and the keys. */
type LoadedBatch = Omit<WrittenUpdates, 'body'>

/** Writes the users of the range as batches. Returns the sum of their totals and of `before`, which does not change. */
export async function freezeLoad(tx: Transaction, destination: Destination, load: LoadToFreeze, before: Frozen): Promise<Frozen> {
  const { terms, index } = load
  const bodies = before.bodies.copy()
  const limitClass = destination.limitClass('upsert')
  const writer = new UpdateWriter(destination.frame('upsert'), destination.limits('upsert'), {
    expiresAtMs: terms.expiresAtMs,
    ...(terms.withEffectiveAt ? { effectiveAtMs: terms.plannedAtMs } : {}),
  })
  let batches = 0
  let users = 0
  let collected: LoadedBatch[] = []
  // Resolves when the last written batches are stored. Postgres stores them while the next ones are made.
  let writing = Promise.resolve()
  const write = async () => {
    const group = collected
    const firstSeq = load.lastSeq + batches - group.length + 1
    collected = []
    await writing
    writing = writeBatches(tx, load, group, firstSeq)
    // Prevents an unhandled rejection: the next `await writing` throws the error.
    writing.catch(() => undefined)
    load.onProgress(users)
  }
  const take = (written: WrittenUpdates | undefined) => {
    if (written === undefined) return
    const { body, template, ...rest } = written
    bodies.update(body)
    collected.push({ ...rest, template: compressTemplate(template) })
    batches++
    users += rest.users
  }
  // One object is reused for all users, because creating a million takes as long as writing their bodies.
  const user: UserAt = { source: Buffer.alloc(0), key: 0, identifiers: 0, stride, count: 0 }
  try {
    for await (const records of recordBuffers(tx, load)) {
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
      if (collected.length >= batchesAtATime) await write()
    }
    take(writer.finish())
    if (collected.length > 0) await write()
  } finally {
    // Throws the error of a failed COPY, which is the cause of any other error. The connection must be free before the rollback.
    await writing
  }
  return {
    batches: before.batches + batches,
    entries: { ...before.entries, create: before.entries.create + users },
    bodies,
    requests: { ...before.requests, [limitClass]: (before.requests[limitClass] ?? 0) + batches },
  }
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
async function* recordBuffers(tx: Transaction, { destinationId, shared, range }: LoadToFreeze): AsyncGenerator<Buffer> {
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

async function writeBatches(tx: Transaction, load: LoadToFreeze, batches: readonly LoadedBatch[], firstSeq: number): Promise<void> {
  const { planId, destinationId, loadId, terms } = load
  const ids = await reserveBatchIds(tx, batches.length)
  const stored = batches.map((batch, i) => {
    const id = ids[i]
    if (id === undefined) throw new Error('each batch has an id')
    return { ...batch, id, seq: firstSeq + i }
  })
  await copyBatches(
    tx,
    stored.map(({ id, seq, sha256, users, recordKeys }) => ({
      id,
      planId,
      destinationId,
      seq,
      phase: 1,
      operation: 'upsert',
      body: undefined,
      sha256,
      entryCount: users,
      userCount: users,
      expiresAtMs: terms.expiresAtMs,
      load: { id: loadId, firstKey: recordKeys.subarray(0, recordKeyBytes) },
    })),
  )
  crashPoint('plan.batches_written')
  await writeLoadedEntries(
    tx,
    destinationId,
    stored.map(({ id, ...entries }) => ({ ...entries, batchId: id, hash: plainHash, expiresAtMs: terms.expiresAtMs })),
  )
}
