import { currencyDecimals, retiredCurrencies } from './currencies.ts'
import type { RecordCode } from '../rejectCodes.ts'

/** Exact amount: the text that is sent, and the number of minor units such as cents (docs/inputs.md, case 77). */
export interface Price {
  readonly text: string
  readonly minorUnits: bigint
  readonly currency: string
}

/**
 * Parsed price, or the code and message of its fault. `warning`: set if the text that is sent differs from the given text. `message`
 * follows the value: `"12" has no currency`.
 */
export type PriceResult = { readonly price: Price; readonly warning?: RecordCode } | { readonly code: RecordCode; readonly message: string }

export interface PriceOptions {
  /** Currency code of prices that have none. */
  readonly defaultCurrency?: string
  /** True to accept `EUR 12.90`. */
  readonly codeFirstAllowed: boolean
  /** True to read full-width characters, such as `１２．９０`, as ASCII. */
  readonly fullWidthAllowed: boolean
}

/** Matches an amount whose point may separate thousands, as in `150.000 VND`. */
const maybeThousands = /^[1-9]\d{0,2}\.\d{3}$/
const amountFirst = /^(\d+)(?:\.(\d+))?[ \u00a0\u202f\t]*([A-Za-z]{3})?$/
const codeFirst = /^([A-Za-z]{3})[ \u00a0\u202f\t]*(\d+(?:\.\d+)?)$/

// Only these runs are normalized, because NFKC of the whole text would turn `1²` into `12`.
const fullWidthRun = /[\uff01-\uff5e\u3000]+/g

/**
 * Parses a trimmed price. The result has all decimals of the currency: `12.9 EUR` and `12.90EUR` become `12.90 EUR`. Sources: spec 2.2
 * (price); minor units of ISO 4217; docs/inputs.md, cases 69 to 77 and 156 to 159.
 */
export function parsePrice(text: string, options: PriceOptions): PriceResult {
  const plain = options.fullWidthAllowed ? text.replace(fullWidthRun, (run) => run.normalize('NFKC')) : text
  let match = amountFirst.exec(plain)
  if (match === null && options.codeFirstAllowed) {
    const swapped = codeFirst.exec(plain)
    if (swapped !== null) match = amountFirst.exec(`${swapped[2]} ${swapped[1]}`)
  }
  if (match === null) return { code: 'PRICE_INVALID', message: 'is not a decimal number with a currency' }
  const [, whole = '', fraction = '', writtenCurrency] = match
  if (writtenCurrency === undefined && options.defaultCurrency === undefined)
    return { code: 'PRICE_CURRENCY_MISSING', message: 'has no currency' }
  const currency = (writtenCurrency ?? options.defaultCurrency ?? '').toUpperCase()
  const decimalCount = currencyDecimals.get(currency)
  if (decimalCount === undefined) {
    const since = retiredCurrencies.get(currency)
    return {
      code: 'PRICE_CURRENCY_UNKNOWN',
      message: since === undefined ? `has the unknown currency ${currency}` : `has the currency ${currency}, not used since ${since}`,
    }
  }
  // In a currency without decimals, three digits after the point are probably thousands: `150.000 VND` hardly means 150 dong. In other
  // currencies they are decimals: `1.290 EUR` is 1.29 euros (spec 2.2).
  if (decimalCount === 0 && maybeThousands.test(`${whole}.${fraction}`))
    return { code: 'PRICE_INVALID', message: 'may be in thousands: set decimal in a price transform' }
  const significant = fraction.length > decimalCount ? fraction.replace(/(?<!0)0+$/, '') : fraction
  if (significant.length > decimalCount) return { code: 'PRICE_PRECISION', message: `has more than ${decimalCount} decimals` }
  const integer = whole.replace(/^0+(?=\d)/, '')
  if (integer.length > 15) return { code: 'PRICE_INVALID', message: 'has more than 15 digits' }
  const decimals = significant.padEnd(decimalCount, '0')
  const minorUnits = BigInt(integer + decimals)
  const price = { text: `${integer}${decimalCount > 0 ? `.${decimals}` : ''} ${currency}`, minorUnits, currency }
  if (writtenCurrency === undefined) return { price, warning: 'PRICE_CURRENCY_ADDED' }
  return price.text === text ? { price } : { price, warning: 'PRICE_NORMALIZED' }
}
