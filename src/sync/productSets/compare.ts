/** Compares product sets as desired by the pipeline, as stored in the database, and as listed by the service. */
import { isDeepStrictEqual } from 'node:util'
import type { ListedSet } from '../../destinations/productSets.ts'
import { lostKey, newestOf, type StoredContent, type StoredSet } from '../../db/productSets.ts'
import type { ProductSetChange } from '../../model/report.ts'

/**
 * Returns the action that gives an existing set its desired content. A changed type or filter needs `replace`, because the service cannot
 * change these.
 */
export function actionOf(desired: StoredContent, stored: StoredContent): ProductSetChange['action'] {
  if (desired.type !== stored.type || !haveSameFilters(desired.filters, stored.filters)) return 'replace'
  if (desired.description !== stored.description || desired.name !== stored.name) return 'update'
  if (desired.type === 'FILTERED') return 'unchanged'
  // In a plan, `desired` has no product keys, because new products get their keys when the plan is sent. A stored `lostKey` stands for a
  // product that the set may lack at the service.
  const hasSameKeys =
    desired.productKeys.length === 0 ? !stored.productKeys.includes(lostKey) : isDeepStrictEqual(desired.productKeys, stored.productKeys)
  return hasSameKeys && isDeepStrictEqual(desired.productIds, stored.productIds) ? 'unchanged' : 'update'
}

/**
 * Returns the action that a plan and a run show for the rule `name`. `stored`: sets before this run changes them. `needed`: action for the
 * newest set. Returns `needed`, except:
 *
 * - `create`, if no set exists, or the create of the newest set is not confirmed
 * - `replace` instead of `create` or `unchanged`, if an older set of this name is not deleted yet
 */
export function shownAction(stored: readonly StoredSet[], name: string, needed: ProductSetChange['action']): ProductSetChange['action'] {
  const newest = newestOf(stored, name)
  const action = newest === undefined || newest.state === 'creating' ? 'create' : needed
  const hasOlderSet = stored.some((set) => set.name === name && set !== newest && set.setId !== null)
  return hasOlderSet && (action === 'create' || action === 'unchanged') ? 'replace' : action
}

/**
 * Returns true if `listed` is the result of the create of `set`, which got no clear answer. It must not have been listed before the create
 * (`knownIds`), and must not be another stored set (`storedIds`). Compares the content, but not the products of a `MANUAL` set.
 */
export function isResultOf(set: StoredSet, listed: ListedSet, storedIds: ReadonlySet<string>): boolean {
  return (
    set.knownIds !== null &&
    !set.knownIds.includes(listed.id) &&
    !storedIds.has(listed.id) &&
    listed.name === set.content.name &&
    listed.type === set.content.type &&
    listed.description === set.content.description &&
    (set.content.type === 'MANUAL' || (listed.filters !== null && haveSameFilters(listed.filters, set.content.filters)))
  )
}

/**
 * Returns the stored content with the name and description that the service lists. If someone changed them there, they differ from the
 * desired ones, and an update restores them.
 */
export function withListedTexts(stored: StoredContent, listed: ListedSet | undefined): StoredContent {
  if (listed === undefined) return stored
  return { ...stored, name: listed.name ?? '', description: listed.description }
}

/** Compares filters without their order. */
function haveSameFilters(some: StoredContent['filters'], others: StoredContent['filters']): boolean {
  const texts = (filters: StoredContent['filters']) =>
    filters.map(({ attribute, operator, value }) => JSON.stringify([attribute, operator, value])).toSorted()
  return isDeepStrictEqual(texts(some), texts(others))
}
