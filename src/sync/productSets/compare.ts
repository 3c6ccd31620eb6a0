/** Compares the desired product sets of a pipeline with the sets that Sluice created, and with those that the service lists. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { ListedSet } from '../../destinations/productSets.ts'
import { newestOf, type StoredContent, type StoredSet } from '../../db/productSets.ts'
import type { ProductSetChange } from '../../model/report.ts'

/**
 * Returns the action that gives an existing set its desired content; `unchanged` if it has this content. If type or filters differ, the set
 * is replaced, because the service cannot change them.
 */
export function actionOf(desired: StoredContent, stored: StoredContent): ProductSetChange['action'] {
  if (desired.type !== stored.type || !sameFilters(desired.filters, stored.filters)) return 'replace'
  if (desired.description !== stored.description || desired.name !== stored.name) return 'update'
  if (desired.type === 'FILTERED') return 'unchanged'
  // While a run is planned, `desired` has ids but no product keys. Products that the plan creates get their keys when it is sent.
  const sameKeys = desired.productKeys.length === 0 || isDeepStrictEqual(desired.productKeys, stored.productKeys)
  return sameKeys && isDeepStrictEqual(desired.productIds, stored.productIds) ? 'unchanged' : 'update'
}

/**
 * Returns the action that plan and run show for the set of a rule. `stored`: sets before this run changes them. `needed`: action that the
 * newest set of the rule needs. Another action is shown in these cases:
 *
 * - If the set does not exist, or its create is not confirmed, the action is `create`.
 * - If an older set with the name is not deleted yet, `create` and `unchanged` become `replace`.
 */
export function shownAction(stored: readonly StoredSet[], name: string, needed: ProductSetChange['action']): ProductSetChange['action'] {
  const newest = newestOf(stored, name)
  const action = newest === undefined || newest.state === 'creating' ? 'create' : needed
  const hasOlderSet = stored.some((set) => set.name === name && set !== newest && set.setId !== null)
  return hasOlderSet && (action === 'create' || action === 'unchanged') ? 'replace' : action
}

/**
 * Returns true if a listed set is the result of the unanswered create of `set`. All of these must be true:
 *
 * - The catalog did not list it before the create (`knownIds`).
 * - No stored set has its id. `storedIds`: ids of all stored sets.
 * - It has the name, type and description of the create.
 * - It has the filters of the create. A set that lists its products (`MANUAL`) has none.
 */
export function isResultOf(set: StoredSet, listed: ListedSet, storedIds: ReadonlySet<string>): boolean {
  return (
    set.knownIds !== null &&
    !set.knownIds.includes(listed.id) &&
    !storedIds.has(listed.id) &&
    listed.name === set.content.name &&
    listed.type === set.content.type &&
    listed.description === set.content.description &&
    (set.content.type === 'MANUAL' || (listed.filters !== null && sameFilters(listed.filters, set.content.filters)))
  )
}

/**
 * Returns the stored content of a set with its name and description in the listing. So a change of these texts by another writer is
 * detected and reverted. `listed`: undefined if the listing does not have the set; then the stored content is returned.
 */
export function withListedTexts(stored: StoredContent, listed: ListedSet | undefined): StoredContent {
  if (listed === undefined) return stored
  return { ...stored, name: listed.name ?? '', description: listed.description }
}

/** Returns true if both sets have the same filters, in any order. */
function sameFilters(some: StoredContent['filters'], others: StoredContent['filters']): boolean {
  const texts = (filters: StoredContent['filters']) =>
    filters.map(({ attribute, operator, value }) => JSON.stringify([attribute, operator, value])).toSorted()
  return isDeepStrictEqual(texts(some), texts(others))
}
