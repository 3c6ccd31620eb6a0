/**
 * Limits of batched requests (spec 8). Destinations make requests of this size. The sandbox refuses larger ones, but does not limit the
 * bytes of products.
 */
export const batchLimits = {
  /**
   * `products.put`: whole products. The service documents no limit of bytes for products, and none for the keys of a delete request.
   * So a delete has as many keys as a put has products, and the bytes are limited as in uploads of users.
   */
  products: { entries: 25, bytes: 5_000_000 },
  /** Operations on the users of a custom audience or a do-not-reach list. */
  userOperations: { entries: 2_500, bytes: 5_000_000 },
  campaigns: { entries: 40 },
  lineItems: { entries: 40 },
  targetingCriteria: { entries: 500 },
} as const
