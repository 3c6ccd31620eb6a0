/** Proposes a consent test for a column, from its name and its values. Pure. */
import type { ConsentTest } from '../../model/pipeline.ts'
import { hasOptOutWords, type ConsentName } from './columnName.ts'
import { isPlaceholderDate, isShowable, looksLikeDate, type ColumnValues, type CountedValue } from './columnValues.ts'
import { consentMeaning, isCheckMark, isDoubtfulYes, isYesOrNo, mayMeanNo, meaningOf, type Meaning } from './words.ts'
import { comparableText } from '../text.ts'

/** Proposed consent test for one column. */
export interface ProposedTest {
  readonly test: ConsentTest
  /** True if the test needs no decision by the user. Otherwise its values may be the placeholder `unknownYes`. */
  readonly certain: boolean
  /** Values of the column for a message, most frequent first. Empty if most are dates, or if they are too many, too long or personal. */
  readonly shown: readonly CountedValue[]
}

/**
 * Placeholder for the values that mean yes, if only the user knows them. The schema of pipeline files rejects it, so that a copied hint
 * sends no row.
 */
export const unknownYes = '<yes>'

/** Pairs of a no and its yes. If all values of a column fail, the proposed test lists their opposites. */
const opposites: readonly (readonly [string, string])[] = [
  ['no', 'yes'],
  ['false', 'true'],
  ['0', '1'],
  ['n', 'y'],
  ['nein', 'ja'],
  ['non', 'oui'],
  ['off', 'on'],
  ['f', 't'],
  ['unsubscribed', 'subscribed'],
  ['non-subscribed', 'subscribed'],
  ['opted out', 'opted in'],
  ['opt-out', 'opt-in'],
  ['opted_out', 'opted_in'],
  ['abgemeldet', 'angemeldet'],
]

/** Values that pass in most columns of this polarity. */
const usualValues: Readonly<Record<ConsentName['polarity'], readonly string[]>> = {
  in: ['yes', 'true', '1'],
  out: ['', 'no', 'false', '0'],
  unclear: ['subscribed'],
}

/** `yes`: a person with this value may be reached. `unknown`: only the user can decide. */
type MayReach = 'yes' | 'no' | 'unknown'

/** Facts about a column that decide what one of its values means. */
interface ColumnFacts {
  readonly polarity: ConsentName['polarity']
  /** False if only the values show that the column is about consent. */
  readonly isNamed: boolean
  /** True if a value is a number code (`isNumberCode`). */
  readonly hasNumberCodes: boolean
  /** True if a value is a check mark. Beside one, an `x` may mean no. */
  readonly hasCheckMarks: boolean
  /** Result of `letterMeaningYes`. */
  readonly letterYes: string | undefined
}

/**
 * Proposes the test of a column: people pass it if they may be reached. `name`: undefined if only the values show that the column is about
 * consent.
 */
export function proposeTest(column: string, name: ConsentName | undefined, values: ColumnValues): ProposedTest {
  const { distinctValues } = values
  if (distinctValues === undefined || values.isMostlyDates) return proposeForDatesOrTexts(column, name, values)
  const facts = factsOf(distinctValues, name)
  const { polarity, hasNumberCodes } = facts
  const valuesWith = (mayReach: MayReach) =>
    withoutRepeats(distinctValues.flatMap(({ value }) => (mayReachOf(value, facts) === mayReach ? [value] : [])))
  const yes = valuesWith('yes')
  const no = valuesWith('no')
  const unknown = valuesWith('unknown')
  const shown = distinctValues.every(({ value }) => isShowable(value)) ? distinctValues : []
  const proposeValues = (passing: readonly string[], certain = false): ProposedTest => ({
    test: { column, values: passing },
    certain,
    shown,
  })
  // The values may be personal data, so the test contains none of them.
  if (shown.length === 0 && distinctValues.length > 0) return proposeValues([polarity === 'out' ? '' : unknownYes])
  if (yes.length > 0) {
    const certain = unknown.length === 0 && !hasNumberCodes && name?.needsFlags !== true
    return proposeValues(yes, certain)
  }
  // Only the user knows the meaning of number codes, of objects and of the letters `O` and `E`. In a column of unclear polarity, this also
  // holds for words such as `yes` or `enabled`. A test that lists them might let people pass who said no.
  const mayMeanYes = (value: string) => isDoubtfulYes(value) || isYesOrNo(value) || (name !== undefined && consentMeaning(value) === 'in')
  if (hasNumberCodes || unknown.some((value) => mayMeanYes(value) || isObject(value))) return proposeValues([unknownYes])
  if (polarity === 'out') return proposeValues(oppositesOf(no, polarity))
  // Values such as customer types, without those that mean no in a consent column, or may mean no.
  const unclassified = unknown.filter((value) => consentMeaning(value) !== 'out' && !mayMeanNo(value) && !hasOptOutWords(value))
  if (unclassified.length === 0) {
    const hasUnknownWord = unknown.some((value) => consentMeaning(value) === undefined)
    return proposeValues(hasUnknownWord ? [unknownYes] : oppositesOf(no, polarity))
  }
  // If all values are unclassified, one of them may be a no in a language that `words.ts` lacks. Then only the user can choose.
  const hasNo = unclassified.length < unknown.length || no.some((value) => meaningOf(value) !== 'empty')
  return proposeValues(name !== undefined && !hasNo ? [unknownYes] : unclassified)
}

function factsOf(distinctValues: readonly CountedValue[], name: ConsentName | undefined): ColumnFacts {
  return {
    polarity: name?.polarity ?? 'unclear',
    isNamed: name !== undefined,
    hasNumberCodes: distinctValues.some(({ value }) => isNumberCode(value)),
    hasCheckMarks: distinctValues.some(({ value }) => isCheckMark(value)),
    letterYes: letterMeaningYes(distinctValues.map(({ value }) => comparableText(value))),
  }
}

/**
 * Returns the letter of the column that means yes: `o` for `oui` beside `n` or `non`, `e` for `evet` beside `h`. Undefined if another
 * letter of the column shows that it means no. Beside `i` (in), `o` means out. Beside `k` (`kyllä`), `e` means no.
 */
function letterMeaningYes(values: readonly string[]): string | undefined {
  if (values.includes('o') && (values.includes('n') || values.includes('non')) && !values.includes('i')) return 'o'
  return values.includes('e') && values.includes('h') && !values.includes('k') ? 'e' : undefined
}

/** Returns true for an object of JSON, such as `{"email":false}`. */
function isObject(value: string): boolean {
  return /^\[?\s{0,9}\{/.test(value)
}

/** Returns true for a number that is not 0, 1 or a date. In a column with such a number, the numbers are codes: 1 may mean anything. */
function isNumberCode(value: string): boolean {
  return isNumber(value) && !/^[01]$/.test(comparableText(value)) && !looksLikeDate(value)
}

function isNumber(value: string): boolean {
  return /^[+-]?\d+(?:[.,]\d+)?$/.test(value)
}

function mayReachOf(value: string, { polarity, isNamed, hasNumberCodes, hasCheckMarks, letterYes }: ColumnFacts): MayReach {
  const text = comparableText(value)
  const isDate = looksLikeDate(value)
  if (hasCheckMarks && text === 'x') return 'unknown'
  if (hasNumberCodes && polarity !== 'out' && isNumber(value) && !isDate) return 'unknown'
  const ownMeaning = isNamed ? consentMeaning(value) : meaningOf(value)
  const meaning = text === letterYes ? 'yes' : ownMeaning
  if (meaning === 'in') {
    // In an opt-out column, `enabled` and `granted` may mean that the opt-out is enabled. In a column of unclear polarity, only `granted`
    // is certainly a consent.
    const meansConsent = polarity === 'in' || (polarity === 'unclear' && meaningOf(value) === 'in')
    return meansConsent ? 'yes' : 'unknown'
  }
  // In an opt-out column, `inactive` could mean that the opt-out is inactive. The value still fails the test, because a wrong guess would
  // send a person who said no.
  if (meaning === 'out') return 'no'
  if (polarity === 'out') {
    if (meaning === 'no' || meaning === 'empty') return 'yes'
    return meaning === 'yes' || isDate || /^\d+$/.test(value) ? 'no' : 'unknown'
  }
  if (meaning === 'empty') return 'no'
  if (polarity === 'unclear') return 'unknown'
  if (meaning === 'yes' || isDate) return 'yes'
  return meaning === 'no' ? 'no' : 'unknown'
}

/**
 * Proposes a test for a column of dates, reasons or texts:
 * - In an opt-out column, empty cells and words such as `no` pass.
 * - In a column of dates, the dates after `earliestConsent` pass. The name of the column must be that of an opt-in, or not about consent.
 * - If such a column also has words that mean yes, or unreadable dates, filled cells without a word against consent pass. This test is
 *   never certain, because an unknown word of a later file would pass. It is proposed only if all rows were counted.
 * - Otherwise, and for dates in the future and unknown words, the value is `unknownYes`: only the user knows which texts mean yes.
 */
function proposeForDatesOrTexts(column: string, name: ConsentName | undefined, values: ColumnValues): ProposedTest {
  const { distinctValues = [] } = values
  const placeholderDates =
    name?.needsYes === true
      ? distinctValues.map(({ value }) => value).filter((value) => looksLikeDate(value) && isPlaceholderDate(value))
      : []
  const wordsAgainst = distinctValues.flatMap(({ value }) => (value !== '' && negativeMeanings.has(consentMeaning(value)) ? [value] : []))
  if (name?.polarity === 'out') {
    const passing = wordsAgainst.filter((value) => consentMeaning(value) !== 'out')
    return {
      test: { column, values: ['', ...withoutRepeats([...passing, ...placeholderDates])] },
      certain: name.certain || name.needsYes === true,
      shown: [],
    }
  }
  const wordMeanings = distinctValues.flatMap(({ value }) => (looksLikeDate(value) ? [] : [consentMeaning(value)]))
  const allKnown =
    values.dateCount === values.nonEmptyCount ||
    (values.distinctValues !== undefined && wordMeanings.every((meaning) => meaning !== undefined))
  // In a column of unclear polarity, such as `Newsletter accepted or cancelled`, the meaning of a date is not known.
  const datesMeanYes = name === undefined || name.polarity === 'in'
  // A date in the future may be the end of a consent.
  if (values.isMostlyDates && allKnown && datesMeanYes && values.futureDateCount === 0) {
    if (values.unreadableDateCount === 0 && wordMeanings.every((meaning) => negativeMeanings.has(meaning)))
      return { test: { column, after: earliestConsent }, certain: name?.certain === true, shown: [] }
    if (!values.isPartial) return { test: { column, notValues: ['', ...withoutRepeats(wordsAgainst)] }, certain: false, shown: [] }
  }
  return { test: { column, values: [unknownYes] }, certain: false, shown: [] }
}

/** Earlier than every date of a consent. Programs write 1 January 1970, or an earlier date, for an empty date. */
const earliestConsent = '1970-01-02'

const negativeMeanings: ReadonlySet<Meaning> = new Set<Meaning>(['no', 'empty', 'out'])

/** Returns the opposites of values that do not pass; if none has an opposite, the values that usually pass. */
function oppositesOf(notPassing: readonly string[], polarity: ConsentName['polarity']): readonly string[] {
  const found = notPassing.flatMap((value) => {
    const lower = value.toLowerCase()
    const pair = opposites.find((words) => words.includes(lower))
    return pair === undefined ? [] : [pair[0] === lower ? pair[1] : pair[0]]
  })
  return found.length > 0 ? withoutRepeats(found) : usualValues[polarity]
}

/** Removes repeated values, ignoring case. Keeps the last spelling. */
function withoutRepeats(values: readonly string[]): readonly string[] {
  return [...new Map(values.map((value) => [value.toLowerCase(), value] as const)).values()]
}
