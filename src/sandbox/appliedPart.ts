/**
 * Part of a request that a fault applies to the state (docs/sandbox.md#faults). The entries of a request are its products, product keys or
 * users.
 *
 * - `none`: nothing
 * - `all`: the whole request
 * - `twice`: the whole request, two times
 * - `first:N`: the first N entries
 * - `half`: the first half of the entries, rounded down
 * - `later:MS`: the whole request, MS milliseconds later; the answer does not wait for it
 * - `only`: the entries whose product id, product key or first identifier is listed
 */
export type AppliedPart = 'none' | 'all' | 'twice' | `first:${number}` | 'half' | `later:${number}` | { readonly only: readonly string[] }

/** Returns how many entries the part applies, counted from the first. `items`: number of entries of the request. */
export function appliedCount(part: Exclude<AppliedPart, object>, items: number): number {
  if (part === 'none') return 0
  if (part === 'half') return Math.floor(items / 2)
  return part.startsWith('first:') ? Math.min(Number(part.slice(6)), items) : items
}

/** Returns the first identifier of a user, by which `only` selects the user; an empty text if there is none. */
export function firstIdentifierOf(user: Readonly<Record<string, readonly string[]>>): string {
  return Object.values(user).find((list) => list.length > 0)?.[0] ?? ''
}
