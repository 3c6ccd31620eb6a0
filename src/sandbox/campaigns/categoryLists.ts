/** Lists categories in the form of spec 2.5, and placements (docs/spec-notes.md#categories-and-placements). All are invented. */
import { FIRST_DAY } from '../firstIds.ts'
import type { StoredRecord } from '../storedRecord.ts'

/** All business categories. Each IAB code is in one category, so the codes of a line item determine its business categories. */
export const businessCategories: readonly StoredRecord<'businessCategory'>[] = [
  { id: '1t', name: 'Arts and entertainment', iab_categories: ['IAB1', 'IAB1-1', 'IAB1-2'] },
  { id: '1u', name: 'Automotive', iab_categories: ['IAB2', 'IAB2-1', 'IAB2-2'] },
  { id: '1v', name: 'Business', iab_categories: ['IAB3', 'IAB3-1', 'IAB3-4'] },
  { id: '1w', name: 'Education', iab_categories: ['IAB5', 'IAB5-1'] },
  { id: '1x', name: 'Food and drink', iab_categories: ['IAB8', 'IAB8-1', 'IAB8-5'] },
  { id: '1y', name: 'Home and garden', iab_categories: ['IAB10', 'IAB10-1'] },
  { id: '1z', name: 'Sports', iab_categories: ['IAB17', 'IAB17-1'] },
  { id: '20', name: 'Travel', iab_categories: ['IAB20', 'IAB20-1'] },
]

const timestamps = { created_at: FIRST_DAY, updated_at: FIRST_DAY }

/** Categories of publishers, each available in the countries of its `country_codes`. */
export const curatedCategories: readonly StoredRecord<'curatedCategory'>[] = [
  {
    id: 'b0xt',
    name: 'Kitchen and cooking',
    description: 'Cooks and bakers at work.',
    country_codes: ['US', 'GB'],
    publisher_user_ids: ['2001', '2002'],
    videos_monetized_in_last_thirty_days: 1250,
    ...timestamps,
  },
  {
    id: 'b0xu',
    name: 'Outdoor sports',
    description: 'Running, climbing, cycling.',
    country_codes: ['US', 'DE', 'FR'],
    publisher_user_ids: ['2003'],
    videos_monetized_in_last_thirty_days: 830,
    ...timestamps,
  },
  {
    id: 'b0xv',
    name: 'Home design',
    description: 'Rooms and how they were made.',
    country_codes: ['DE'],
    publisher_user_ids: ['2004', '2005'],
    videos_monetized_in_last_thirty_days: 410,
    ...timestamps,
  },
]

/** Sets of placements by product type, for the list of placements. Line items may have other placements. */
export const placements: readonly { readonly product_type: string; readonly placements: readonly (readonly string[])[] }[] = [
  {
    product_type: 'PROMOTED_TWEETS',
    placements: [
      ['ALL_ON_SERVICE'],
      ['SERVICE_PROFILE'],
      ['SERVICE_SEARCH'],
      ['SERVICE_TIMELINE'],
      ['ALL_ON_SERVICE', 'PUBLISHER_NETWORK'],
      ['PUBLISHER_NETWORK'],
    ],
  },
  { product_type: 'PROMOTED_ACCOUNT', placements: [['ALL_ON_SERVICE'], ['SERVICE_TIMELINE']] },
  { product_type: 'MEDIA', placements: [['ALL_ON_SERVICE'], ['PUBLISHER_NETWORK']] },
]
