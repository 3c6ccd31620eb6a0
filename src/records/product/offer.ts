/** What a product is sold at: price, sale price and its period, stock. */
import { parseInstant } from '../instant.ts'
import { showValue } from '../mask.ts'
import { trimText } from '../text.ts'
import { parsePrice, type Price } from './price.ts'
import { RowRejected, type ProductRow } from './productRow.ts'

export function priceOf(row: ProductRow): Price {
  const text = row.required('price')
  const result = parsePrice(text, row.rules.price)
  if ('code' in result) {
    const message = `"${showValue(text)}" ${result.message}`
    // Told as well where its owner has a run of such prices wait for somebody (bad-inputs 73).
    if (result.code === 'PRICE_ZERO' && row.rules.zeroHolds) row.warn('PRICE_ZERO', 'price', message)
    throw new RowRejected(result.code, 'price', message)
  }
  if (result.warning !== undefined) row.warn(result.warning, 'price', `"${showValue(text)}" was written as "${result.price.text}"`)
  return result.price
}

export function salePriceOf(row: ProductRow, price: Price): string | undefined {
  const text = row.optional('sale_price')
  if (text === undefined) return undefined
  const result = parsePrice(text, row.rules.price)
  const fault =
    'code' in result
      ? result.message
      : result.price.currency !== price.currency
        ? 'has another currency than the price'
        : result.price.minor >= price.minor
          ? 'is not below the price'
          : undefined
  if (fault !== undefined || 'code' in result) {
    row.warn('SALE_PRICE_DROPPED', 'sale_price', `"${showValue(text)}" ${fault}`)
    return undefined
  }
  if (result.warning !== undefined) row.warn(result.warning, 'sale_price', `"${showValue(text)}" was written as "${result.price.text}"`)
  return result.price.text
}

export function salePeriodOf(row: ProductRow): string | undefined {
  const text = row.optional('sale_price_effective_date')
  if (text === undefined) return undefined
  const [from = '', to = '', more] = text.split('/').map(trimText)
  const { timezone } = row.rules.options
  const start = parseInstant(from, undefined, timezone)
  const end = parseInstant(to, undefined, timezone)
  if (start === undefined || end === undefined || more !== undefined || end.ms < start.ms) {
    row.warn('SALE_DATE_DROPPED', 'sale_price_effective_date', `"${showValue(text)}" is no period of two times with offset`)
    return undefined
  }
  const period = `${start.text}/${end.text}`
  if (period !== text) row.warn('SALE_DATE_NORMALIZED', 'sale_price_effective_date', `"${showValue(text)}" was written as "${period}"`)
  return period
}

export function inventoryOf(row: ProductRow, availability: string): number | undefined {
  const text = row.optional('inventory')
  if (text === undefined) return undefined
  const whole = /^-?\d{1,12}$/.test(text) ? Number(text) : undefined
  if (whole !== undefined && whole < 1 && availability === 'in stock')
    throw new RowRejected('STOCK_CONTRADICTION', 'inventory', `is ${whole} although the product is in stock`)
  if (whole !== undefined && whole >= 0 && whole <= 2_147_483_647) return whole
  row.warn('INVENTORY_DROPPED', 'inventory', `"${showValue(text)}" is no whole number from 0 to 2147483647`)
  return undefined
}
