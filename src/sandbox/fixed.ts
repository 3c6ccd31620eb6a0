/** Records of every new sandbox, always with the same ids. */

/** When everything that a sandbox has from the start was made: fixed, so that a restart with a journal shows the same. */
export const FIRST_DAY = '2026-01-15T12:00:00Z'

export const FIXED_USER = '1001'
export const FIXED_ACCOUNT = '18ce54d4x5t'
export const FIXED_CATALOG = '4001'
export const FIXED_AUDIENCE = '1nmth'
export const FIXED_LIST = '2dnr'
