import { rowIdentifiers } from '../../src/db/identifiers.ts'
import { implyingBatch, plainTimes } from '../../src/db/impliedKeys.ts'

/** SQL of all keys of the database as rows of `remote`: stored keys, and keys that records of a first load imply. */
export const everyKey = `(
  select destination_id, key, ref_count, suppressed, group_key, desired_hash, synced_hash, remote_key, expires_at, late_until, synced_at, batch_id,
    refused_code, refused_message from sluice.remote
  union all
  select r.destination_id, i.identifier, 1, false, r.key, ${plainTimes}, case when b.settled then ${plainTimes} end, null,
    case when b.settled then b.expires_at end, null, null, case when b.settled then b.id end, null, null
  from sluice.record r cross join ${implyingBatch('r')} b cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
  where r.load_id is not null)`
