/** Compares sent products with listed ones, after normalization: `12.9 EUR` equals `12.90 EUR`. */
import type { Field } from '../../service/contract/resource.ts'
import { productFields } from '../../service/contract/catalogResources.ts'

export type ProductContent = Readonly<Record<string, unknown>>

export interface FieldDifference {
  readonly field: string
  /** Sent value; null if the field is unset. */
  readonly ours: string | null
  /** Listed value; null if the field is unset. */
  readonly theirs: string | null
}

/** Compared fields: all except `id` and those that the service generates (spec 2.2). */
export const comparedFields: readonly string[] = productFields
  .filter((field) => !isGenerated(field) && field.name !== 'id')
  .map(({ name }) => name)

const normalizers: ReadonlyMap<string, (text: string) => string> = new Map(productFields.map((field) => [field.name, normalizerOf(field)]))

/**
 * Returns the differing fields, in the order of the specification. Null, the empty text and an unset field are equal. Does not compare the
 * fields that `listed` lacks.
 */
export function differingFields(sent: ProductContent, listed: ProductContent): FieldDifference[] {
  const found: FieldDifference[] = []
  for (const field of comparedFields) {
    if (!(field in listed)) continue
    const ours = textOf(sent[field])
    const theirs = textOf(listed[field])
    if (ours === theirs) continue
    const normalize = normalizers.get(field) ?? normalizeText
    if (ours === null || theirs === null || normalize(ours) !== normalize(theirs)) found.push({ field, ours, theirs })
  }
  return found
}

/** Returns a listed product in the form of the mapper's JSON, so that its hash can be compared. */
export function canonicalJsonOf(product: ProductContent): string {
  const fields: Record<string, unknown> = {}
  for (const field of ['id', ...comparedFields].toSorted()) {
    const text = textOf(product[field])
    if (text !== null) fields[field] = field === 'inventory' ? Number(text) : text
  }
  return JSON.stringify(fields)
}

function isGenerated(field: Field): boolean {
  return field.generated === true
}

/** Returns the value as text; null for an unset field, which a service may return as the empty text (docs/spec-notes.md#catalogs). */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  if (typeof value === 'string') return value
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

// Without lookbehinds such as `(?<!0)`, the patterns below would retry at each of many zeros or spaces, and take quadratic time.

function normalizerOf({ name, type, format }: Field): (text: string) => string {
  if (type === 'enum') return normalizeEnum
  if (format === 'price') return normalizePrice
  if (format === 'https-url' || name === 'image_link') return normalizeUrl
  if (format === 'url-list') return (text) => text.split(',').map(normalizeUrl).join(',')
  if (format === 'date-range') return (text) => text.split('/').map(normalizeTime).join('/')
  if (name === 'gtin' || type === 'integer') return withoutLeadingZeros
  if (name === 'product_type' || name === 'google_product_category') return normalizeCategory
  return normalizeText
}

function normalizeText(text: string): string {
  return text.normalize('NFC').replace(/\r\n?/g, '\n').trim()
}

/** Normalizes an enum value: `In_Stock` is `in stock`. */
function normalizeEnum(text: string): string {
  return normalizeText(text)
    .toLowerCase()
    .replace(/[_\s]+/g, ' ')
}

/** Normalizes a price: `0012.50 eur` is `12.5 EUR`. */
function normalizePrice(text: string): string {
  const match = /^(\d+)(?:\.(\d*))?\s*([A-Za-z]{3})$/.exec(normalizeText(text))
  if (match === null) return normalizeText(text)
  const [, whole = '', fraction = '', currency = ''] = match
  const decimals = fraction.replace(/(?<!0)0+$/, '')
  return `${withoutLeadingZeros(whole)}${decimals === '' ? '' : `.${decimals}`} ${currency.toUpperCase()}`
}

/** Normalizes a URL as browsers do (host in lower case, no default port), and writes percent-encoding in upper case. */
function normalizeUrl(text: string): string {
  const url = URL.parse(normalizeText(text))
  return (url?.href ?? normalizeText(text)).replace(/%[0-9a-f]{2}/gi, (hex) => hex.toUpperCase())
}

/** Normalizes a time to UTC, so that `10:00+0100`, `10:00+01:00` and `09:00Z` of one day are equal. */
function normalizeTime(text: string): string {
  const at = Date.parse(normalizeText(text).replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
  return Number.isNaN(at) ? normalizeText(text) : new Date(at).toISOString()
}

/** Normalizes a path of categories: `Home > Mugs` is `Home>Mugs`. */
function normalizeCategory(text: string): string {
  return normalizeText(text).replace(/(?:(?<!\s)\s+)?>\s*/g, '>')
}

/** Normalizes a number without decimals: `0012` is `12`, and `0` stays `0`. */
function withoutLeadingZeros(text: string): string {
  return normalizeText(text).replace(/^0+(?=\d)/, '')
}
