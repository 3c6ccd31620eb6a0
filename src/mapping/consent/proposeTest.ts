/** Proposes a consent test for a column, from its name and its values. Pure. */
import type { ConsentTest } from '../../model/pipeline.ts'
import type { ConsentName } from './columnName.ts'
import { isShowable, looksLikeDate, type ColumnValues, type CountedValue } from './columnValues.ts'
import { consentMeaning, isCheckMark, isDoubtfulYes, isYesOrNo, mayMeanNo, meaningOf, type Meaning } from './words.ts'
import { comparableText } from '../text.ts'

/** Proposed consent test for one column. */
export interface ProposedTest {
  readonly test: ConsentTest
  /** True if the name and the values leave no doubt about the test. If not, its values may be the placeholder `unknownYes`. */
  readonly certain: boolean
  /** Values of the column, most frequent first; empty if most are dates, if they are too many or too long, or may be personal data. */
  readonly shown: readonly CountedValue[]
}

/**
 * Placeholder for the values that mean yes, if only the user knows them. The schema of pipeline files rejects it, so that a copied hint
 * sends no row.
 */
export const unknownYes = '<yes>'

/** Values and their opposites. If every value of the file means no, the test needs a value that the file does not contain. */
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

/** Proposes a test that people who may be reached pass. `name`: undefined if only the values show that the column is about consent. */
export function proposeTest(column: string, name: ConsentName | undefined, values: ColumnValues): ProposedTest {
  const all = values.counted
  if (all === undefined || values.mostlyDates) return proposeForDatesOrTexts(column, name, values)
  const polarity = name?.polarity ?? 'unclear'
  const hasNumberCodes = all.some(({ value }) => isNumberCode(value))
  const isXDoubtful = all.some(({ value }) => isCheckMark(value))
  const letterYes = letterMeaningYes(all.map(({ value }) => comparableText(value)))
  const classified = all.map((one) => ({
    ...one,
    may: mayReach(one.value, { polarity, isNamed: name !== undefined, hasNumberCodes, isXDoubtful, letterYes }),
  }))
  const pick = (may: boolean | undefined) => unique(classified.filter((one) => one.may === may).map(({ value }) => value))
  const yes = pick(true)
  const unknown = pick(undefined)
  const shown = all.every(({ value }) => isShowable(value)) ? all : []
  const proposed = (passing: readonly string[], certain = false): ProposedTest => ({ test: { column, values: passing }, certain, shown })
  // The values may be personal data, so the test contains none of them. In an opt-out column, only empty cells pass.
  if (shown.length === 0 && all.length > 0) return proposed([polarity === 'out' ? '' : unknownYes])
  if (yes.length > 0) return proposed(yes, unknown.length === 0 && !hasNumberCodes && name?.onlyFlags !== true)
  // Only the user knows the meaning of number codes, of `O` and `E`, and of a yes or `enabled` in a column of unclear polarity. The list of
  // unknown values below would include people who said no.
  if (
    hasNumberCodes ||
    unknown.some((value) => isDoubtfulYes(value) || isYesOrNo(value) || (name !== undefined && consentMeaning(value) === 'in'))
  )
    return proposed([unknownYes])
  // Values of unknown meaning, such as customer types: the test lists all of them, but not those that may mean no in a column of consent.
  // If no value seems to mean no, one of the unknown values may be the no, in an unknown language. Then only the user can choose.
  const types = unknown.filter((value) => consentMeaning(value) !== 'out' && !mayMeanNo(value))
  const hasNo = types.length < unknown.length || pick(false).some((value) => meaningOf(value) !== 'empty')
  const onlyUncertainNo = types.length === 0 && unknown.some((value) => consentMeaning(value) === undefined)
  if (polarity !== 'out' && (onlyUncertainNo || (name !== undefined && types.length > 0 && !hasNo))) return proposed([unknownYes])
  return proposed(types.length > 0 && polarity !== 'out' ? types : oppositesOf(pick(false), polarity))
}

/**
 * Returns the letter that means yes only beside its no: `o` (`oui`) beside `n` or `non`, `e` (`evet`) beside `h`. Beside `i`, `O` may mean
 * out; beside `k` (`kyllä`), `E` means no.
 */
function letterMeaningYes(values: readonly string[]): string | undefined {
  if (values.includes('o') && (values.includes('n') || values.includes('non')) && !values.includes('i')) return 'o'
  return values.includes('e') && values.includes('h') && !values.includes('k') ? 'e' : undefined
}

/** Returns true for a number that is not 0, 1 or a date. A column with such a number contains codes, in which 1 may mean anything. */
function isNumberCode(value: string): boolean {
  return isNumber(value) && !/^[01]$/.test(comparableText(value)) && !looksLikeDate(value)
}

function isNumber(value: string): boolean {
  return /^[+-]?\d+(?:[.,]\d+)?$/.test(value)
}

/** Returns true if the value means that the person may be reached, false if it means the opposite, undefined if that is not known. */
function mayReach(
  value: string,
  {
    polarity,
    isNamed,
    hasNumberCodes,
    isXDoubtful,
    letterYes,
  }: {
    readonly polarity: ConsentName['polarity']
    readonly isNamed: boolean
    readonly hasNumberCodes: boolean
    readonly isXDoubtful: boolean
    readonly letterYes: string | undefined
  },
): boolean | undefined {
  if (isXDoubtful && comparableText(value) === 'x') return undefined
  if (hasNumberCodes && polarity !== 'out' && isNumber(value) && !looksLikeDate(value)) return undefined
  const meaning = comparableText(value) === letterYes ? 'yes' : isNamed ? consentMeaning(value) : meaningOf(value)
  // In an opt-out column, `enabled` and `granted` may describe the opt-out. In a column of unclear polarity, `enabled` may.
  if (meaning === 'in') return polarity === 'in' || (polarity === 'unclear' && meaningOf(value) === 'in') ? true : undefined
  // In an opt-out column, `inactive` could mean that the opt-out is inactive. It still counts as a no, because a wrong guess would send
  // the person.
  if (meaning === 'out') return false
  if (polarity === 'out') {
    if (meaning === 'no' || meaning === 'empty') return true
    if (meaning === 'yes' || looksLikeDate(value)) return false
    return /^\d+$/.test(value) ? false : undefined
  }
  if (polarity === 'in') {
    if (meaning === 'yes' || looksLikeDate(value)) return true
    return meaning === 'no' || meaning === 'empty' ? false : undefined
  }
  return meaning === 'empty' ? false : undefined
}

/**
 * Proposes a test for a column of dates, reasons or texts:
 * - In an opt-out column, empty cells and words such as `no` pass.
 * - In an opt-in column of dates, and one whose name says nothing, all dates after `earliestDate` pass, unless some are in the future. If a
 *   test of dates cannot read them all, all cells pass except empty ones and words that mean no or `out`. That is never certain, because a
 *   word that first appears in a later file would pass.
 * - In any other column the value is `unknownYes`: only the user knows which texts or dates mean yes.
 */
function proposeForDatesOrTexts(column: string, name: ConsentName | undefined, values: ColumnValues): ProposedTest {
  const { counted = [] } = values
  const noWords = counted.flatMap(({ value }) => (value !== '' && negativeMeanings.has(consentMeaning(value)) ? [value] : []))
  if (name?.polarity === 'out') {
    const passing = noWords.filter((value) => consentMeaning(value) !== 'out')
    const certain = name.certain && (values.mostlyDates || values.counted === undefined)
    return { test: { column, values: ['', ...unique(passing)] }, certain, shown: [] }
  }
  const words = counted.flatMap(({ value }) => (looksLikeDate(value) ? [] : [consentMeaning(value)]))
  const allKnown =
    values.dateCount === values.filledCount || (values.counted !== undefined && words.every((meaning) => meaning !== undefined))
  // In a column of unclear polarity, such as `Newsletter accepted or cancelled`, the meaning of a date is not known. A date in the future may
  // be the end of a consent.
  if (values.mostlyDates && allKnown && values.futureDateCount === 0 && (name === undefined || name.polarity === 'in')) {
    if (values.unreadableDateCount === 0 && words.every((meaning) => negativeMeanings.has(meaning)))
      return { test: { column, after: earliestDate }, certain: name?.certain === true, shown: [] }
    if (!values.isPartial) return { test: { column, notValues: ['', ...unique(noWords)] }, certain: false, shown: [] }
  }
  return { test: { column, values: [unknownYes] }, certain: false, shown: [] }
}

/** Earlier than every date of a consent. Programs write 1 January 1970, or an earlier date, for an empty date. */
const earliestDate = '1970-01-02'

const negativeMeanings: ReadonlySet<Meaning> = new Set<Meaning>(['no', 'empty', 'out'])

/** Returns the opposites of values of people who may not be reached; usual values of the polarity if none has an opposite. */
function oppositesOf(unreachable: readonly string[], polarity: ConsentName['polarity']): readonly string[] {
  const found = unreachable.flatMap((value) => {
    const lower = value.toLowerCase()
    const pair = opposites.find((one) => one.includes(lower))
    return pair === undefined ? [] : [pair[0] === lower ? pair[1] : pair[0]]
  })
  if (found.length > 0) return unique(found)
  return polarity === 'out' ? ['', 'no', 'false', '0'] : polarity === 'in' ? ['yes', 'true', '1'] : ['subscribed']
}

/** Removes repeated values, ignoring case. Keeps the last spelling. */
function unique(values: readonly string[]): readonly string[] {
  return [...new Map(values.map((value) => [value.toLowerCase(), value] as const)).values()]
}
