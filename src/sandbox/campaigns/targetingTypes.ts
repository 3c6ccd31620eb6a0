/** Types of targeting criteria, of line items and of estimates. */
import { targetingTypes } from '../../service/contract/campaignResources.ts'
import type { AdsError } from '../refusal.ts'

export function isTargetingType(type: string): boolean {
  return targetingTypes.some((known) => known === type)
}

/** The error for a type that is not known. */
export function wrongTargetingType(type: string): AdsError {
  return {
    code: 'INVALID_TARGETING_TYPE',
    message: `Expected one of ${targetingTypes.join(', ')}, got "${type}" for targeting_type`,
    parameter: 'targeting_type',
    value: type,
  }
}
