/** Checks the type of a targeting criterion. */
import { targetingTypes } from '../../service/contract/campaignResources.ts'
import type { AdsError } from '../refusal.ts'

/** Returns true for a targeting type that the contract lists. */
export function isTargetingType(type: string): boolean {
  return targetingTypes.some((known) => known === type)
}

export function targetingTypeError(type: string): AdsError {
  return {
    code: 'INVALID_TARGETING_TYPE',
    message: `Expected one of ${targetingTypes.join(', ')}, got "${type}" for targeting_type`,
    parameter: 'targeting_type',
    value: type,
  }
}
