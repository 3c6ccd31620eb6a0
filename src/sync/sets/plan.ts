/** Plans the product sets of a pipeline: which sets a run creates, changes and deletes. Sends nothing. */
import type { Queryable } from '../../db/database.ts'
import { decodePlannedSets, storePlannedSets, type PlannedSets } from '../../db/plans.ts'
import { loadProductSets, type StoredSet } from '../../db/productSets.ts'
import type { Row } from '../../db/row.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'
import type { ProductSetChange } from '../../model/report.ts'
import { actionOf } from './compare.ts'
import { isProblem, desiredContent } from './setContent.ts'

/** Plans the product sets, stores and returns the changes; undefined if the pipeline has no rules for sets and has created none. */
export async function planProductSets(
  db: Queryable,
  destinationId: number,
  planId: string,
  rules: readonly ProductSetRule[],
): Promise<PlannedSets | undefined> {
  const stored = await loadProductSets(db, destinationId)
  if (rules.length === 0 && stored.length === 0) return undefined
  const changes: ProductSetChange[] = []
  for (const rule of rules) changes.push(await changeOf(db, destinationId, rule, newestOf(stored, rule.name)))
  const names = new Set(rules.map(({ name }) => name))
  for (const { name, state } of stored)
    if (state === 'removing' || !names.has(name)) changes.push({ name, action: 'delete', outcome: 'planned' })
  const planned = { rules, changes }
  await storePlannedSets(db, planId, planned)
  return planned
}

/** Returns the planned product sets of a stored plan; undefined if it has none. */
export async function plannedSetsOf(db: Queryable, planId: string): Promise<PlannedSets | undefined> {
  const [row] = await db.query<Row<'plan', 'product_sets'>>('select product_sets from plan where id = $1', [planId])
  return row === undefined ? undefined : (decodePlannedSets(row.product_sets, planId) ?? undefined)
}

/** Returns the planned change of the set of one rule. */
async function changeOf(db: Queryable, destinationId: number, rule: ProductSetRule, set: StoredSet | undefined): Promise<ProductSetChange> {
  const { name } = rule
  const desired = await desiredContent(db, destinationId, rule)
  const action =
    set === undefined || set.state === 'creating' ? 'create' : isProblem(desired) ? 'unchanged' : actionOf(desired, set.content)
  return { name, action, outcome: 'planned', ...(isProblem(desired) ? desired : {}) }
}

/** Returns the newest stored set of a rule, which is the replacement if a set is being replaced; undefined if there is no set. */
export function newestOf(stored: readonly StoredSet[], name: string): StoredSet | undefined {
  return stored.findLast((set) => set.name === name && set.state !== 'removing')
}
