/**
 * Checks one product by the field rules of spec 2.2. Independent of the checks in `src/mapping`
 * (docs/decisions/independent-implementations.md).
 */
import type { Field } from '../../service/contract/resource.ts'
import { productFields } from '../../service/contract/catalogResources.ts'
import { isCurrencyCode } from '../currencies.ts'
import type { SwitchValue } from '../state/switches.ts'
import { parseTimestamp } from '../timestamps.ts'
import { countCodePoints } from '../text.ts'

const FIELDS: readonly Field[] = productFields

/** Fields of a product in the order of spec 2.2. */
export const PRODUCT_FIELDS: readonly string[] = FIELDS.map(({ name }) => name)

const KNOWN_FIELDS: ReadonlySet<string> = new Set(PRODUCT_FIELDS)
/** Fields with the URL of a page of the shop. The URL must be https. */
export const LINK_FIELDS: readonly string[] = ['link', 'mobile_link']
/** Fields that every product needs. Omits `brand`, `gtin` and `mpn`, because a product needs only one of the three. */
export const REQUIRED_FIELDS: readonly string[] = FIELDS.filter(({ required }) => required === true).map(({ name }) => name)
const ENUMS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  FIELDS.flatMap(({ name, values }) => (values === undefined ? [] : [[name, values]])),
)
const MAX_LENGTH: Readonly<Record<string, number>> = Object.fromEntries(
  FIELDS.flatMap(({ name, maxLength }) => (maxLength === undefined ? [] : [[name, maxLength]])),
)
/** Fields of a product that are set, without `product_key` and `item_group_key`. `inventory` is a number, every other field a text. */
export type StoredProduct = Record<string, string | number>

type LengthUnit = SwitchValue<'length_unit'>
const UNIT_NAMES: Readonly<Record<LengthUnit, string>> = { code_points: 'characters', utf16: 'UTF-16 units', bytes: 'bytes' }

export interface CheckedProduct {
  /** Fields to store if there are no errors. */
  readonly fields: StoredProduct
  /** Texts such as `title: is required`, each with the name of its field. */
  readonly errors: readonly string[]
}

/**
 * Checks a product. Null or an empty text unsets a field. `keptFields`: stored fields that stay if `input` lacks them (the switch
 * `product_put: merge`).
 */
export function checkProduct(
  input: Readonly<Record<string, unknown>>,
  keptFields: StoredProduct | undefined,
  unit: LengthUnit,
): CheckedProduct {
  const errors: string[] = []
  const fields: StoredProduct = { ...keptFields }
  for (const name in input) {
    const value = input[name]
    if (!KNOWN_FIELDS.has(name)) errors.push(`${name}: unknown field`)
    else if (name === 'product_key' || name === 'item_group_key') continue
    else if (value === null || value === undefined || value === '') delete fields[name]
    else if (name === 'inventory') {
      if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2_147_483_647) fields[name] = value
      else errors.push('inventory: must be a whole number from 0 to 2147483647')
    } else if (typeof value === 'string') fields[name] = value
    else errors.push(`${name}: must be a string`)
  }
  checkFields(fields, unit, errors)
  return { fields, errors }
}

function checkFields(fields: StoredProduct, unit: LengthUnit, errors: string[]): void {
  for (const name of REQUIRED_FIELDS)
    if (fields[name] === undefined && !errors.some((error) => error.startsWith(`${name}:`))) errors.push(`${name}: is required`)
  for (const name in ENUMS) {
    const value = fields[name]
    if (value !== undefined && ENUMS[name]?.includes(String(value)) === false)
      errors.push(`${name}: must be one of ${ENUMS[name]?.join(', ') ?? ''}`)
  }
  for (const name in MAX_LENGTH) {
    const value = fields[name]
    const maxLength = MAX_LENGTH[name] ?? 0
    // A UTF-16 unit has at most 3 bytes in UTF-8. So most texts are short enough in every unit, and need no count.
    if (typeof value === 'string' && value.length * 3 > maxLength && lengthOf(value, unit) > maxLength)
      errors.push(`${name}: longer than ${maxLength} ${UNIT_NAMES[unit]}`)
  }
  if (fields['brand'] === undefined && fields['gtin'] === undefined && fields['mpn'] === undefined)
    errors.push('brand: one of brand, gtin, mpn is required')
  for (const name of LINK_FIELDS)
    if (fields[name] !== undefined && !isUrl(String(fields[name]), { httpsOnly: true })) errors.push(`${name}: must be an https URL`)
  const image = fields['image_link']
  if (image !== undefined && !isUrl(String(image))) errors.push('image_link: must be a URL')
  else if (image !== undefined && hasUnsupportedImageType(String(image))) errors.push('image_link: must be a JPG, GIF, WEBP or PNG')
  checkImages(fields['additional_image_link'], errors)
  const description = fields['description']
  if (typeof description === 'string' && hasHtml(description)) errors.push('description: must be plain text without HTML')
  checkStock(fields, errors)
  checkPrices(fields, errors)
  const color = fields['color']
  if (typeof color === 'string' && isHexCode(color)) errors.push('color: must be a word, not a hex code')
}

function checkImages(list: string | number | undefined, errors: string[]): void {
  if (list === undefined) return
  const links = String(list).split(',')
  if (links.length > 10) errors.push('additional_image_link: more than 10 URLs')
  if (links.some((link) => !isUrl(link.trim()))) errors.push('additional_image_link: must be URLs separated by commas')
  else if (links.some((link) => hasUnsupportedImageType(link.trim()))) errors.push('additional_image_link: must be JPG, GIF, WEBP or PNG')
}

function checkStock(fields: StoredProduct, errors: string[]): void {
  const { inventory } = fields
  if (fields['availability'] === 'in stock' && typeof inventory === 'number' && inventory < 1)
    errors.push('inventory: must be 1 or more when availability is in stock')
}

function checkPrices(fields: StoredProduct, errors: string[]): void {
  const price = priceOf(fields['price'])
  const sale = priceOf(fields['sale_price'])
  if (fields['price'] !== undefined && price === undefined) errors.push('price: must be a number, a space and an ISO 4217 code')
  if (fields['sale_price'] !== undefined && sale === undefined) errors.push('sale_price: must be a number, a space and an ISO 4217 code')
  if (price !== undefined && sale !== undefined) {
    if (sale.currency !== price.currency) errors.push('sale_price: must have the currency of price')
    else if (compareDecimals(sale.amount, price.amount) >= 0) errors.push('sale_price: must be lower than price')
  }
  const dates = fields['sale_price_effective_date']
  if (typeof dates === 'string' && !isDateRange(dates))
    errors.push('sale_price_effective_date: must be two ISO 8601 times with offset, the earlier one first, joined by /')
}

/** Splits a price into amount and currency. Returns undefined for any other text. */
function priceOf(value: string | number | undefined): { amount: string; currency: string } | undefined {
  const match = typeof value === 'string' ? /^(\d{1,15}(?:\.\d{1,6})?) ([A-Z]{3})$/.exec(value) : null
  return match !== null && isCurrencyCode(match[2] ?? '') ? { amount: match[1] ?? '', currency: match[2] ?? '' } : undefined
}

/** Compares the amounts of two prices exactly. Returns -1, 0 or 1. */
function compareDecimals(a: string, b: string): number {
  const micro = (text: string): bigint => {
    const [whole = '0', fraction = ''] = text.split('.')
    return BigInt(whole + fraction.padEnd(6, '0'))
  }
  const difference = micro(a) - micro(b)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Returns true for two ISO 8601 times with an offset or `Z`, in order, joined by `/`. */
function isDateRange(text: string): boolean {
  const [from = '', to = '', ...rest] = text.split('/')
  if (rest.length > 0 || ![from, to].every((one) => /^[^T]*T.*(?:Z|[+-]\d{2}(?::?\d{2})?)$/.test(one))) return false
  const start = parseTimestamp(from)
  const endTime = parseTimestamp(to)
  return start !== undefined && endTime !== undefined && start < endTime
}

/**
 * Returns true for a URL with https or http; with `httpsOnly` only for https. The URL parser is slow, so a regular expression accepts most
 * https URLs first.
 */
function isUrl(text: string, { httpsOnly = false } = {}): boolean {
  if (/^https:\/\/(?![^/?#]*xn--)(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*(?::\d{1,4})?(?:[/?#][\w\-.~!$&'()*+,;=:@/?#%[\]]*)?$/i.test(text))
    return true
  return (isHttps(text) || (!httpsOnly && /^http:\/\//i.test(text))) && !/\s/.test(text) && URL.canParse(text)
}

/** Returns true for a link that begins with `https://`. Ignores case. */
export function isHttps(link: string): boolean {
  return /^https:\/\//i.test(link)
}

/**
 * Returns true if the path has an extension of a known type other than JPG, GIF, WEBP and PNG (spec 2.2). The sandbox does not fetch
 * images, so it accepts unknown extensions.
 */
function hasUnsupportedImageType(url: string): boolean {
  return /^[^/?#]*\/\/[^/\\?#]*[/\\][^?#]*\.(?:svgz?|bmp|tiff?|ico|avif|hei[cf]|psd|pdf|eps|mp4|mov|webm)(?:[?#]|$)/i.test(url)
}

/** Returns true if the text contains an HTML tag, a comment or a doctype. Other uses of `<` are text. */
export function hasHtml(text: string): boolean {
  return text.includes('<') && /<\/?[a-z][a-z0-9]*(?:\s[^<>]*|\/?\s*)>|<!doctype[^<>]*>|<!--/i.test(text)
}

function lengthOf(text: string, unit: LengthUnit): number {
  return unit === 'utf16' ? text.length : unit === 'bytes' ? Buffer.byteLength(text) : countCodePoints(text)
}

/** Returns true for a hex code, also with alpha digits. Without `#`, it needs a digit, because `bad` and `facade` are words. */
function isHexCode(color: string): boolean {
  return /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(color) || (/^(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(color) && /\d/.test(color))
}

/**
 * Returns true for a GTIN of 8, 12, 13 or 14 digits, or an ISBN of 10 characters, with the right check digit. Ignores spaces and hyphens.
 */
export function isGtin(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (/^\d{9}[\dX]$/i.test(digits)) return isIsbn10(digits.toUpperCase())
  return /^(?:\d{8}|\d{12,14})$/.test(digits) && hasRightCheckDigit(digits)
}

/** Returns true if the last digit is the right check digit. Weights from right to left: 1, 3, 1, … (GS1 General Specifications 7.9). */
function hasRightCheckDigit(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const weight = (digits.length - index) % 2 === 0 ? 3 : 1
    sum += Number(digits[index]) * weight
  }
  return sum % 10 === 0
}

function isIsbn10(text: string): boolean {
  let sum = 0
  for (let index = 0; index < 10; index++) sum += (text[index] === 'X' ? 10 : Number(text[index])) * (10 - index)
  return sum % 11 === 0
}
