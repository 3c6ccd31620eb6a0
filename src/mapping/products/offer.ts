/** Reads the offer of a product: price, sale price and its period, stock. */
import { parseInstant } from '../instant.ts'
import { firstText } from '../fields.ts'
import { maskedExcerpt } from '../redactPersonalData.ts'
import { trimText } from '../text.ts'
import { parsePrice, type Price, type PriceResult } from './price.ts'
import { RowRejected, type ProductRow } from './productRow.ts'

/**
 * Returns the price.
 *
 * @throws {RowRejected} if the price is missing, invalid, or broken text (`isBroken`), or if `withCurrency` rejects the row
 * @throws {RowRejected} if the price is zero and `options.refuse` names zero_price
 * @throws {TransformError} if a transform fails
 */
export function priceOf(row: ProductRow): Price {
  const text = withCurrency(row, 'price', row.requiredText('price'))
  const parsed = cachedPrice(row, text)
  if ('code' in parsed) {
    throw new RowRejected(parsed.code, 'price', `"${maskedExcerpt(text)}" ${parsed.message}`)
  }
  if (parsed.price.minorUnits === 0n && row.rules.zeroPriceRejected) throw new RowRejected('PRICE_ZERO_REFUSED', 'price', 'is zero')
  if (parsed.price.minorUnits === 0n && !row.rules.allowed.has('zero_price')) row.warn('PRICE_ZERO', 'price', 'is zero')
  if (parsed.warning !== undefined) row.warn(parsed.warning, 'price', `"${maskedExcerpt(text)}" is sent as "${parsed.price.text}"`)
  return parsed.price
}

function cachedPrice({ rules }: ProductRow, text: string): PriceResult {
  const cached = rules.priceMemo.get(text)
  if (cached !== undefined) return cached
  const parsed = parsePrice(text, rules.price)
  rules.priceMemo.set(text, parsed)
  return parsed
}

/**
 * Adds the currency of the row's currency column to a price without one. Returns the price unchanged if the column is missing, or its cell
 * is neither three letters nor a sign such as €.
 *
 * @throws {RowRejected} if the currency column contradicts the currency that `options.default_currency` or the price transform sets
 */
function withCurrency(row: ProductRow, field: 'price' | 'sale_price', text: string): string {
  const { currency } = row.binding
  if (currency === undefined) return text
  const isAmountOnly = !/[^\p{Nd}.,．，'’\s]/u.test(text)
  const pipelineCurrency = isAmountOnly ? row.rules.price.defaultCurrency?.toUpperCase() : currencyOfTransform(row, field, text)
  if (!isAmountOnly && pipelineCurrency === undefined) return text
  const cell = trimText(firstText(row.rawRow.cells[currency.index]) ?? '').toUpperCase()
  const columnCurrency = currencyBySign.get(cell) ?? (/^[A-Z]{3}$/.test(cell) ? cell : undefined)
  if (columnCurrency === undefined) return text
  if (pipelineCurrency !== undefined && pipelineCurrency !== columnCurrency)
    throw new RowRejected(
      'PRICE_CURRENCY_CONFLICT',
      field,
      `is in ${columnCurrency} by the column "${maskedExcerpt(currency.name)}", but the pipeline sets ${pipelineCurrency}`,
    )
  return isAmountOnly ? `${text} ${columnCurrency}` : text
}

/** Returns the currency that the field's price transform sets, if the price ends with it; else undefined. */
function currencyOfTransform(row: ProductRow, field: 'price' | 'sale_price', text: string): string | undefined {
  const currency = row.binding[field]?.mapping.transforms.find(({ name }) => name === 'price')?.args['currency']
  return typeof currency === 'string' && text.endsWith(currency) ? currency : undefined
}

/** Sign in a currency column → its currency. `$` and `¥` are absent, because several currencies use them. */
const currencyBySign: ReadonlyMap<string, string> = new Map([
  ['€', 'EUR'],
  ['£', 'GBP'],
])

/** Sale price and its period `start/end` as they are sent. */
export interface Sale {
  readonly price: string | undefined
  readonly period: string | undefined
}

/**
 * Returns the sale price and its period. If the period is invalid, both are left out with a warning. The sale price alone would be
 * advertised immediately and without an end.
 *
 * @throws {RowRejected} as `salePriceOf` and `salePeriodOf`
 */
export function saleOf(row: ProductRow, price: Price): Sale {
  const salePrice = salePriceOf(row, price)
  const period = salePeriodOf(row)
  if (typeof period !== 'object') return { price: salePrice, period }
  const leftOut = salePrice === undefined ? 'it was left out' : 'it was left out, and sale_price with it'
  row.warn('SALE_DATE_DROPPED', 'sale_price_effective_date', `${period.invalid}; ${leftOut}`)
  return { price: undefined, period: undefined }
}

/**
 * Returns the sale price as it is sent; undefined for an empty cell. Also undefined, with a warning, for a placeholder, a failed transform,
 * an invalid sale price or a fault of `salePriceFault`.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`), or if `withCurrency` rejects the row
 */
function salePriceOf(row: ProductRow, price: Price): string | undefined {
  const given = row.optionalText('sale_price')
  if (given === undefined) return undefined
  const text = withCurrency(row, 'sale_price', given)
  const parsed = cachedPrice(row, text)
  const fault = 'code' in parsed ? parsed.message : salePriceFault(row, parsed.price, price)
  if (fault !== undefined || 'code' in parsed) {
    row.warn('SALE_PRICE_DROPPED', 'sale_price', `"${maskedExcerpt(text)}" ${fault}`)
    return undefined
  }
  if (parsed.warning !== undefined) row.warn(parsed.warning, 'sale_price', `"${maskedExcerpt(text)}" is sent as "${parsed.price.text}"`)
  return parsed.price.text
}

/** Returns the reason why a sale price cannot be sent beside the price. */
function salePriceFault(row: ProductRow, salePrice: Price, price: Price): string | undefined {
  if (salePrice.minorUnits === 0n && !row.rules.allowed.has('zero_price')) return 'is zero'
  if (salePrice.currency !== price.currency) return 'has another currency than the price'
  return salePrice.minorUnits >= price.minorUnits ? 'is not below the price' : undefined
}

/**
 * Returns the sale period as `start/end`, or the reason why it is not valid. Undefined for an empty cell and, with a warning, for a
 * placeholder. A time without an offset needs `options.timezone`.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`)
 */
function salePeriodOf(row: ProductRow): string | { readonly invalid: string } | undefined {
  const text = row.optionalText('sale_price_effective_date')
  if (text === undefined) return row.transformFailed('sale_price_effective_date') ? { invalid: 'cannot be read' } : undefined
  const [from = '', to = '', more] = text.split('/').map(trimText)
  if (from === '' || to === '' || more !== undefined) return { invalid: `"${maskedExcerpt(text)}" is not two times with / between them` }
  const { timezone } = row.rules.options
  const start = parseInstant(from, undefined, timezone)
  const endTime = parseInstant(to, undefined, timezone)
  if (start === undefined || endTime === undefined) return { invalid: `"${maskedExcerpt(text)}" ${timeFault(from, to)}` }
  if (endTime.ms <= start.ms) return { invalid: `"${maskedExcerpt(text)}" does not end after it starts` }
  const period = `${start.text}/${endTime.text}`
  if (period !== text) row.warn('SALE_DATE_NORMALIZED', 'sale_price_effective_date', `"${maskedExcerpt(text)}" is sent as "${period}"`)
  return period
}

function timeFault(...times: readonly string[]): string {
  if (times.every((time) => parseInstant(time, undefined, 'UTC') !== undefined)) return 'has a time without offset'
  const areDatesOrTimes = times.every((time) => parseInstant(time, 'utc-midnight', 'UTC') !== undefined)
  return areDatesOrTimes ? 'has a date without a time' : 'is not two ISO 8601 times'
}

/**
 * Returns the stock in pieces; undefined for an empty cell. Also undefined, with a warning, for a placeholder, a failed transform, or
 * anything but a whole number from 0 to 2147483647.
 *
 * @throws {RowRejected} if the stock is below 1 and `availability` is `in stock`, or if the text is broken (`isBroken`)
 */
export function inventoryOf(row: ProductRow, availability: string): number | undefined {
  const text = row.optionalText('inventory')
  if (text === undefined) return undefined
  const pieces = /^-?\d{1,12}$/.test(text) ? Number(text) : undefined
  if (pieces !== undefined && pieces < 1 && availability === 'in stock')
    throw new RowRejected('STOCK_CONTRADICTION', 'inventory', `is ${pieces} although the product is in stock`)
  if (pieces !== undefined && pieces >= 0 && pieces <= 2_147_483_647) return pieces
  row.warn('INVENTORY_DROPPED', 'inventory', `"${maskedExcerpt(text)}" is not a whole number from 0 to 2147483647`)
  return undefined
}
