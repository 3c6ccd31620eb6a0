/** Expands batches: replaces their row of `batch_entries` by a row of `entry` for each operation (docs/decisions/packed-state.md). */
import { storeBody } from '../batches/bodies.ts'
import type { Queryable } from '../queryable.ts'
import { storeKeysOfBatches } from '../remote/implied.ts'
import type { DbRow } from '../row.ts'
import { bodyColumns, bodyOf, entryColumns, expanded, type BodyRow } from './read.ts'

/**
 * Converts all entries of batches into rows of `entry`, so that each entry can be updated. First stores the whole bodies and the implied
 * keys of the batches (docs/decisions/implied-keys.md). Safe to repeat.
 */
export async function expandEntries(tx: Queryable, batchIds: readonly (number | string)[]): Promise<void> {
  await storeKeysOfBatches(tx, batchIds)
  const rows = await tx.query<DbRow<'batch', 'id'> & BodyRow>(
    `select b.id, ${bodyColumns} from batch b
     where b.id = any($1::bigint[]) and b.body is null and b.id in (select ea.batch_id from batch_entries ea where ea.template is not null)`,
    [batchIds],
  )
  for (const row of rows) await storeBody(tx, row.id, bodyOf(row))
  await tx.execute(
    `with taken as (delete from batch_entries where batch_id = any($1::bigint[]) returning *)
     insert into entry (${entryColumns}) select ${entryColumns} from (${expanded('true', 'taken')}) x`,
    [batchIds],
  )
}
