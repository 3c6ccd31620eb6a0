import { normalizeHeader } from '../fields.ts'
import { googleCustomerMatch } from './googleCustomerMatch.ts'
import { googleShopping } from './googleShopping.ts'
import { hubspot } from './hubspot.ts'
import { klaviyo } from './klaviyo.ts'
import { mailchimp } from './mailchimp.ts'
import { metaCatalog } from './metaCatalog.ts'
import { metaCustomerList } from './metaCustomerList.ts'
import type { Preset } from './preset.ts'
import { salesforce } from './salesforce.ts'
import { shopify } from './shopify.ts'
import { shopifyProducts } from './shopifyProducts.ts'
import { woocommerce } from './woocommerce.ts'
import { woocommerceProducts } from './woocommerceProducts.ts'

export type { Preset } from './preset.ts'

/** All presets. If several fit a header equally well, `recognizePreset` returns the first. */
export const presets: readonly Preset[] = [
  googleShopping,
  metaCatalog,
  shopifyProducts,
  woocommerceProducts,
  shopify,
  woocommerce,
  hubspot,
  salesforce,
  mailchimp,
  klaviyo,
  googleCustomerMatch,
  metaCustomerList,
]

export function presetByName(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}

/**
 * Returns the preset of this record type that fits the header best; undefined if none fits. A preset fits if all conditions hold:
 * - The header has all of its `identifyingColumns`, or all columns of one of its `otherIdentifyingSets`.
 * - The header has no column of its `columnsOfOtherExports`.
 * - If it is an upload template (`isTemplate`), it names at least half of the columns of the header.
 *
 * The preset with the most columns in a fitting set fits best.
 */
export function recognizePreset(columns: readonly string[], records: Preset['records']): Preset | undefined {
  const names = new Set(columns.map(normalizeHeader))
  const hasColumn = (column: string) => names.has(normalizeHeader(column))
  let best: Preset | undefined
  let largestSet = 0
  for (const preset of presets) {
    if (preset.records !== records || preset.columnsOfOtherExports?.some(hasColumn) === true) continue
    if (preset.isTemplate === true && countKnownColumns(preset, [...names]) * 2 < names.size) continue
    for (const required of [preset.identifyingColumns, ...(preset.otherIdentifyingSets ?? [])]) {
      if (required.length <= largestSet || !required.every(hasColumn)) continue
      best = preset
      largestSet = required.length
    }
  }
  return best
}

/** Returns how many columns of the header the preset names. A repeated column counts each time. */
export function countKnownColumns(preset: Preset, columns: readonly string[]): number {
  const { typicalColumns, identifyingColumns, otherIdentifyingSets = [], map, consent = [], ignore = [] } = preset
  const presetColumns = [
    ...typicalColumns,
    ...identifyingColumns,
    ...otherIdentifyingSets.flat(),
    ...ignore,
    ...consent.flatMap((test) => test.columns),
    ...Object.values(map).flatMap((field) => [...field.columns, ...(field.defaultCountry ?? [])]),
  ]
  const names = new Set(presetColumns.map(normalizeHeader))
  return columns.filter((column) => names.has(normalizeHeader(column))).length
}
