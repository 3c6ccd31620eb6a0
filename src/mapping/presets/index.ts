/** All presets, and their recognition by the header of a source. */
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

/** All presets. If a header fits several that require equally many columns, the first is used. */
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

/** Returns the preset with this name, configured or recognized; undefined if there is none. */
export function presetByName(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}

/**
 * Returns the preset for these records that fits the header; undefined if none does. A preset fits if its `recognize`, or a set of
 * `recognizeAlso`, is completely in the header, and no column of `columnsOfOtherExports` is. An upload template must also know at least
 * half of the columns, because its names are common words. If several presets fit, returns the one whose fitting set is the largest.
 */
export function recognizePreset(columns: readonly string[], records: Preset['records']): Preset | undefined {
  const names = new Set(columns.map(normalizeHeader))
  const fits = (required: readonly string[]) => required.every((column) => names.has(normalizeHeader(column)))
  return presets
    .filter(
      (preset) => preset.records === records && !(preset.columnsOfOtherExports ?? []).some((column) => names.has(normalizeHeader(column))),
    )
    .filter((preset) => preset.isTemplate !== true || knownColumns(preset, [...names]) * 2 >= names.size)
    .flatMap((preset) => [preset.recognize, ...(preset.recognizeAlso ?? [])].filter(fits).map(({ length }) => ({ preset, length })))
    .sort((a, b) => b.length - a.length)[0]?.preset
}

/** Returns the number of columns of the header that the preset names anywhere, repeated columns included. */
export function knownColumns(preset: Preset, columns: readonly string[]): number {
  const { sample, recognize, recognizeAlso = [], map, consent = [], irrelevant = [] } = preset
  const own = [
    ...sample,
    ...recognize,
    ...recognizeAlso.flat(),
    ...irrelevant,
    ...consent.flatMap((test) => test.columns),
    ...Object.values(map).flatMap((field) => [...field.columns, ...(field.defaultCountry ?? [])]),
  ]
  const names = new Set(own.map(normalizeHeader))
  return columns.filter((column) => names.has(normalizeHeader(column))).length
}
