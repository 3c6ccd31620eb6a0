/** Compares the desired product sets of a pipeline with those that Sluice created and those that the service lists. Pure functions. */
import { isDeepStrictEqual } from 'node:util'
import type { ListedSet } from '../../destinations/productSets.ts'
import { newestOf, type StoredContent, type StoredSet } from '../../db/productSets.ts'
import type { ProductSetChange } from '../../model/report.ts'

/**
 * Returns the action that gives an existing set its desired content; `unchanged` if it has this content. A set whose type or filters differ
 * is replaced, because the service cannot change them.
 */
export function actionOf(desired: StoredContent, stored: StoredContent): ProductSetChange['action'] {
  if (desired.type !== stored.type || !sameFilters(desired.filters, stored.filters)) return 'replace'
  if (desired.description !== stored.description || desired.name !== stored.name) return 'update'
  if (desired.type === 'FILTERED') return 'unchanged'
  // While a run is planned, `desired` has ids but no product keys: products that the plan creates get their keys when it is sent.
  const sameKeys = desired.productKeys.length === 0 || isDeepStrictEqual(desired.productKeys, stored.productKeys)
  return sameKeys && isDeepStrictEqual(desired.productIds, stored.productIds) ? 'unchanged' : 'update'
}

/**
 * Returns the action that plan and run show for the set of a rule: `needed`, the action for its newest set, or another one. A set that does
 * not exist, or whose create is not confirmed, is shown as `create`. If an older set with the name is not deleted yet, `create` and
 * `unchanged` are shown as `replace`. `stored`: sets before this run changes them.
 */
export function shownAction(stored: readonly StoredSet[], name: string, needed: ProductSetChange['action']): ProductSetChange['action'] {
  const newest = newestOf(stored, name)
  const action = newest === undefined || newest.state === 'creating' ? 'create' : needed
  const hasOlderSet = stored.some((set) => set.name === name && set !== newest && set.setId !== null)
  return hasOlderSet && (action === 'create' || action === 'unchanged') ? 'replace' : action
}

/**
 * Returns true if a listed set is the result of the create of `set`, whose answer is missing. It is if the catalog did not list it before the
 * create (`knownIds`), no stored set has its id, and it has the name, type and description of the create, and the filters of one with
 * filters. `storedIds`: ids of all stored sets.
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
 * Returns the stored content of a set with its name and description in the listing, so that a change of these by another writer is detected
 * and reverted. `listed`: undefined if the listing does not have the set; its content is then the stored one.
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
