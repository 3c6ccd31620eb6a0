/**
 * Builds the SQL to read the entries of batches. A batch has either one row of `batch_entries`, only for operations on people, or a row of
 * `entry` for each entry (docs/decisions/packed-state.md). Code that may get both forms reads entries by this SQL. Code that writes an
 * entry expands the batch first (`expand.ts`).
 */
import { identifierBytes } from '../../model/record.ts'
import { fillTemplate } from '../bodyTemplate.ts'
import type { ColumnName, DbRow } from '../row.ts'

/** Returns SQL of an array of the keys that are concatenated in `joined`, SQL of a bytea. */
const keysIn = (joined: string) =>
  `array(select substring(${joined} from eg.at for ${identifierBytes}) from generate_series(1, length(${joined}), ${identifierBytes}) as eg (at))`

/**
 * Returns SQL that expands rows of `batch_entries` to rows with the columns of `entry`. `where`: condition on the row `ea`. `from`: table
 * with the rows.
 */
export const expanded = (
  where: string,
  from = 'batch_entries',
) => `select ea.batch_id, (er.place - 1)::int as ord, ea.destination_id, er.record_key, ${keysIn('er.keys')} as keys,
    coalesce(er.change, ea.changes[1]) as change, coalesce(er.hash, ea.hashes[1]) as hash, ea.expires_at, coalesce(er.users, ea.users[1]) as users,
    (ea.first_offset + sum(coalesce(er.bytes, ea.byte_lengths[1]) + 1) over (partition by ea.batch_id order by er.place)
      - coalesce(er.bytes, ea.byte_lengths[1]) - 1)::int as byte_offset,
    coalesce(er.bytes, ea.byte_lengths[1]) as byte_length, 'pending' as outcome, null::text as code, null::text as message
  from ${from} ea
    cross join lateral unnest(ea.record_keys, ea.keys, ea.changes, ea.hashes, ea.users, ea.byte_lengths) with ordinality
      as er (record_key, keys, change, hash, users, bytes, place)
  where ${where}`

/** Columns of `entry` that a plan writes. */
export const frozenEntryColumns = [
  'batch_id',
  'ord',
  'destination_id',
  'record_key',
  'keys',
  'change',
  'hash',
  'expires_at',
  'users',
  'byte_offset',
  'byte_length',
] as const satisfies ColumnName<'entry'>[]

/** SQL of the columns of `entry`, in the order of `expanded`. */
export const entryColumns = ([...frozenEntryColumns, 'outcome', 'code', 'message'] satisfies ColumnName<'entry'>[]).join(', ')

/**
 * SQL of the outcome of entry `e` of batch `b`. An outcome of the whole batch is not written to each entry. So a pending entry of a settled
 * batch is confirmed, and a pending entry of a superseded batch is superseded.
 */
export const entryOutcome = `case when e.outcome <> 'pending' then e.outcome
  when b.status = 'settled' then 'confirmed' when b.status = 'superseded' then 'superseded' else 'pending' end`

/** SQL of the outcome as reports count it: a pending entry is `ambiguous` while its batch is ambiguous or in flight. */
export const shownOutcome = `case when ${entryOutcome} = 'pending' and b.status in ('ambiguous', 'in_flight') then 'ambiguous' else ${entryOutcome} end`

/** Returns SQL of the entries of a batch, to be joined laterally. `id`: SQL of the batch's id. */
export const entriesOf = (id: string): string =>
  `lateral (select ${entryColumns} from entry where batch_id = ${id} union all ${expanded(`ea.batch_id = ${id}`)})`

/**
 * Returns SQL of the destination, record key, keys, hash and expiry of a batch's entries, to be joined laterally. Takes a third of the
 * time of `entriesOf`.
 */
export const confirmationsOf = (id: string): string =>
  `lateral (
     select eo.destination_id, eo.record_key, eo.keys, eo.hash, eo.expires_at from entry eo where eo.batch_id = ${id}
     union all
     select ea.destination_id, er.record_key, ${keysIn('er.keys')}, coalesce(er.hash, ea.hashes[1]), ea.expires_at
     from batch_entries ea cross join lateral unnest(ea.record_keys, ea.keys, ea.hashes) as er (record_key, keys, hash)
     where ea.batch_id = ${id})`

/** Returns SQL of the number of keys of a batch. `id`: SQL of the batch's id. A key in several entries counts several times. */
export const keyCountOf = (id: string): string =>
  `(coalesce((select sum(cardinality(eo.keys)) from entry eo where eo.batch_id = ${id}), 0)
    + coalesce((select sum(length(er.keys)) / ${identifierBytes} from batch_entries ea cross join lateral unnest(ea.keys) as er (keys)
        where ea.batch_id = ${id}), 0))::int`

/** Returns SQL of all keys of a row of `batch_entries`. `row`: alias of the row. */
export const keysOfRow = (row: string): string =>
  `select substring(er.keys from eg.at for ${identifierBytes}) as key from unnest(${row}.keys) as er (keys)
     cross join lateral generate_series(1, length(er.keys), ${identifierBytes}) as eg (at)`

/**
 * Returns SQL of the columns `key` and `outcome` for each key of a batch, to be joined laterally. `outcome` is the stored outcome of the
 * entry. Faster than `entriesOf`.
 */
export const keysOf = (id: string): string =>
  `lateral (
     select ek.key, eo.outcome from entry eo cross join lateral unnest(eo.keys) as ek (key) where eo.batch_id = ${id}
     union all
     select ek.key, 'pending' from batch_entries ea cross join lateral (${keysOfRow('ea')}) ek where ea.batch_id = ${id})`

/**
 * Returns SQL of the numbers of users of batch `b` with their stored outcome, to be joined laterally. An expanded batch has one row per
 * entry, with the code, the message and the first key of the entry. Any other batch has one row, where these columns are null.
 */
export const usersOf = (b: string): string =>
  `lateral (
     select eo.users, eo.outcome, eo.code, eo.message, eo.keys[1] as key from entry eo where eo.batch_id = ${b}.id
     union all
     select ${b}.user_count, 'pending', null, null, null from batch_entries ea where ea.batch_id = ${b}.id)`

/** Returns SQL of the ids of batches that have entries of these records. `keys`: SQL of an array of record keys. */
export const batchesOfRecords = (destination: string, keys: string): string =>
  `select en.batch_id from entry en where en.destination_id = ${destination} and en.record_key = any(${keys})
   union all
   select ea.batch_id from batch_entries ea where ea.destination_id = ${destination} and exists (
     select from unnest(${keys}) as en (key) where en.key between ea.first_key and ea.last_key and en.key = any(ea.record_keys))`

/**
 * Returns SQL of the ids of batches that have entries with one of these keys. `keys`: SQL of an array of keys. Reads all entries of the
 * destination.
 */
export const batchesOfKeys = (destination: string, keys: string): string =>
  `select en.batch_id from entry en where en.destination_id = ${destination} and en.keys && ${keys}
   union all
   select ea.batch_id from batch_entries ea where ea.destination_id = ${destination} and ${hasKey('ea.keys', keys)}`

/**
 * Returns the SQL condition that one of the entries has one of `keys`. `joined`: SQL of an array with the concatenated keys of each entry.
 */
const hasKey = (joined: string, keys: string) =>
  `exists (select from unnest(${joined}) as er (keys) cross join lateral generate_series(1, length(er.keys), ${identifierBytes}) as eg (at)
     where substring(er.keys from eg.at for ${identifierBytes}) = any(${keys}))`

/** SQL of all keys of a row `ea` of `batch_entries`, in hex, concatenated. */
const joinedKeys = `(select encode(string_agg(ek.keys, ''::bytea), 'hex') from unnest(ea.keys) as ek (keys))`

/** SQL of the columns from which `bodyOf` rebuilds the body of batch `b`. */
export const bodyColumns = `convert_from(b.body, 'UTF8') as body, b.body_sha256,
   (select ea.template from batch_entries ea where ea.batch_id = b.id) as template,
   case when b.body is null then (select ${joinedKeys} from batch_entries ea where ea.batch_id = b.id) end as keys`

/** Columns of `bodyColumns`. */
export type BodyRow = DbRow<'batch', 'body_sha256'> &
  DbRow<'batch_entries', 'template'> & {
    /**
     * Body as text. Null if a template is stored, or if the body was removed. A bytea would be transferred as hex, which is twice as long
     * and must be decoded.
     */
    readonly body: string | null
    readonly keys: string | null
  }

/** Returns the body. @throws {Error} if the body is no longer stored, or if a rebuilt body differs from the frozen one */
export function bodyOf(row: BodyRow): Buffer {
  if (row.body !== null) return Buffer.from(row.body)
  if (row.template === null || row.keys === null) throw new Error('the request body is not stored any more')
  return fillTemplate(row.template, row.keys, row.body_sha256)
}

/**
 * Returns SQL of the last confirmed update, by an earlier plan, of each record that an entry in `o` changes. Its columns are `seq` and
 * `ord` of the entry in `o`, and batch, keys, offset and length of that update. Offset and length are null if the update is in a row of
 * `batch_entries`. `o`: table with entries of one plan. `planId`: SQL of this plan.
 */
export const formerEntries = (o: string, planId: string): string => {
  const changedRecords = `select record_key from ${o} where change <> 'create'`
  const confirmed = (outcome: string) => `b.plan_id <> ${planId} and b.operation = 'upsert' and ${outcome}
    and b.destination_id = (select destination_id from plan where id = ${planId})`
  return `select distinct on (o.seq, o.ord) o.seq, o.ord, e.batch_id, e.keys, e.byte_offset, e.byte_length
    from ${o} o join (
      select e.batch_id, e.record_key, e.keys, e.byte_offset, e.byte_length from entry e join batch b on b.id = e.batch_id
      where e.destination_id = b.destination_id and e.record_key in (${changedRecords}) and ${confirmed(`${entryOutcome} = 'confirmed'`)}
      union all
      select a.batch_id, er.record_key, ${keysIn('er.keys')}, null, null
      from batch_entries a join batch b on b.id = a.batch_id cross join lateral unnest(a.record_keys, a.keys) as er (record_key, keys)
      where a.last_key >= (${changedRecords} order by 1 limit 1) and a.first_key <= (${changedRecords} order by 1 desc limit 1)
        and er.record_key in (${changedRecords}) and ${confirmed(`b.status = 'settled'`)}) e on e.record_key = o.record_key and e.batch_id < o.batch_id
    where o.change <> 'create'
    order by o.seq, o.ord, e.batch_id desc`
}
