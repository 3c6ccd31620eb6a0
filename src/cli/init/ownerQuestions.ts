import type { Reject, Warning } from '../../model/record.ts'
import { safe } from '../text.ts'
import type { ConsentColumn } from '../../mapping/consent/unreadReport.ts'
import { seenText } from '../../mapping/consent/consentText.ts'
import { answeredTest, answerText } from './consentAnswers.ts'
import { listed, type Look } from './look.ts'
import { shellWord, type Kind, type Wishes } from './wishes.ts'

/** Something that only the owner of a source knows, as a question and as a flag. */
export interface Question {
  /** The flag that answers it, with an example: `--map key=COLUMN`. */
  readonly flag: string
  /** The field whose column it asks for. */
  readonly field?: string
  /** Why it is asked, in a few words. */
  readonly reason: string
  readonly text: string
  /** What Enter alone means; `-` declines it. */
  readonly proposed?: string
  /** The wishes with the answer in them. */
  readonly answered: (answer: string) => Partial<Wishes>
  /** The wishes where it is declined, if that is an answer too. */
  readonly declined?: Partial<Wishes>
}

export const shopQuestion: Question = {
  flag: '--shop https://shop.example.com',
  reason: 'the export holds no links',
  text: 'Address of the shop, before the links of its products (https://…)',
  answered: (shop) => ({ shop }),
}

export function columnQuestion(field: string, kind: Kind, look: Look, { map, set }: Wishes): Question {
  const isKey = field === 'key'
  // People differ in all of their fields, products may share some.
  const orValue = kind === 'catalog' && field !== 'id'
  return {
    flag: `--map ${field}=COLUMN`,
    field,
    reason: `no column is called ${field}`,
    text: `Which column is ${field}${isKey ? ', the number or name that tells one row from another' : ''}${orValue ? ', or =VALUE for every row' : ''}? There are ${listed(look)}`,
    answered: (answer) =>
      orValue && answer.startsWith('=') ? { set: { ...set, [field]: answer.slice(1).trim() } } : { map: { ...map, [field]: [answer] } },
  }
}

/** `keeps`: with the proposal some of the rows that were looked at are sent; otherwise it is not proposed. */
export function consentQuestion({ column, test, certain, seen }: ConsentColumn, keeps: boolean, { consent, ignore }: Wishes): Question {
  const proposed = answerText(test)
  const only = test.only === undefined ? {} : { only: test.only }
  return {
    flag: `--consent ${safe(shellWord(`${column}=${proposed ?? ''}`))}`,
    reason: `"${safe(column)}" says who may be reached`,
    text: `Which values of "${safe(column)}" mean that a person may be reached? ${seen.length === 0 ? 'It holds dates or texts; not:empty means any' : seenText(seen)} (- where it decides nothing)`,
    ...(proposed !== undefined && certain && keeps ? { proposed } : {}),
    answered: (given) => ({ consent: [...consent, given === proposed ? test : { ...answeredTest(column, given), ...only }] }),
    declined: { ignore: [...ignore, column] },
  }
}

/** A product needs one of them (spec 2.2). */
const tellingFields: readonly string[] = ['brand', 'gtin', 'mpn']

/** What only the owner knows, and half of the rows or more lack. */
export function questionsAbout(
  look: Look,
  kind: Kind,
  rejects: readonly Reject[],
  warnings: readonly Warning[],
  wishes: Wishes,
): { readonly needed: readonly Question[]; readonly wanted: readonly Question[] } {
  const share = (found: readonly { readonly code: string }[], code: string) =>
    found.filter((one) => one.code === code).length / look.rows.length
  const needed: Question[] = []
  const wanted: Question[] = []
  if (wishes.currency === undefined && share(rejects, 'PRICE_CURRENCY_MISSING') >= 0.5)
    needed.push({
      flag: '--currency EUR',
      reason: 'the prices have no currency',
      text: 'Currency of the prices, which have none (EUR, USD …)',
      answered: (currency) => ({ currency }),
    })
  if (
    ![...Object.keys(wishes.map), ...Object.keys(wishes.set)].some((field) => tellingFields.includes(field)) &&
    share(rejects, 'IDENTIFIER_MISSING') >= 0.5
  )
    needed.push(columnQuestion('brand', kind, look, wishes))
  const country: Question = {
    flag: '--country DE',
    reason: 'phone numbers cannot be read without a country',
    text: 'Country of the phone numbers, most of which cannot be read without one (DE, US …)',
    answered: (given) => ({ country: given }),
  }
  if (wishes.country === undefined) {
    if (share(rejects, 'PHONE_COUNTRY_MISSING') >= 0.5) needed.push(country)
    // Beside an address that serves, a number that cannot be read is left out with a note.
    else if (
      share(
        warnings.filter(({ field }) => field === 'phone_number'),
        'IDENTIFIER_DROPPED',
      ) >= 0.5
    )
      wanted.push(country)
  }
  return { needed, wanted }
}
