/** Named transforms of a mapping. `docs/rejects.md` shows `meaning` and `example`. No argument is a regular expression. */
import type { Transform } from '../model/pipeline.ts'
import type { Fault } from '../model/record.ts'
import { suggestName } from '../suggestName.ts'
import { redactPersonalData } from './redactPersonalData.ts'
import { hintOf } from './rejectCodes.ts'
import { decodeEntities, stripHtml } from './html.ts'
import { trimText } from './text.ts'

/** Transform that a pipeline can name. */
export interface TransformEntry {
  readonly meaning: string
  readonly example: string
  /** Returns the new texts of the field. Throws TransformError if it cannot convert a text. */
  readonly apply: (texts: readonly string[], args: Readonly<Record<string, unknown>>) => string[]
  readonly textArguments?: readonly string[]
  /** Other arguments, whose types only `check` checks. */
  readonly otherArguments?: readonly string[]
  /**
   * Returns the fault of the arguments: `needs "from" as text`. Called only if all given arguments are known, and the given ones of
   * `textArguments` are texts.
   */
  readonly check?: (args: Readonly<Record<string, unknown>>) => string | undefined
}

/**
 * Failure of a transform, or of a function, for one value. The message follows the words "the value": `is not an amount`. The message
 * never contains the value.
 */
export class TransformError extends Error {
  /** Name of the transform, or `function`. */
  readonly transform: string
  /** Field and columns of the value. The reader of the field adds them. */
  readonly appliedTo: { readonly field: string; readonly columns: readonly string[] } | undefined
  constructor(transform: string, message: string, appliedTo?: TransformError['appliedTo']) {
    super(message)
    this.transform = transform
    this.appliedTo = appliedTo
  }
}

/** Converts the failure of a transform to the fault `TRANSFORM_FAILED` of a row. */
export function faultOfTransform({ transform, message, appliedTo }: TransformError): Fault {
  const columns = appliedTo === undefined ? [] : appliedTo.columns.map((column) => `"${redactPersonalData(column)}"`)
  const field = appliedTo?.field ?? transform
  return {
    code: 'TRANSFORM_FAILED',
    field,
    message: `${field}: the value${columns.length === 0 ? '' : ` of ${columns.join(', ')}`} ${message} (${transform})`,
    hint: hintOf('TRANSFORM_FAILED'),
  }
}

/** Returns a check that an argument is given as text. */
const needsText = (name: string) => (args: Readonly<Record<string, unknown>>) =>
  typeof args[name] === 'string' ? undefined : `needs "${name}" as text`
const textOf = (args: Readonly<Record<string, unknown>>, name: string, fallback = ''): string => {
  const value = args[name]
  return typeof value === 'string' ? value : fallback
}

/** Transforms by name. The object has no prototype, so a name such as `constructor` is unknown. */
export const transforms: Readonly<Record<string, TransformEntry>> = Object.assign(Object.create(null), {
  trim: {
    meaning: 'Removes Unicode spaces and zero-width characters at both ends.',
    example: '{ column: Name, transform: trim }   " Red " → "Red"',
    apply: (texts) => texts.map(trimText),
  },
  lower: {
    meaning: 'Converts to lower case, the same in every locale.',
    example: '{ column: State, transform: lower }   "NEW" → "new"',
    apply: (texts) => texts.map((text) => text.toLowerCase()),
  },
  upper: {
    meaning: 'Converts to upper case, the same in every locale.',
    example: '{ column: Currency, transform: upper }   "eur" → "EUR"',
    apply: (texts) => texts.map((text) => text.toUpperCase()),
  },
  replace: {
    meaning: 'Replaces every occurrence of a text (no pattern) by another.',
    example: '{ column: Size, transform: { replace: { from: " cm", to: "" } } }   "12 cm" → "12"',
    check: (args) => needsText('from')(args) ?? (args['from'] === '' ? 'needs "from" with at least one character' : undefined),
    apply: (texts, args) => texts.map((text) => text.replaceAll(textOf(args, 'from'), () => textOf(args, 'to'))),
    textArguments: ['from', 'to'],
  },
  split: {
    meaning: 'Cuts each text at a separator; `part` (from 1) keeps one piece. Pieces are trimmed, empty ones are left out.',
    example: '{ column: Emails, transform: { split: { at: ";" } } }   "a@e.example; b@e.example" → two texts',
    check: (args) => {
      const { at, part } = args
      if (typeof at !== 'string') return needsText('at')(args)
      if (at === '') return 'needs "at" with at least one character'
      const isPart = part === undefined || (Number.isInteger(part) && Number(part) > 0)
      return isPart ? undefined : 'needs part as a number from 1'
    },
    apply: (texts, args) => {
      const part = args['part']
      return texts.flatMap((text) => {
        const pieces = text
          .split(textOf(args, 'at'))
          .map(trimText)
          .filter((piece) => piece !== '')
        return part === undefined ? pieces : pieces.slice(Number(part) - 1, Number(part))
      })
    },
    textArguments: ['at'],
    otherArguments: ['part'],
  },
  join: {
    meaning: 'Joins the texts of all columns, without empty ones, with `with` (default: a space).',
    example: '{ columns: [Price, Currency], transform: { join: { with: " " } } }   "9.99", "EUR" → "9.99 EUR"',
    apply: (texts, args) => {
      const nonEmpty = texts.map(trimText).filter((text) => text !== '')
      return nonEmpty.length === 0 ? [] : [nonEmpty.join(textOf(args, 'with', ' '))]
    },
    textArguments: ['with'],
  },
  map: {
    meaning: 'Replaces whole values, compared trimmed and ignoring case; others stay, or become `otherwise`.',
    example: '{ column: Stock, transform: { map: { values: { yes: in stock, no: out of stock } } } }   "Yes" → "in stock"',
    check: (args) => (isTextMapping(args['values']) ? undefined : 'needs "values" as a mapping from text to text'),
    apply: (texts, args) => {
      const values = valuesByText(args['values'])
      return texts.map((text) => values.get(trimText(text).toLowerCase()) ?? textOf(args, 'otherwise', text))
    },
    textArguments: ['otherwise'],
    otherArguments: ['values'],
  },
  prefix: {
    meaning: 'Puts a text before every value. Empty values, absolute addresses and values that begin with the text stay as they are.',
    example: '{ column: path, transform: { prefix: { with: "https://shop.example" } } }   "/p/1" → "https://shop.example/p/1"',
    check: needsText('with'),
    apply: (texts, args) => {
      const prefix = textOf(args, 'with')
      return texts.map((text) => {
        const plain = trimText(text)
        return plain === '' || plain.startsWith(prefix) || /^https?:\/\//i.test(plain) ? text : prefix + plain
      })
    },
    textArguments: ['with'],
  },
  date: {
    meaning:
      'Reads a date by `form` and writes ISO 8601 with the given `offset` (default Z). The form consists of YYYY, MM and DD, also HH, mm and ss.',
    example:
      '{ column: Joined, transform: { date: { form: "DD.MM.YYYY", offset: "+01:00" } } }   "31.12.2025" → "2025-12-31T00:00:00+01:00"',
    check: (args) => {
      const missing = ['YYYY', 'MM', 'DD'].find((part) => !textOf(args, 'form').includes(part))
      if (missing !== undefined) return needsText('form')(args) ?? `needs "form" with ${missing}`
      return /^(?:Z|[+-]\d{2}:\d{2})$/.test(textOf(args, 'offset', 'Z')) ? undefined : 'needs "offset" as Z or +01:00'
    },
    apply: (texts, args) =>
      texts.map((text) => (trimText(text) === '' ? text : writeDate(trimText(text), textOf(args, 'form'), textOf(args, 'offset', 'Z')))),
    textArguments: ['form', 'offset'],
  },
  price: {
    meaning:
      'Reads an amount with the given `decimal` and `group` separators, and writes `1299.00 EUR`. A currency code or sign may stand before or after the amount.',
    example: '{ column: Preis, transform: { price: { decimal: ",", group: ".", currency: EUR } } }   "1.299,00 €" → "1299.00 EUR"',
    check: (args) => {
      const [decimal, group, currency] = [textOf(args, 'decimal', '.'), textOf(args, 'group'), args['currency']]
      if (!/^\D$/.test(decimal)) return 'needs "decimal" as one character that is not a digit'
      if (decimal === group) return 'needs "decimal" and "group" to differ'
      if (currency !== undefined && !/^[A-Z]{3}$/.test(textOf(args, 'currency'))) return 'needs "currency" as three capital letters'
      return undefined
    },
    apply: (texts, args) => texts.map((text) => (trimText(text) === '' ? text : writePrice(trimText(text), args))),
    textArguments: ['decimal', 'group', 'currency'],
  },
  stock: {
    meaning: 'Turns a number of pieces into the words of availability: in stock above 0, else out of stock. An empty text stays empty.',
    example: '{ column: Qty, transform: stock }   "12" → "in stock"',
    apply: (texts) =>
      texts.map((text) => {
        const pieces = trimText(text)
        if (pieces === '') return text
        if (!/^[+-]?\d{1,12}(?:[.,]0+)?$/.test(pieces)) throw new TransformError('stock', 'is not a whole number of pieces')
        return Number.parseInt(pieces, 10) > 0 ? 'in stock' : 'out of stock'
      }),
  },
  strip_html: {
    meaning: 'Decodes entities once, then removes HTML tags.',
    example: '{ column: Body, transform: strip_html }   "<p>Red &amp; blue</p>" → "Red & blue"',
    apply: (texts) => texts.map((text) => stripHtml(decodeEntities(text))),
  },
  first: {
    meaning: 'Keeps the first text that is not empty.',
    example: '{ columns: [mobile, phone], transform: first }',
    apply: (texts) => {
      const found = texts.find((text) => trimText(text) !== '')
      return found === undefined ? [] : [found]
    },
  },
  digits: {
    meaning: 'Keeps the digits 0 to 9 only.',
    example: '{ column: GTIN, transform: digits }   "400-638" → "400638"',
    apply: (texts) => texts.map((text) => text.replace(/[^0-9]/g, '')),
  },
} satisfies Readonly<Record<string, TransformEntry>>)

/** Returns the fault of the arguments of a transform: `needs "from" as text`. An unknown argument is a fault too. */
export function argumentFault(
  { textArguments = [], otherArguments = [], check }: TransformEntry,
  args: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = [...textArguments, ...otherArguments]
  for (const [name, value] of Object.entries(args)) {
    if (value === undefined) continue
    if (!names.includes(name)) {
      if (names.length === 0) return 'has no arguments'
      const suggestion = suggestName(name, names)
      return `has no argument "${name}"${suggestion === undefined ? ` (its arguments are ${names.join(', ')})` : ` (did you mean "${suggestion}"?)`}`
    }
    if (textArguments.includes(name) && typeof value !== 'string') return `needs "${name}" as text`
  }
  return check?.(args)
}

/**
 * Applies transforms to the texts of a field, in order.
 *
 * @throws {TransformError} if a transform cannot convert a text
 */
export function applyTransforms(texts: readonly string[], list: readonly Transform[]): string[] {
  let current = [...texts]
  for (const { name, args } of list) current = transforms[name]?.apply(current, args) ?? current
  return current
}

function isTextMapping(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((text) => typeof text === 'string')
  )
}

/** Cache of `valuesByText`: `values` of a `map` transform → result. */
const convertedValues = new WeakMap<object, ReadonlyMap<string, string>>()

/** Returns the entries of `values` with trimmed keys in lower case. */
function valuesByText(values: unknown): ReadonlyMap<string, string> {
  if (typeof values !== 'object' || values === null) return new Map()
  const cached = convertedValues.get(values)
  if (cached !== undefined) return cached
  const converted = new Map(Object.entries(values).map(([key, text]) => [trimText(key).toLowerCase(), String(text)]))
  convertedValues.set(values, converted)
  return converted
}

/**
 * Converts a text to ISO 8601. `form` contains YYYY, MM and DD. A part of the time that `form` lacks becomes zero. Does not check that the
 * date exists.
 *
 * @throws {TransformError} if the text does not have the form
 */
function writeDate(text: string, form: string, offset: string): string {
  const parts: Record<string, string> = { YYYY: '', MM: '', DD: '', HH: '00', mm: '00', ss: '00' }
  let at = 0
  for (const piece of form.match(/YYYY|MM|DD|HH|mm|ss|[^]/g) ?? []) {
    if (parts[piece] === undefined) {
      if (text[at] !== piece) throw new TransformError('date', `does not have the form ${form}`)
      at += 1
      continue
    }
    const digits = text.slice(at, at + piece.length)
    if (digits.length !== piece.length || !/^\d+$/.test(digits)) throw new TransformError('date', `does not have the form ${form}`)
    parts[piece] = digits
    at += piece.length
  }
  if (at !== text.length) throw new TransformError('date', `does not have the form ${form}`)
  return `${parts['YYYY']}-${parts['MM']}-${parts['DD']}T${parts['HH']}:${parts['mm']}:${parts['ss']}${offset}`
}

/** Sign in lower case → its only currency. */
const currencyBySign: Readonly<Record<string, string>> = {
  '€': 'EUR',
  '£': 'GBP',
  '₺': 'TRY',
  '₹': 'INR',
  '₽': 'RUB',
  '₩': 'KRW',
  '₪': 'ILS',
  '₴': 'UAH',
  '₫': 'VND',
  '฿': 'THB',
  zł: 'PLN',
  kč: 'CZK',
  ft: 'HUF',
  tl: 'TRY',
  r$: 'BRL',
}
/** Sign in lower case → the currencies that share it. The configured currency must be one of them. */
const currenciesBySharedSign: Readonly<Record<string, string>> = {
  '¥': 'JPY CNY',
  $: 'USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP',
  kr: 'SEK NOK DKK ISK',
  fr: 'CHF XAF XOF',
  rs: 'INR PKR LKR NPR MUR',
  lei: 'RON MDL',
  p: 'PHP RUB BYN',
  // Cyrillic
  р: 'RUB BYN',
  руб: 'RUB BYN',
}

/**
 * Returns an amount in the form `1299.00 EUR`, or `1299.00` if neither the text nor the settings have a currency. The last group must have
 * three digits. Groups between the first and the last have two or three, as in India.
 *
 * @throws {TransformError} if the text is not an amount, or its currency is not clear
 */
function writePrice(text: string, args: Readonly<Record<string, unknown>>): string {
  const decimal = textOf(args, 'decimal', '.')
  const group = plainSigns(textOf(args, 'group'))
  // Currency, amount, `,-` in place of decimals, currency. The search takes quadratic time, and no amount has 200 characters.
  const match = text.length > 200 ? null : /^([^\d\s.,-]{0,4})[\s.]*(\d[\d.,'\s]*?)(?:[.,]-)?\s*([^\d\s,-]{0,4})$/.exec(plainSigns(text))
  if (match === null) throw new TransformError('price', 'is not an amount')
  const [, before = '', amount = '', after = ''] = match
  if (before !== '' && after !== '') throw new TransformError('price', 'has a currency on both sides')
  const [whole = '', ...fraction] = amount.split(decimal)
  // `1.299` with a decimal comma and no group sign may be 1299 or 1.299.
  if (decimal !== '.' && group === '' && /\.\d{3}$/.test(whole)) throw new TransformError('price', 'may be in thousands: set group')
  const grouped = group === '' ? [whole] : whole.split(group)
  const hasValidGroups = grouped.every(
    (part, index) => index === 0 || part.length === 3 || (part.length === 2 && index < grouped.length - 1),
  )
  const joined = [grouped.join(''), ...fraction].join('.')
  // `parsePrice` rejects `150.000 VND`, which may be 150 thousand. If `decimal` is set, it is 150, so one zero is removed: `150.00 VND`.
  const plain = args['decimal'] === undefined ? joined : joined.replace(/(\.\d\d)0$/, '$1')
  if (!hasValidGroups || !/^\d+(?:\.\d+)?$/.test(plain))
    throw new TransformError('price', 'is not an amount with these decimal and group signs')
  const currency = currencyOf((before === '' ? after : before).replace(/\.$/, ''), textOf(args, 'currency'))
  return currency === '' ? plain : `${plain} ${currency}`
}

/** Replaces each white space by a space, curly apostrophes by `'`, and the minus sign U+2212 by `-`. */
function plainSigns(text: string): string {
  return text
    .replace(/[\s\u00a0\u202f]/g, ' ')
    .replace(/[’‘]/g, "'")
    .replaceAll('\u2212', '-')
}

/**
 * Returns the currency of a sign or code. Without one, returns the configured currency, which may be `''`.
 *
 * @throws {TransformError} if the sign is unknown, or if several currencies share it and the configured one is not among them
 */
function currencyOf(sign: string, configured: string): string {
  if (sign === '') return configured
  if (/^[A-Za-z]{3}$/.test(sign) && currenciesBySharedSign[sign.toLowerCase()] === undefined) return sign.toUpperCase()
  const onlyCurrency = currencyBySign[sign.toLowerCase()]
  if (onlyCurrency !== undefined) return onlyCurrency
  if (configured !== '' && currenciesBySharedSign[sign.toLowerCase()]?.split(' ').includes(configured) === true) return configured
  throw new TransformError(
    'price',
    configured === ''
      ? 'has a currency sign that does not stand for exactly one currency; set currency'
      : `has a currency sign that does not stand for ${configured}`,
  )
}
