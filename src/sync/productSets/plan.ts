import type { Queryable } from '../../db/database.ts'
import { decodePlannedSets, storePlannedSets, type PlannedSets } from '../../db/plans.ts'
import { newestOf, type StoredSet } from '../../db/productSets.ts'
import type { Row } from '../../db/row.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'
import type { ProductSetChange } from '../../model/report.ts'
import { actionOf, shownAction } from './compare.ts'
import { desiredContent, isProblem, type DesiredSet } from './setContent.ts'

/**
 * Stores the planned changes of product sets with the plan, and returns them. If there are no rules and no stored sets, only returns
 * undefined. `stored`: sets that the pipeline has created.
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
  // One change for each name: if the delete of a replaced set failed, two sets have its name.
  const namesWithoutRule = new Set(stored.map(({ name }) => name)).difference(new Set(rules.map(({ name }) => name)))
  for (const name of namesWithoutRule) changes.push({ name, action: 'delete', outcome: 'planned' })
  const planned = { rules, changes }
  await storePlannedSets(db, planId, planned)
  return planned
}

/** Loads the planned product sets of a stored plan; undefined if it has none. */
export async function loadPlannedSets(db: Queryable, planId: string): Promise<PlannedSets | undefined> {
  const [row] = await db.query<Row<'plan', 'product_sets'>>('select product_sets from plan where id = $1', [planId])
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
  // A rule with a problem is shown as an update, with the problem.
  return isProblem(desired) ? 'update' : actionOf(desired, newest.content)
}
