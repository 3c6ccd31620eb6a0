import type { DesiredContext } from './sharedDesiredSteps.ts'
import { recordChangeSql } from './planTables.ts'

export interface UpdatedField {
  readonly field: string
  /** Number of products in which it changes. */
  readonly count: number
}

/** Above this number of updates, counting would take seconds. */
const maxUpdates = 20_000

/**
 * Returns the changed fields of updated products, the most frequent first. Empty if `updates`, the number of updated products, is above
 * `maxUpdates`. Must run before the records are updated.
 */
export async function updatedFields({ tx, destinationId }: DesiredContext, updates: number): Promise<readonly UpdatedField[]> {
  if (updates === 0 || updates > maxUpdates) return []
  const rows = await tx.query<{ field: string; n: string }>(
    `select f.field, count(*) as n
     from change c join stage s using (key) join record r on r.destination_id = $1 and r.key = c.key
       cross join lateral (
         select coalesce(staged.key, stored.key) as field
         from jsonb_each(s.body::jsonb) staged full join jsonb_each(r.body::jsonb) stored on staged.key = stored.key
         where staged.value is distinct from stored.value) f
     where c.effect = ${recordChangeSql.update} group by f.field`,
    [destinationId],
  )
  return rows.map(({ field, n }) => ({ field, count: Number(n) })).sort((a, b) => b.count - a.count || a.field.localeCompare(b.field))
}
