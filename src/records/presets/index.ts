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

/** All presets; where a header fits several, the one that asks for more columns is meant. */
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

/** The preset whose telling columns are all in the header; of several the one that asks for most. */
export function recognizePreset(columns: readonly string[], kind: Preset['kind']): Preset | undefined {
  const names = new Set(columns.map(normalizeHeader))
  const fits = (telling: readonly string[]) => telling.every((column) => names.has(normalizeHeader(column)))
  return presets
    .filter((preset) => preset.kind === kind)
    .flatMap((preset) => [preset.recognize, ...(preset.recognizeAlso ?? [])].filter(fits).map(({ length }) => ({ preset, length })))
    .sort((a, b) => b.length - a.length)[0]?.preset
}
