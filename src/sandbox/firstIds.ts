/** Ids and creation time of the records that every new sandbox has (docs/sandbox.md#initial-data). */

/** Creation time of the first records. Constant, so that it is the same after a restart. */
export const FIRST_DAY = '2026-01-15T12:00:00Z'

export const FIXED_USER = '1001'
export const FIXED_ACCOUNT = '18ce54d4x5t'
/** Second account of the first user. Has the feature for polls with media. */
export const SECOND_ACCOUNT = '18ce55media'
export const FIXED_CATALOG = '4001'
export const FIXED_AUDIENCE = '1nmth'
/** Do-not-reach list. */
export const FIXED_LIST = '2dnr'
