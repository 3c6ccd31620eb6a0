/** Compares the desired product sets of a pipeline with the sets that Sluice created. Pure functions. */
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
  // The desired content of a plan has no product keys, because products that the plan creates get their keys later.
  const sameKeys = desired.productKeys.length === 0 || isDeepStrictEqual(desired.productKeys, stored.productKeys)
  return sameKeys && isDeepStrictEqual(desired.productIds, stored.productIds) ? 'unchanged' : 'update'
}

/**
 * Returns the action that plan and run show for the set of a rule. It is `needed`, the action that the newest set needs, except in two
 * cases. `create`: the set does not exist, or its create got no answer. `replace` instead of `create` or `unchanged`: an earlier run
 * replaced a set, and has not deleted the old one yet. `stored`: sets before the run.
 */
export function shownAction(stored: readonly StoredSet[], name: string, needed: ProductSetChange['action']): ProductSetChange['action'] {
  const newest = newestOf(stored, name)
  const action = newest === undefined || newest.state === 'creating' ? 'create' : needed
  const hasReplaced = stored.some((set) => set.name === name && set !== newest && set.setId !== null)
  return hasReplaced && (action === 'create' || action === 'unchanged') ? 'replace' : action
}

/**
 * Returns true if a listed set is the result of a create whose answer is missing. Such a set has the name, type, description and filters of
 * the create. It did not exist before, and no other stored set has its id (`owned`).
 */
export function isResultOf(set: StoredSet, listed: ListedSet, owned: ReadonlySet<string>): boolean {
  return (
    set.knownIds !== null &&
    !set.knownIds.includes(listed.id) &&
    !owned.has(listed.id) &&
    listed.name === set.content.name &&
    listed.type === set.content.type &&
    listed.description === set.content.description &&
    (set.content.type === 'MANUAL' || (listed.filters !== null && sameFilters(listed.filters, set.content.filters)))
  )
}

/**
 * Returns the stored content of a set, with the name and description from the listing, so that changes by another writer are detected and
 * reverted. `listed`: the set in the listing; undefined if the listing does not have it.
 */
export function withListed(stored: StoredContent, listed: ListedSet | undefined): StoredContent {
  if (listed === undefined) return stored
  return { ...stored, name: listed.name ?? '', description: listed.description }
}

/** Returns true if both sets have the same filters, in any order. */
function sameFilters(some: StoredContent['filters'], others: StoredContent['filters']): boolean {
  const texts = (filters: StoredContent['filters']) =>
    filters.map(({ attribute, operator, value }) => JSON.stringify([attribute, operator, value])).toSorted()
  return isDeepStrictEqual(texts(some), texts(others))
}
