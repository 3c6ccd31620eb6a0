/**
 * Limits of batched requests (spec 8; docs/spec-notes.md#batches). Destinations create requests of at most this size. The sandbox refuses
 * larger requests, with two exceptions. It accepts more bytes of products. It limits the keys of a delete only with the switch
 * `delete_keys_max`.
 */
export const batchLimits = {
  /**
   * Products of a put, and keys of a delete. The service documents no limit of keys, so deletes have the limit of products. It documents no
   * limit of bytes either. So both requests have the limit of bytes of user uploads.
   */
  products: { entries: 25, bytes: 5_000_000 },
  /** Operations on the users of a custom audience or a do-not-reach list. */
  userOperations: { entries: 2_500, bytes: 5_000_000 },
  campaigns: { entries: 40 },
  lineItems: { entries: 40 },
  targetingCriteria: { entries: 500 },
} as const
