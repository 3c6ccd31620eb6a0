/** One row to one product: every field rule of spec 2.2 with the outcomes of bad-inputs 5 and 8.1. */
import { firstText, type BoundField } from '../fields.ts'
import { parseInstant } from '../instant.ts'
import { showValue } from '../mask.ts'
import type { Cell, Mapped, Row, Warning } from '../record.ts'
import { mendOf, type RecordCode } from '../rejectCodes.ts'
import { cutAtGrapheme, decodeEntities, hasInvisible, isBroken, stripControls, stripHtml, trimText } from '../text.ts'
import { TransformFault } from '../transforms.ts'
import { parseGtin } from './gtin.ts'
import { hostOf, parseImage, parseLink, splitImages } from './links.ts'
import { parsePrice, type Price } from './price.ts'
import type { ProductRules } from './rules.ts'
import { absent, absentBrand, spreadsheet, topCategories, words, type ProductField } from './vocabulary.ts'

export type ProductBinding = Readonly<Partial<Record<ProductField, BoundField>>>

const maxTitle = 150
const maxDescription = 5000
const maxText = 1000
const maxImages = 10

/** Thrown inside one row's mapping only, and caught by `mapProduct`. */
class RowRejected {
  readonly code: RecordCode
  readonly field: string
  readonly message: string
  constructor(code: RecordCode, field: string, message: string) {
    this.code = code
    this.field = field
    this.message = message
  }
}

/** Pure. A required field that is wrong rejects the row, an optional one is left out with a warning. */
export function mapProduct(row: Row, binding: ProductBinding, rules: ProductRules): Mapped {
  const work = new ProductWork(row, binding, rules)
  try {
    const id = work.id()
    work.key = Buffer.from(id)
    const json = work.json(id)
    return { record: { kind: 'product', key: work.key, line: row.line, json }, warnings: work.warnings }
  } catch (error) {
    if (!(error instanceof RowRejected)) throw error
    const { code, field, message } = error
    const reject = { line: row.line, code, field, message: `${field} ${message}`, mend: mendOf(code) }
    return { reject: work.key === undefined ? reject : { ...reject, key: work.key }, warnings: work.warnings }
  }
}

/** The key of a row that is not mapped for another reason; undefined where its id is no id. */
export function productKey(row: Row, binding: ProductBinding, rules: ProductRules): Uint8Array | undefined {
  try {
    return Buffer.from(new ProductWork(row, binding, rules).id())
  } catch (error) {
    if (error instanceof RowRejected) return undefined
    throw error
  }
}

const noWarnings: readonly Warning[] = []

class ProductWork {
  readonly #row: Row
  readonly #binding: ProductBinding
  readonly #rules: ProductRules
  #warnings: Warning[] | undefined
  key: Buffer | undefined

  constructor(row: Row, binding: ProductBinding, rules: ProductRules) {
    this.#row = row
    this.#binding = binding
    this.#rules = rules
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? noWarnings
  }

  id(): string {
    const cell = this.#binding.id?.read(this.#row)
    if (typeof cell === 'object' && new Set(cell.map(trimText)).size > 1)
      throw new RowRejected('ID_INVALID', 'id', `has ${cell.length} values, and which of them is meant nobody can tell`)
    const raw = firstText(cell) ?? ''
    const text = trimText(raw)
    if (text === '') throw new RowRejected('FIELD_MISSING', 'id', 'is missing')
    if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', 'id', 'holds a NUL or half of a character pair')
    if (hasInvisible(text)) throw new RowRejected('ID_INVALID', 'id', 'holds control or invisible characters')
    if (spreadsheet.test(text)) throw new RowRejected('SPREADSHEET_DAMAGE', 'id', `"${showValue(text)}" was changed by a spreadsheet`)
    const id = text.normalize('NFC')
    if (id.length > this.#rules.options.maxIdLength)
      throw new RowRejected('ID_TOO_LONG', 'id', `has ${id.length} characters, ${this.#rules.options.maxIdLength} are allowed`)
    if (id !== raw && raw.trim() !== raw.normalize('NFC').trim()) this.#warn('ID_NORMALIZED', 'id', 'was brought to one Unicode form')
    if (/[/,%\u0080-\uffff]/.test(id)) this.#warn('ID_UNUSUAL', 'id', 'holds separators or characters outside ASCII')
    return id
  }

  /** Fields are judged in the order a person reads them and written in the order of their bytes. */
  json(id: string): string {
    const title = this.#title()
    const description = this.#description()
    const availability = this.#word('availability')
    const condition = this.#word('condition')
    const price = this.#price()
    const link = this.#link()
    const imageLink = this.#image()
    const [brand, gtin, mpn] = this.#identity()
    const inventory = this.#inventory(availability)
    const salePrice = this.#salePrice(price)
    let json = ''
    const add = (field: ProductField, value: string | undefined) => {
      if (value !== undefined) json += `${json === '' ? '' : ','}"${field}":${JSON.stringify(value)}`
    }
    add('additional_image_link', this.#moreImages(imageLink))
    add('age_group', this.#optionalWord('age_group'))
    add('availability', availability)
    add('brand', brand)
    add('color', this.#color())
    add('condition', condition)
    add('custom_label_0', this.#text('custom_label_0'))
    add('custom_label_1', this.#text('custom_label_1'))
    add('custom_label_2', this.#text('custom_label_2'))
    add('custom_label_3', this.#text('custom_label_3'))
    add('custom_label_4', this.#text('custom_label_4'))
    add('description', description)
    add('gender', this.#optionalWord('gender'))
    add('google_product_category', this.#levels('google_product_category'))
    add('gtin', gtin)
    add('id', id)
    add('image_link', imageLink)
    if (inventory !== undefined) json += `,"inventory":${inventory}`
    add('item_group_id', this.#text('item_group_id'))
    add('link', link)
    add('mobile_link', this.#mobileLink())
    add('mpn', mpn)
    add('price', price.text)
    add('product_type', this.#levels('product_type'))
    add('sale_price', salePrice)
    add('sale_price_effective_date', this.#salePeriod())
    add('size', this.#text('size'))
    add('title', title)
    return `{${json}}`
  }

  #raw(field: ProductField): string {
    return firstText(this.#binding[field]?.read(this.#row)) ?? ''
  }

  #warn(code: RecordCode, field: string, message: string): void {
    this.#warnings ??= []
    this.#warnings.push({ line: this.#row.line, code, field, message: `${field} ${message}` })
  }

  #required(field: ProductField): string {
    const text = trimText(this.#raw(field))
    if (text === '') throw new RowRejected('FIELD_MISSING', field, 'is missing')
    if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', field, 'holds a NUL or half of a character pair')
    return text
  }

  /** Trimmed, placeholders absent. */
  #optional(field: ProductField, placeholders: ReadonlySet<string> = absent): string | undefined {
    const text = trimText(firstText(this.#cell(field)) ?? '')
    if (text === '' || (text.length <= 16 && placeholders.has(text.toLowerCase()))) return undefined
    if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', field, 'holds a NUL or half of a character pair')
    return text
  }

  /** Of an optional field: what no transform fits is left out. */
  #cell(field: ProductField): Cell | undefined {
    try {
      return this.#binding[field]?.read(this.#row)
    } catch (error) {
      if (!(error instanceof TransformFault)) throw error
      this.#warn('TRANSFORM_DROPPED', field, `${error.message} (${error.transform})`)
      return undefined
    }
  }

  #clean(field: ProductField, text: string): string {
    let clean = text
    if (clean.includes('&')) {
      const decoded = decodeEntities(clean)
      if (decoded !== clean) this.#warn('ENTITIES_DECODED', field, 'was escaped twice')
      clean = decoded
    }
    const plain = stripControls(clean)
    if (plain !== clean) this.#warn('TEXT_CLEANED', field, 'held control or invisible characters')
    return plain === text ? text : trimText(plain)
  }

  #title(): string {
    const title = this.#clean('title', this.#required('title'))
    if (title === '') throw new RowRejected('FIELD_MISSING', 'title', 'is missing')
    if (spreadsheet.test(title)) throw new RowRejected('SPREADSHEET_DAMAGE', 'title', `"${showValue(title)}" was changed by a spreadsheet`)
    if (title.length <= maxTitle) return title
    if (!this.#rules.allow.has('cut_title'))
      throw new RowRejected('TITLE_TOO_LONG', 'title', `has ${title.length} characters, ${maxTitle} are allowed`)
    this.#warn('TITLE_CUT', 'title', `had ${title.length} characters`)
    return cutAtGrapheme(title, maxTitle)
  }

  #description(): string {
    const clean = this.#clean('description', this.#required('description'))
    const plain = stripHtml(clean)
    if (plain !== clean) this.#warn('DESCRIPTION_HTML', 'description', 'held HTML')
    const description = trimText(plain)
    if (description === '') throw new RowRejected('DESCRIPTION_EMPTY', 'description', 'is empty without its HTML')
    if (description.length <= maxDescription) return description
    if (!this.#rules.allow.has('cut_description'))
      throw new RowRejected('DESCRIPTION_TOO_LONG', 'description', `has ${description.length} characters, ${maxDescription} are allowed`)
    this.#warn('DESCRIPTION_CUT', 'description', `had ${description.length} characters`)
    return cutAtGrapheme(description, maxDescription)
  }

  #word(field: 'availability' | 'condition'): string {
    const text = this.#required(field)
    const word = this.#known(field, text)
    if (word === undefined)
      throw new RowRejected(
        field === 'availability' ? 'AVAILABILITY_UNKNOWN' : 'CONDITION_UNKNOWN',
        field,
        `"${showValue(text)}" is not known`,
      )
    return word
  }

  #optionalWord(field: 'gender' | 'age_group'): string | undefined {
    const text = this.#optional(field)
    if (text === undefined) return undefined
    const word = this.#known(field, text)
    if (word === undefined) this.#warn('VALUE_DROPPED', field, `"${showValue(text)}" is not known`)
    return word
  }

  #known(field: keyof typeof words, text: string): string | undefined {
    if (words[field].has(text)) return text
    const spelled = text.toLowerCase().replace(/[_\s]+/g, ' ')
    const mapped = this.#rules.values.get(field)
    const found = words[field].has(spelled)
      ? spelled
      : (mapped?.get(text.toLowerCase()) ?? mapped?.get(spelled) ?? mapped?.get(text.slice(text.lastIndexOf('/') + 1).toLowerCase()))
    if (found !== undefined) this.#warn('WORD_NORMALIZED', field, `"${showValue(text)}" was written as "${found}"`)
    return found
  }

  #price(): Price {
    const text = this.#required('price')
    const result = parsePrice(text, this.#rules.price)
    if ('code' in result) {
      const message = `"${showValue(text)}" ${result.message}`
      // Told as well where its owner has a run of such prices wait for somebody (bad-inputs 73).
      if (result.code === 'PRICE_ZERO' && this.#rules.zeroHolds) this.#warn('PRICE_ZERO', 'price', message)
      throw new RowRejected(result.code, 'price', message)
    }
    if (result.warning !== undefined) this.#warn(result.warning, 'price', `"${showValue(text)}" was written as "${result.price.text}"`)
    return result.price
  }

  #salePrice(price: Price): string | undefined {
    const text = this.#optional('sale_price')
    if (text === undefined) return undefined
    const result = parsePrice(text, this.#rules.price)
    const fault =
      'code' in result
        ? result.message
        : result.price.currency !== price.currency
          ? 'has another currency than the price'
          : result.price.minor >= price.minor
            ? 'is not below the price'
            : undefined
    if (fault !== undefined || 'code' in result) {
      this.#warn('SALE_PRICE_DROPPED', 'sale_price', `"${showValue(text)}" ${fault}`)
      return undefined
    }
    if (result.warning !== undefined) this.#warn(result.warning, 'sale_price', `"${showValue(text)}" was written as "${result.price.text}"`)
    return result.price.text
  }

  #salePeriod(): string | undefined {
    const text = this.#optional('sale_price_effective_date')
    if (text === undefined) return undefined
    const [from = '', to = '', more] = text.split('/').map(trimText)
    const { timezone } = this.#rules.options
    const start = parseInstant(from, undefined, timezone)
    const end = parseInstant(to, undefined, timezone)
    if (start === undefined || end === undefined || more !== undefined || end.ms < start.ms) {
      this.#warn('SALE_DATE_DROPPED', 'sale_price_effective_date', `"${showValue(text)}" is no period of two times with offset`)
      return undefined
    }
    const period = `${start.text}/${end.text}`
    if (period !== text) this.#warn('SALE_DATE_NORMALIZED', 'sale_price_effective_date', `"${showValue(text)}" was written as "${period}"`)
    return period
  }

  #link(): string {
    const text = this.#required('link')
    const parsed = parseLink(text)
    if ('invalid' in parsed) throw new RowRejected('LINK_INVALID', 'link', parsed.invalid)
    if (parsed.toAscii) this.#warn('LINK_HOST_ASCII', 'link', 'has an international host')
    const { linkHosts } = this.#rules.options
    if (linkHosts !== undefined && !linkHosts.includes(hostOf(parsed.link)))
      this.#warn('LINK_HOST_OTHER', 'link', 'leads to a host that options.link_hosts does not name')
    if (!parsed.http) return parsed.link
    if (!this.#rules.allow.has('upgrade_http')) throw new RowRejected('LINK_NOT_HTTPS', 'link', 'is http, https is required')
    this.#warn('LINK_UPGRADED', 'link', 'was changed to https')
    return `https${parsed.link.slice(4)}`
  }

  #mobileLink(): string | undefined {
    const text = this.#optional('mobile_link')
    if (text === undefined) return undefined
    const parsed = parseLink(text)
    if ('invalid' in parsed || parsed.http) {
      this.#warn('MOBILE_LINK_DROPPED', 'mobile_link', 'invalid' in parsed ? parsed.invalid : 'is http, https is required')
      return undefined
    }
    return parsed.link
  }

  #image(): string {
    const parsed = parseImage(this.#required('image_link'))
    if ('invalid' in parsed) throw new RowRejected('IMAGE_INVALID', 'image_link', parsed.invalid)
    if (parsed.http && this.#rules.httpImagesRefused)
      throw new RowRejected('IMAGE_NOT_HTTPS', 'image_link', 'is http, options.refuse asks for https')
    if (parsed.http) this.#warn('IMAGE_HTTP', 'image_link', 'is http')
    if (parsed.encoded) this.#warn('IMAGE_ENCODED', 'image_link', 'held blanks or commas')
    if (!parsed.typeKnown) this.#warn('IMAGE_TYPE_UNKNOWN', 'image_link', 'does not tell its type')
    return parsed.link
  }

  #moreImages(main: string): string | undefined {
    const cell = this.#cell('additional_image_link')
    if (cell === undefined || cell === '') return undefined
    const texts = typeof cell === 'string' ? splitImages(cell) : cell.flatMap(splitImages)
    const images: string[] = []
    let dropped = 0
    let encoded = false
    for (const text of texts) {
      const trimmed = trimText(text)
      if (trimmed === '' || absent.has(trimmed.toLowerCase())) continue
      const parsed = isBroken(trimmed) ? { invalid: 'broken' } : parseImage(trimmed)
      const refused = 'invalid' in parsed || (parsed.http && this.#rules.httpImagesRefused)
      // Where one column holds all images, the main one is among them.
      if (!refused && parsed.link === main && this.#oneImageColumn()) continue
      if (refused || parsed.link === main || images.includes(parsed.link) || images.length === maxImages) dropped += 1
      else {
        images.push(parsed.link)
        encoded ||= parsed.encoded
      }
    }
    if (dropped > 0)
      this.#warn('IMAGES_DROPPED', 'additional_image_link', `lost ${dropped} addresses: invalid, repeated or beyond the tenth`)
    if (encoded) this.#warn('IMAGE_ENCODED', 'additional_image_link', 'held blanks or commas')
    return images.length === 0 ? undefined : images.join(',')
  }

  #oneImageColumn(): boolean {
    const main = this.#binding.image_link?.indexes ?? []
    return this.#binding.additional_image_link?.indexes.some((index) => main.includes(index)) === true
  }

  /** Brand, gtin and mpn: at least one (spec 2.2; bad-inputs 87 to 89). */
  #identity(): readonly [brand: string | undefined, gtin: string | undefined, mpn: string | undefined] {
    const brand = this.#text('brand', absentBrand)
    const mpn = this.#text('mpn')
    const text = this.#optional('gtin')
    const parsed = text === undefined ? undefined : parseGtin(text)
    if (parsed !== undefined && 'invalid' in parsed) {
      if (brand === undefined && mpn === undefined) throw new RowRejected('GTIN_INVALID', 'gtin', parsed.invalid)
      this.#warn('GTIN_DROPPED', 'gtin', parsed.invalid)
      return [brand, undefined, mpn]
    }
    if (parsed === undefined && brand === undefined && mpn === undefined)
      throw new RowRejected('IDENTIFIER_MISSING', 'brand', 'is absent, and so are gtin and mpn')
    if (parsed?.normalized === true) this.#warn('GTIN_NORMALIZED', 'gtin', 'was written in another form')
    return [brand, parsed?.gtin, mpn]
  }

  #inventory(availability: string): number | undefined {
    const text = this.#optional('inventory')
    if (text === undefined) return undefined
    const whole = /^-?\d{1,12}$/.test(text) ? Number(text) : undefined
    if (whole !== undefined && whole < 1 && availability === 'in stock')
      throw new RowRejected('STOCK_CONTRADICTION', 'inventory', `is ${whole} although the product is in stock`)
    if (whole !== undefined && whole >= 0 && whole <= 2_147_483_647) return whole
    this.#warn('INVENTORY_DROPPED', 'inventory', `"${showValue(text)}" is no whole number from 0 to 2147483647`)
    return undefined
  }

  #color(): string | undefined {
    const color = this.#text('color')
    if (color === undefined || (!/^#[0-9a-f]{3,8}$/i.test(color) && color.length <= 100 && color.split(/[/,;|]/).length <= 10)) return color
    this.#warn('VALUE_DROPPED', 'color', 'is no color word')
    return undefined
  }

  #levels(field: 'google_product_category' | 'product_type'): string | undefined {
    const text = this.#text(field)
    if (text === undefined) return undefined
    if (field === 'google_product_category' && !/^[1-9]\d*$/.test(text) && !topCategories.has(text.split('>', 1)[0]?.trim() ?? ''))
      this.#warn('CATEGORY_UNUSUAL', field, 'is neither a category number nor a path of the taxonomy')
    if (!text.includes('>')) return text
    const levels = text.replace(/\s*>\s*/g, ' > ').trim()
    if (levels !== text) this.#warn('SEPARATOR_NORMALIZED', field, 'was separated anew')
    return levels
  }

  #text(field: ProductField, placeholders?: ReadonlySet<string>): string | undefined {
    const given = this.#optional(field, placeholders)
    if (given === undefined) return undefined
    const text = this.#clean(field, given)
    if (text.length <= maxText) return text === '' ? undefined : text
    this.#warn('VALUE_TOO_LONG', field, `has ${text.length} characters, ${maxText} are allowed`)
    return undefined
  }
}
