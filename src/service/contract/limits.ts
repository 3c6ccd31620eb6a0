/**
 * Limits of batched requests (spec 8). Destinations make requests of at most this size. The sandbox refuses larger ones, but does not
 * limit the bytes of products, and the keys of a delete only by the switch `delete_keys_max`.
 */
export const batchLimits = {
  /**
   * Products of a put, and keys of a delete. The service documents no limit of keys, and no limit of bytes for either request. So the
   * limits are those of products, and of bytes in uploads of users.
   */
  products: { entries: 25, bytes: 5_000_000 },
  /** Operations on the users of a custom audience or a do-not-reach list. */
  userOperations: { entries: 2_500, bytes: 5_000_000 },
  campaigns: { entries: 40 },
  lineItems: { entries: 40 },
  targetingCriteria: { entries: 500 },
} as const
