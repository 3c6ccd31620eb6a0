import type { Reject, Warning } from '../../../model/record.ts'
import { quoteArgument } from '../../../format.ts'
import { safe } from '../../terminal/text.ts'
import type { ConsentColumn } from '../../../mapping/members/unmappedColumns.ts'
import { valuesText } from '../../../mapping/consent/consentText.ts'
import { parseConsentAnswer, formatConsentAnswer } from './consentAnswers.ts'
import { columnNames, type Inspection } from './inspection.ts'
import type { InitOptions } from './options.ts'
import type { Destination } from '../../../destinations/destination.ts'

/** Question about a value that only the user knows, and the flag that sets it. */
export interface Question {
  /** The flag that answers the question, with an example: `--map key=COLUMN`. */
  readonly flag: string
  /** Field whose column is missing; undefined for other questions. */
  readonly field?: string
  /** Reason for the question, in a few words. */
  readonly reason: string
  readonly text: string
  /** Answer if the user presses Enter. */
  readonly proposed?: string
  readonly answered: (answer: string) => Partial<InitOptions>
  /** Options that the answer `-` sets; undefined if `-` only skips the question. */
  readonly declined?: Partial<InitOptions>
}

export const shopQuestion: Question = {
  flag: '--shop https://shop.example.com',
  reason: 'the export contains no links',
  text: 'Address of the shop, to build the links of its products (https://…)',
  answered: (shop) => ({ shop }),
}

/**
 * Returns the question for the column of a field. For a field of products, except the id, the answer `=VALUE` sets one value for every row.
 */
export function columnQuestion(field: string, type: Destination, inspection: Inspection, { map, set }: InitOptions): Question {
  const isKey = field === 'key'
  // All products may share a value, but not their id. A shared value does not identify a person.
  const orValue = type.keys === 'products' && field !== type.keyField
  return {
    flag: `--map ${field}=COLUMN`,
    field,
    reason: `no column is called ${field}`,
    text: `Which column is ${field}${isKey ? ', the number or name that identifies a row' : ''}${orValue ? ', or =VALUE for every row' : ''}? There are ${columnNames(inspection)}`,
    answered: (answer) =>
      orValue && answer.startsWith('=') ? { set: { ...set, [field]: answer.slice(1).trim() } } : { map: { ...map, [field]: [answer] } },
  }
}

/**
 * Returns the question about a consent column. `isProposed`: true if the test is certain and some inspected rows pass it; otherwise no
 * answer is proposed.
 */
export function consentQuestion({ column, test, shown }: ConsentColumn, isProposed: boolean, { consent, ignore }: InitOptions): Question {
  const proposed = formatConsentAnswer(test)
  const restriction = test.appliesTo === undefined ? {} : { appliesTo: test.appliesTo }
  return {
    flag: `--consent ${safe(quoteArgument(`${column}=${proposed ?? ''}`))}`,
    reason: `"${safe(column)}" looks like consent`,
    text: `Which values of "${safe(column)}" mean that a person may be reached? ${shown.length === 0 ? 'It contains dates or texts; not:empty means any' : valuesText(shown)} (- if it is not about consent)`,
    ...(proposed !== undefined && isProposed ? { proposed } : {}),
    answered: (given) => ({ consent: [...consent, given === proposed ? test : { ...parseConsentAnswer(column, given), ...restriction }] }),
    declined: { ignore: [...ignore, column] },
  }
}

/** Fields of which a product needs at least one (spec 2.2). */
const identifyingFields: readonly string[] = ['brand', 'gtin', 'mpn']

/**
 * Returns questions for values that at least half of the inspected rows lack: currency, brand, country of phone numbers. `rejects`,
 * `warnings`: of the inspected rows. `optional` has the country if only warnings need it.
 */
export function questionsAbout(
  inspection: Inspection,
  type: Destination,
  rejects: readonly Reject[],
  warnings: readonly Warning[],
  options: InitOptions,
): { readonly required: readonly Question[]; readonly optional: readonly Question[] } {
  const share = (found: readonly { readonly code: string }[], code: string) =>
    found.filter((entry) => entry.code === code).length / inspection.rows.length
  const required: Question[] = []
  const optional: Question[] = []
  if (options.currency === undefined && share(rejects, 'PRICE_CURRENCY_MISSING') >= 0.5)
    required.push({
      flag: '--currency EUR',
      reason: 'the prices have no currency',
      text: 'Currency of the prices, which have none (EUR, USD …)',
      answered: (currency) => ({ currency }),
    })
  if (
    ![...Object.keys(options.map), ...Object.keys(options.set)].some((field) => identifyingFields.includes(field)) &&
    share(rejects, 'IDENTIFIER_MISSING') >= 0.5
  )
    required.push(columnQuestion('brand', type, inspection, options))
  const countryQuestion: Question = {
    flag: '--country DE',
    reason: 'phone numbers cannot be read without a country',
    text: 'Country of the phone numbers, most of which cannot be read without one (DE, US …)',
    answered: (given) => ({ country: given }),
  }
  if (options.country === undefined) {
    if (share(rejects, 'PHONE_COUNTRY_MISSING') >= 0.5) required.push(countryQuestion)
    // A row with a valid email is sent without its unreadable phone number, and gets a warning.
    else if (
      share(
        warnings.filter(({ field }) => field === 'phone_number'),
        'IDENTIFIER_DROPPED',
      ) >= 0.5
    )
      optional.push(countryQuestion)
  }
  return { required, optional }
}
