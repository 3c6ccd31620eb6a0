/** Reads the people of a first load from the table `stage`, in the order of their record keys. */
import { ValueReader } from '../../db/copyOut.ts'
import { forgetCause, setCause } from '../../db/cursor.ts'
import { concatenated, joinedOf } from '../../db/identifiers.ts'
import { recordContentBytes } from '../../db/records.ts'
import type { Transaction } from '../../db/database.ts'
import { recordKeyBytes } from '../../destinations/updateWriter.ts'
import { stagedKind } from '../read/stageTable.ts'
import { inRange, sentIdentifiers, type FirstLoad, type KeyRange } from './firstLoad.ts'

/** People of one range of record keys. */
export interface StagedPeople {
  /**
   * For each person: content of the record (`recordContentBytes`), length of the identifiers (32 bits), and the identifiers that are sent
   * under the record. If the record is stored already, the length is inverted (`~`), so that it is negative.
   */
  readonly bytes: Buffer
  /** Positions of the people in `bytes`, in the order of their record keys. */
  readonly starts: Uint32Array
}

/** Number of bytes before the identifiers of a person in `StagedPeople.bytes`. */
export const personHeadBytes = recordContentBytes + 4

/** Yields the people of each range; skips empty ranges. Postgres reads the next range while the caller works on these people. */
export async function* stagedPeople(
  { client }: Transaction,
  firstLoad: Pick<FirstLoad, 'hasShared'>,
  ranges: readonly KeyRange[],
): AsyncGenerator<StagedPeople> {
  const values = new ValueReader(client)
  const read = (range: KeyRange) => {
    const people = values.read(peopleIn(range, firstLoad))
    // If the caller stops, nothing awaits this promise. After a failed query the next statement fails too. Then `causeOf` returns the error
    // of the query.
    people.catch((error: unknown) => setCause(client, error))
    return people
  }
  forgetCause(client)
  let reading = read(ranges[0] ?? {})
  for (let next = 1; next <= ranges.length; next++) {
    const bytes = await reading
    const nextRange = ranges[next]
    if (nextRange !== undefined) reading = read(nextRange)
    if (bytes !== undefined) yield { bytes, starts: sortedStarts(bytes) }
  }
}

/**
 * Returns SQL of the people of a range as one `bytea`, because COPY sends each row as a message. The people are not sorted: to sort a
 * million took Postgres 0.6 s, and takes Node 0.1 s.
 */
function peopleIn(range: KeyRange, { hasShared }: Pick<FirstLoad, 'hasShared'>): string {
  const sentSql = hasShared ? `case when o.key is null then ${joinedOf('r')} else ${concatenated(sentIdentifiers)} end` : joinedOf('r')
  const length = hasShared ? 'case when p.is_stored then ~length(p.sent) else length(p.sent) end' : 'length(p.sent)'
  // The staged row is named `r`, because `sentIdentifiers` uses this name.
  return `select string_agg(p.key || p.hash || int8send(p.line) || int4send(${length}) || p.sent, '')
    from (
      select r.key, r.hash, r.line, ${sentSql} as sent ${hasShared ? ', h.key is not null as is_stored' : ''}
      from stage r ${hasShared ? 'left join omitted o on o.key = r.key left join sharing_record h on h.key = r.key' : ''}
      where r.kind = ${stagedKind.valid} and ${inRange('r.key', range)}) p`
}

const ordinalBits = 20

/**
 * Returns the offsets of the people in `bytes`, in the order of their keys. Sorts 64-bit numbers: the first 44 bits of the key, then 20
 * bits that number the people. Then sorts the keys that agree in 44 bits.
 */
export function sortedStarts(bytes: Buffer): Uint32Array {
  let count = 0
  for (let at = 0; at < bytes.length; at = endOfPerson(bytes, at)) count++
  if (count > 1 << ordinalBits) throw new Error('too many people in one step')
  const positions = new Uint32Array(count)
  const order = new BigUint64Array(count)
  // The lower half of a number comes first on all supported machines (x64 and arm64).
  const halves = new Uint32Array(order.buffer)
  for (let i = 0, at = 0; i < count; i++, at = endOfPerson(bytes, at)) {
    positions[i] = at
    halves[i * 2] = ((bytes.readUInt16BE(at + 4) >>> 4) << ordinalBits) | i
    halves[i * 2 + 1] = bytes.readUInt32BE(at)
  }
  order.sort()
  const starts = new Uint32Array(count)
  for (let i = 0; i < count; i++) starts[i] = positions[(halves[i * 2] ?? 0) & ((1 << ordinalBits) - 1)] ?? 0
  sortEqualPrefixes(bytes, starts, halves)
  return starts
}

/** Sorts the positions of keys with equal first 44 bits by the whole keys. `halves`: the sorted numbers of `sortedStarts`. */
function sortEqualPrefixes(bytes: Buffer, starts: Uint32Array, halves: Uint32Array): void {
  for (let i = 1; i < starts.length; i++) {
    // Equal prefixes are rare. To compare all keys would take as long as the sort.
    const areUpperEqual = halves[i * 2 + 1] === halves[i * 2 - 1]
    const areLowerEqual = (halves[i * 2] ?? 0) >>> ordinalBits === (halves[i * 2 - 2] ?? 0) >>> ordinalBits
    if (!areUpperEqual || !areLowerEqual) continue
    const start = starts[i] ?? 0
    let to = i
    while (to > 0 && compareKeys(bytes, starts[to - 1] ?? 0, start) > 0) {
      starts[to] = starts[to - 1] ?? 0
      to--
    }
    starts[to] = start
  }
}

/** `one`, `other`: positions of two people in `bytes`. */
function compareKeys(bytes: Buffer, one: number, other: number): number {
  return bytes.compare(bytes, other, other + recordKeyBytes, one, one + recordKeyBytes)
}

function endOfPerson(bytes: Buffer, at: number): number {
  return at + personHeadBytes + identifiersLength(bytes, at)
}

export function identifiersLength(bytes: Buffer, at: number): number {
  const length = bytes.readInt32BE(at + recordContentBytes)
  return length < 0 ? ~length : length
}

/** Returns true if the record of the person at `at` is stored already. */
export function isRecordStored(bytes: Buffer, at: number): boolean {
  return bytes.readInt32BE(at + recordContentBytes) < 0
}
