/** Part of a request that a fault applies to the state (docs/sandbox.md#faults). */

/**
 * Part of the request that is applied to the state. The entries of a request are its products, product keys or users. `twice`: the whole
 * request, two times. `first:N`: the first N entries. `half`: the first half of the entries, rounded down. `later:MS`: the whole request,
 * MS milliseconds later; the answer does not wait. `only`: the entries with these keys.
 */
export type AppliedPart = 'none' | 'all' | 'twice' | `first:${number}` | 'half' | `later:${number}` | { readonly only: readonly string[] }

/** Returns how many of the first entries the part applies, in a request with `items` entries. Returns `items` for `only` and `later`. */
export function appliedCount(part: AppliedPart, items: number): number {
  if (part === 'none') return 0
  if (part === 'half') return Math.floor(items / 2)
  return typeof part === 'string' && part.startsWith('first:') ? Math.min(Number(part.slice(6)), items) : items
}
