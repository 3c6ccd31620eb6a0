/** Limits of batched requests (spec 8): destinations make requests of this size, the sandbox refuses larger ones. */
export const batchLimits = {
  /** `products.put`: whole products. */
  products: { entries: 25 },
  /** Operations on the users of a custom audience or a do-not-reach list. */
  userOperations: { entries: 2_500, bytes: 5_000_000 },
  campaigns: { entries: 40 },
  lineItems: { entries: 40 },
  targetingCriteria: { entries: 500 },
} as const
