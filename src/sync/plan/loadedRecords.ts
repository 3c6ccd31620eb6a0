/** Inserts the records of a first load of people, and reads them back in key order (`freezeLoad.ts`). */
import { copyValue } from '../../db/copyOut.ts'
import { forgetCause, setCause } from '../../db/cursor.ts'
import { concatenated, joinedOf } from '../../db/identifiers.ts'
import { insertAndReturn } from '../../db/records.ts'
import type { DesiredContext } from './desired.ts'
import { inRange, insertLoaded, loadedRows, sentIdentifiers, type FirstLoad, type KeyRange } from './firstLoad.ts'

type Load = Pick<FirstLoad, 'shared' | 'loadId'>

/** Records of one range: for each its key, the number of bytes of the identifiers that it sends (4 bytes), and these identifiers. */
export interface LoadedRecords {
  readonly bytes: Buffer
  /** True for the last range, behind which Postgres inserts nothing. */
  readonly isLast: boolean
}

/**
 * Inserts the records of each range, in order, and yields them in key order. Postgres works on the next range while the caller works on
 * these records. Sends the first statement before it returns.
 */
export function insertedRecords(context: DesiredContext, first: Load, ranges: readonly KeyRange[]): AsyncIterable<LoadedRecords> {
  const { client } = context.tx
  const insert = (range: KeyRange) => {
    const records = (first.shared ? insertAndRead : insertReturning)(context, first, range)
    // If the caller stops or fails, this promise is not awaited. The next statement of the transaction then fails too, and `causeOf`
    // returns this error.
    records.catch((error: unknown) => setCause(client, error))
    return records
  }
  forgetCause(client)
  return eachRange(insert, ranges, insert(ranges[0] ?? {}))
}

async function* eachRange(
  insert: (range: KeyRange) => Promise<Buffer | undefined>,
  ranges: readonly KeyRange[],
  started: Promise<Buffer | undefined>,
): AsyncGenerator<LoadedRecords> {
  let records = started
  for (let i = 1; i <= ranges.length; i++) {
    const bytes = await records
    const range = ranges[i]
    if (range !== undefined) records = insert(range)
    if (bytes !== undefined) yield { bytes, isLast: range === undefined }
  }
}

/** One statement is enough if each record sends all its identifiers. Reading the records again took 0.7 s for a million. */
async function insertReturning(context: DesiredContext, first: Load, range: KeyRange): Promise<Buffer | undefined> {
  return copyValue(
    context.tx.client,
    `with inserted as (${insertAndReturn(context, loadedRows(first, range), 'key, identifiers, joined_identifiers')})
     select string_agg(${bytesOf(joinedOf('i'))}, '') from inserted i`,
  )
}

/** Records that share identifiers are stored already, and send only some of them. */
async function insertAndRead(context: DesiredContext, first: Load, range: KeyRange): Promise<Buffer | undefined> {
  await insertLoaded(context, first, range)
  return copyValue(
    context.tx.client,
    `select string_agg(${bytesOf('i.joined')}, '') from (
       select r.key, case when l.key is null then ${joinedOf('r')} else ${concatenated(sentIdentifiers)} end as joined from record r left join omitted l on l.key = r.key
       where r.destination_id = ${context.destinationId} and ${inRange('r.key', range)} order by r.key) i`,
  )
}

/** Returns SQL of the bytes of record `i`. `joined`: SQL of its concatenated identifiers. */
const bytesOf = (joined: string): string => `i.key || int4send(length(${joined})) || ${joined}`
