/** Reads the staged people of a first load in key order (`freezeLoad.ts`). */
import { copyValue } from '../../db/copyOut.ts'
import { forgetCause, setCause } from '../../db/cursor.ts'
import { concatenated, joinedOf } from '../../db/identifiers.ts'
import { recordContentBytes } from '../../db/records.ts'
import type { Transaction } from '../../db/database.ts'
import { stagedKind } from '../read/stageTable.ts'
import { inRange, sentIdentifiers, type FirstLoad, type KeyRange } from './firstLoad.ts'

/**
 * Number of bytes before the identifiers of a person: content of the record, a byte that is 1 if the record is stored already, and the
 * length of the identifiers.
 */
export const personHeadBytes = recordContentBytes + 1 + 4

/**
 * Yields the people of each range that has some, in order: for each person `personHeadBytes` bytes and the identifiers that are sent under
 * the record. Postgres reads the next range while the caller works on these people.
 */
export async function* stagedPeople(
  { client }: Transaction,
  first: Pick<FirstLoad, 'shared'>,
  ranges: readonly KeyRange[],
): AsyncGenerator<Buffer> {
  const read = (range: KeyRange) => {
    const people = copyValue(client, peopleIn(range, first))
    // If the caller stops or fails, this promise is not awaited. The next statement of the transaction then fails too, and `causeOf`
    // returns this error.
    people.catch((error: unknown) => setCause(client, error))
    return people
  }
  forgetCause(client)
  let next = read(ranges[0] ?? {})
  for (let i = 1; i <= ranges.length; i++) {
    const people = await next
    const range = ranges[i]
    if (range !== undefined) next = read(range)
    if (people !== undefined) yield people
  }
}

/**
 * Returns SQL of the people of a range, as one `bytea`, because COPY sends each row as a message. The records of people who share
 * identifiers are stored already, and some of these identifiers are sent under other records.
 */
function peopleIn(range: KeyRange, { shared }: Pick<FirstLoad, 'shared'>): string {
  const sent = shared ? `case when l.key is null then ${joinedOf('r')} else ${concatenated(sentIdentifiers)} end` : joinedOf('r')
  return `select string_agg(p.key || p.hash || int8send(p.line) || ${shared ? 'p.is_stored' : `'\\x00'::bytea`} || int4send(length(p.sent)) || p.sent, '')
    from (
      select r.key, r.hash, r.line, ${sent} as sent ${shared ? `, case when x.key is null then '\\x00'::bytea else '\\x01' end as is_stored` : ''}
      from stage r ${shared ? 'left join omitted l on l.key = r.key left join sharing x on x.key = r.key' : ''}
      where r.kind = ${stagedKind.valid} and ${inRange('r.key', range)} order by r.key) p`
}
