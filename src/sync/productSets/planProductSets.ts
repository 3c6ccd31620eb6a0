import type { Queryable } from '../../db/database.ts'
import { decodePlannedSets, storePlannedSets, type PlannedSets } from '../../db/plans.ts'
import { newestOf, type StoredSet } from '../../db/productSets.ts'
import type { DbRow } from '../../db/row.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'
import type { ProductSetChange } from '../../model/report.ts'
import { actionOf, shownAction } from './compare.ts'
import { desiredContent, isProblem, type DesiredSet } from './setContent.ts'

/**
 * Stores the planned changes of product sets with the plan, and returns them. Without rules and stored sets, stores nothing and returns
 * undefined. `stored`: the destination's sets in the database, also those whose create is not confirmed.
 */
export async function planProductSets(
  db: Queryable,
  destinationId: number,
  planId: string,
  rules: readonly ProductSetRule[],
  stored: readonly StoredSet[],
): Promise<PlannedSets | undefined> {
  if (rules.length === 0 && stored.length === 0) return undefined
  const changes: ProductSetChange[] = []
  for (const rule of rules) changes.push(await plannedChangeOf(db, destinationId, rule, stored))
  // One delete for each name. Two stored sets have one name if a set was replaced, and the delete of the older one failed.
  const namesWithoutRule = new Set(stored.map(({ name }) => name)).difference(new Set(rules.map(({ name }) => name)))
  for (const name of namesWithoutRule) changes.push({ name, action: 'delete', outcome: 'planned' })
  const planned = { rules, changes }
  await storePlannedSets(db, planId, planned)
  return planned
}

/** Loads the planned product sets of a stored plan; undefined if it has none. */
export async function loadPlannedSets(db: Queryable, planId: string): Promise<PlannedSets | undefined> {
  const [row] = await db.query<DbRow<'plan', 'product_sets'>>('select product_sets from plan where id = $1', [planId])
  return row === undefined ? undefined : (decodePlannedSets(row.product_sets, planId) ?? undefined)
}

async function plannedChangeOf(
  db: Queryable,
  destinationId: number,
  rule: ProductSetRule,
  stored: readonly StoredSet[],
): Promise<ProductSetChange> {
  const { name } = rule
  const desired = await desiredContent(db, destinationId, rule)
  const needed = neededAction(newestOf(stored, name), desired)
  return { name, action: shownAction(stored, name, needed), outcome: 'planned', ...(isProblem(desired) ? desired : {}) }
}

function neededAction(newest: StoredSet | undefined, desired: DesiredSet): ProductSetChange['action'] {
  if (newest === undefined) return 'create'
  // The set exists, but its rule has a problem. The plan shows an update with this problem.
  return isProblem(desired) ? 'update' : actionOf(desired, newest.content)
}
