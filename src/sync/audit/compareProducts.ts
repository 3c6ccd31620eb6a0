/**
 * A product as we sent it beside what the service lists: field by field, in a form in which one content has one spelling.
 * Pure. A service may write `12.9 EUR` for `12.90 EUR` or an address with its host in lower case; that is no drift.
 */
import type { Field } from '../../service/contract/resource.ts'
import { productFields } from '../../service/contract/resources.ts'

export type ProductContent = Readonly<Record<string, unknown>>

export interface FieldDifference {
  readonly field: string
  /** As sent, and as listed; null where it is unset. */
  readonly ours: string | null
  readonly theirs: string | null
}

/** Fields that we write, without the id. Fields that the service generates are not compared (spec 2.2). */
export const comparedFields: readonly string[] = productFields
  .filter((field) => !isGenerated(field) && field.name !== 'id')
  .map(({ name }) => name)

const forms: ReadonlyMap<string, (text: string) => string> = new Map(productFields.map((field) => [field.name, formOf(field)]))

/** In the order of the specification. Null, the empty text and an unset field are equal; a field that was not returned is not compared. */
export function compareProducts(ours: ProductContent, theirs: ProductContent): FieldDifference[] {
  const found: FieldDifference[] = []
  for (const field of comparedFields) {
    if (!(field in theirs)) continue
    const mine = textOf(ours[field])
    const listed = textOf(theirs[field])
    if (mine === listed) continue
    // Every field has a form.
    const form = forms.get(field)!
    if (mine === null || listed === null || form(mine) !== form(listed)) found.push({ field, ours: mine, theirs: listed })
  }
  return found
}

/** The fields as our records have them: sorted, nothing unset, nothing that the service makes. The text that content is hashed of. */
export function canonicalProduct(product: ProductContent): string {
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

/** An unset field may read as the empty text (docs/spec-notes.md#catalogs). */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined || value === '') return null
  return typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function formOf({ name, type, format }: Field): (text: string) => string {
  if (type === 'enum') return word
  if (format === 'price') return price
  if (format === 'https-url' || name === 'image_link') return address
  if (format === 'url-list') return (text) => text.split(',').map(address).join(',')
  if (format === 'date-range') return (text) => text.split('/').map(moment).join('/')
  if (name === 'gtin' || type === 'integer') return digits
  if (name === 'product_type' || name === 'google_product_category') return (text) => plain(text).replace(/\s*>\s*/g, '>')
  return plain
}

/** Letters composed, line ends alike, no blanks at the ends. */
function plain(text: string): string {
  return text.normalize('NFC').replace(/\r\n?/g, '\n').trim()
}

function word(text: string): string {
  return plain(text)
    .toLowerCase()
    .replace(/[_\s]+/g, ' ')
}

/** `0012.50 eur` is `12.5 EUR`. */
function price(text: string): string {
  const match = /^(\d+)(?:\.(\d*))?\s*([A-Za-z]{3})$/.exec(plain(text))
  if (match === null) return plain(text)
  const [, whole = '', fraction = '', currency = ''] = match
  const decimals = fraction.replace(/0+$/, '')
  return `${whole.replace(/^0+(?=\d)/, '')}${decimals === '' ? '' : `.${decimals}`} ${currency.toUpperCase()}`
}

/** As browsers write it: host in lower case, no default port, other letters percent-encoded; the hex of that in upper case. */
function address(text: string): string {
  const url = URL.parse(plain(text))
  return (url?.href ?? plain(text)).replace(/%[0-9a-f]{2}/gi, (hex) => hex.toUpperCase())
}

/** `+0100` and `+01:00` are one offset, and so are the times of two offsets that are one instant. */
function moment(text: string): string {
  const at = Date.parse(plain(text).replace(/([+-]\d{2})(\d{2})$/, '$1:$2'))
  return Number.isNaN(at) ? plain(text) : new Date(at).toISOString()
}

/** Item numbers are padded to one length or another. */
function digits(text: string): string {
  return plain(text).replace(/^0+(?=\d)/, '')
}
