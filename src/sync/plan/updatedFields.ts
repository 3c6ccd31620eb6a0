/** Counts the changed fields of products, for the review of a plan. */
import type { DesiredContext } from './desired.ts'
import { recordChange } from './planTables.ts'

/** Changed field with its number of products. */
export interface UpdatedField {
  readonly field: string
  readonly count: number
}

/** Number of updates above which the fields are not counted, because that would take seconds. */
const maxUpdates = 20_000

/**
 * Compares the updated products with the stored content, so it must run before the records are updated. Returns the changed fields, the
 * most frequent first; none above `maxUpdates` updates.
 */
export async function updatedFields({ tx, destinationId }: DesiredContext, updates: number): Promise<readonly UpdatedField[]> {
  if (updates === 0 || updates > maxUpdates) return []
  const rows = await tx.query<{ field: string; n: string }>(
    `select f.field, count(*) as n
     from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       cross join lateral (
         select coalesce(a.key, b.key) as field
         from jsonb_each(s.body::jsonb) a full join jsonb_each(r.body::jsonb) b on a.key = b.key
         where a.value is distinct from b.value) f
     where c.what = ${recordChange.update} group by f.field`,
    [destinationId],
  )
  return rows.map(({ field, n }) => ({ field, count: Number(n) })).sort((a, b) => b.count - a.count || a.field.localeCompare(b.field))
}
