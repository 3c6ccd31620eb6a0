/**
 * Searches the unmapped columns for consent, emails and phone numbers. Without a mapped consent column, people who did not consent would be
 * sent. Without a mapped identifier column, people would not be sent.
 */
import type { ConsentTest } from '../../model/pipeline.ts'
import {
  classifyColumnName,
  isAboutRelative,
  isContactChoice,
  isDetailOf,
  isListName,
  isStatusName,
  type ConsentName,
} from '../consent/columnName.ts'
import { ColumnValues } from '../consent/columnValues.ts'
import { confirmsName } from '../consent/confirmsName.ts'
import { consentObjects, type ConsentObjectTest } from '../consent/consentObjects.ts'
import { consentLine, valuesText, toFlowYaml } from '../consent/consentText.ts'
import { partsOf } from '../consent/consentTest.ts'
import { proposeTest, unknownYes, type ProposedTest } from '../consent/proposeTest.ts'
import { isDeceasedState, isDeletedState, isNoContact, isOptOutInList, isOptOutState, isSubscriptionState } from '../consent/words.ts'
import { redactPersonalData } from '../redactPersonalData.ts'
import type { Cell, IdentifierType, SourceRow, Warning } from '../../model/record.ts'
import { maxWarningLines } from '../../model/report.ts'
import { allTexts } from '../fields.ts'
import { comparableText, trimText } from '../text.ts'
import { looksLikeEmail, looksLikePhone, belongsToSomeoneElse, isPhoneName } from './identifierColumns.ts'

/** Unmapped consent column, with the test to write in `consent:`. */
export interface ConsentColumn extends ProposedTest {
  readonly column: string
}

/** Unmapped column of emails or phone numbers. */
export interface IdentifierColumn {
  readonly column: string
  readonly type: 'email' | 'phone_number'
  /** Number of rows with an identifier in the column that no mapped column of the row has. */
  readonly count: number
  /** First lines of such rows, at most `maxWarningLines`. */
  readonly lines: readonly number[]
}

/** Findings in the unmapped columns, with the settings to write. */
export interface UnmappedReport {
  readonly identifiers: readonly (Pick<IdentifierColumn, 'column' | 'count' | 'lines'> & { readonly message: string })[]
  /** Setting to write: a `map:` that also reads these columns, or an `ignore:`. Undefined if `identifiers` is empty. */
  readonly identifierHint: string | undefined
  /** Setting `consent:` to write for this file. Undefined without unmapped consent columns. */
  readonly consentHint: string | undefined
  /** Returns the values of an unmapped column for a message: `"yes" 140, "no" 60`; `''` if none may be shown. */
  readonly shownValues: (column: string) => string
  readonly consentColumns: readonly ConsentColumn[]
}

export const nothingUnmapped: UnmappedReport = {
  identifiers: [],
  identifierHint: undefined,
  consentHint: undefined,
  shownValues: () => '',
  consentColumns: [],
}

export interface SearchSettings {
  readonly searchesConsent: boolean
  /** Identifier types to search for: `email` and `phone_number`, if the destination takes them. */
  readonly types: readonly IdentifierType[]
  readonly today: Date
  /** Returns true for columns that the pipeline or the preset ignores. */
  readonly isIgnored: (column: string) => boolean
  /**
   * Returns the values of `only:` for a column of a row filter, in the form of `comparableText`; an empty set for `except:`. Undefined for
   * any other column. The user chose the values of a filter column, so only cells such as `Unsubscribed` are reported.
   */
  readonly keptValues?: (column: string) => ReadonlySet<string> | undefined
}

/** Header with its mapped columns. */
export interface MappedHeader {
  readonly columns: readonly string[]
  /** Indexes of the mapped columns. */
  readonly usedIndexes: ReadonlySet<number>
  /** Mapped columns of each identifier type. */
  readonly identifiers: readonly { readonly type: IdentifierType; readonly indexes: readonly number[] }[]
}

/** Unmapped column: its classified name, and counts of its cells so far. */
interface ColumnState {
  /** Undefined if the name is not about consent, and for a filter column. */
  readonly consentName: ConsentName | undefined
  /** As `SearchSettings.keptValues`. */
  readonly keptValues: ReadonlySet<string> | undefined
  /** Returns true for further cells that mean an opt-out in a column of this name. Undefined for most names. */
  readonly isOptOutCell: ((cell: string) => boolean) | undefined
  /** True for a name such as `Tags`. */
  readonly mayHaveLists: boolean
  readonly isConsentObject: ConsentObjectTest
  /** True for `mkt` or `mkt_code`, whose cells may be countries: there `NO` is Norway. */
  readonly mayHaveCountries: boolean
  /** True for a name such as `Pet status`. */
  readonly isAboutRelative: boolean
  /** True once a list in a cell had an opt-out, as in the tags `vip, Unsubscribed`. */
  hasOptOutInList: boolean
  /** Texts that mean an opt-out, in the cells of a column with `mayHaveLists`; at most `maxListWords`. */
  readonly listWords: Set<string>
  readonly values: ColumnValues
  readonly hasPhoneName: boolean
  readonly belongsToSomeoneElse: boolean
  /** True for a consent column, by its name or by the values so far. */
  isConsent: boolean
  rowCount: number
  nonEmptyCount: number
  /** First cell that is not empty, trimmed. */
  firstValue: string | undefined
  /** False once another cell differs from `firstValue`. */
  isConstant: boolean
  /** Numbers of emails and of phone numbers that no mapped column of their row has. */
  emailCount: number
  phoneCount: number
  /** First lines with such an email or phone number, at most `maxWarningLines`. */
  readonly lines: number[]
}

/** Minimum share of the rows with an identifier in an identifier column. */
const minIdentifierShare = 0.05

/** Unmapped columns of all headers of one mapper, by name. */
export class UnmappedColumns {
  readonly #settings: SearchSettings
  readonly #states = new Map<string, ColumnState>()
  #mapsPhones = false
  #mapsOtherTypes = false

  constructor(settings: SearchSettings) {
    this.#settings = settings
  }

  /** Returns the warnings of the header. `checkRow` counts the cells of a row and returns its warnings. */
  bind(header: MappedHeader): { readonly warnings: readonly Warning[]; readonly checkRow: (row: SourceRow) => readonly Warning[] } {
    const { columns, usedIndexes, identifiers } = header
    this.#mapsPhones ||= identifiers.some(({ type }) => type === 'phone_number')
    this.#mapsOtherTypes ||= identifiers.some(({ type }) => type !== 'phone_number')
    const searched = columns.flatMap((column, index) =>
      usedIndexes.has(index) || this.#settings.isIgnored(column) ? [] : [{ index, state: this.#stateOf(column, columns) }],
    )
    const warnings = searched.flatMap(({ index, state: { consentName } }) =>
      consentName?.certain === true ? [this.#headerWarning(columns[index] ?? '', consentName)] : [],
    )
    const mappedIndexes = identifiers.flatMap(({ indexes }) => indexes)
    return { warnings, checkRow: searched.length === 0 ? () => noWarnings : (row) => this.#checkRow(row, searched, mappedIndexes) }
  }

  /** Returns the unmapped consent columns of used channels, each with a proposed test. */
  consentColumns(): readonly ConsentColumn[] {
    if (!this.#settings.searchesConsent) return []
    return [...this.#states].flatMap(([column, { consentName, values, isConsent, listWords, hasOptOutInList }]): ConsentColumn[] => {
      if (!isConsent || this.#isOfUnusedChannel(consentName)) return []
      // The other parts of a list are not about consent, so a list of all values that pass would be wrong.
      if (hasOptOutInList) return [{ column, test: { column, notValues: [...listWords] }, certain: false, shown: [] }]
      const proposed = proposeTest(column, consentName, values)
      const isForPhones = consentName?.channel === 'phone' && this.#mapsOtherTypes
      return [{ ...proposed, column, test: { ...proposed.test, ...(isForPhones ? { appliesTo: 'phone_number' } : {}) } }]
    })
  }

  /**
   * Returns the unmapped columns with an identifier in at least 5 % of the rows and at least half of the filled cells. Identifiers that a
   * mapped column of the row has too do not count. Leaves out consent columns, columns of other people, and columns with a single value
   * (from 3 rows on).
   */
  identifierColumns(): readonly IdentifierColumn[] {
    return [...this.#states].flatMap(([column, state]): IdentifierColumn[] => {
      const { rowCount, nonEmptyCount, emailCount, phoneCount, lines } = state
      const type = emailCount >= phoneCount ? 'email' : 'phone_number'
      const count = Math.max(emailCount, phoneCount)
      // One value in every row belongs to the shop, not to its customers.
      const isOneValue = rowCount >= 3 && state.isConstant
      if (state.isConsent || state.belongsToSomeoneElse || isOneValue) return []
      if (count === 0 || count < rowCount * minIdentifierShare || count * 2 < nonEmptyCount) return []
      return [{ column, type, count, lines }]
    })
  }

  /**
   * Returns the whole `consent:` setting for this file: the tests in use, and one for every unmapped consent column. Undefined without such
   * columns. Names what the user has to decide: the values for a placeholder, and columns with vague names.
   */
  consentHint(testsInUse: readonly ConsentTest[]): string | undefined {
    const consentColumns = this.consentColumns()
    if (consentColumns.length === 0) return undefined
    const hasPlaceholder = consentColumns.some(({ test }) => test.values?.includes(unknownYes) === true)
    const isVague = (name: ConsentName | undefined) => name?.needsFlags === true || name?.needsYes === true
    const vague = consentColumns.flatMap(({ column }) => (isVague(this.#states.get(column)?.consentName) ? [column] : []))
    return [
      consentLine([...testsInUse, ...consentColumns.map(({ test }) => test)]),
      hasPlaceholder ? `, with the values that mean yes instead of ${unknownYes}` : '',
      vague.length === 0 ? '' : `; or, for columns that are not about consent: ignore: ${toFlowYaml(vague)}`,
    ].join('')
  }

  /** Returns the values of a column for a message: `"yes" 140, "no" 60`, or `dates, or empty`. `''` if none may be shown. */
  shownValues(column: string): string {
    const state = this.#states.get(column)
    // Tags may be names of people.
    if (state === undefined || state.hasOptOutInList) return ''
    const { shown } = proposeTest(column, state.consentName, state.values)
    if (shown.length > 0) return valuesText(shown)
    return state.values.isMostlyDates ? 'dates, or empty' : ''
  }

  #stateOf(column: string, columns: readonly string[]): ColumnState {
    const existing = this.#states.get(column)
    if (existing !== undefined) return existing
    const keptValues = this.#settings.keptValues?.(column)
    const classified = this.#settings.searchesConsent && keptValues === undefined ? classifyColumnName(column) : undefined
    const consentName = classified !== undefined && isDetailOf(column, columns) ? undefined : classified
    const state: ColumnState = {
      consentName,
      keptValues,
      isOptOutCell: consentName === undefined && keptValues === undefined ? optOutCells(column) : undefined,
      mayHaveLists: consentName === undefined && keptValues === undefined && isListName(column),
      isConsentObject: consentObjects(column),
      mayHaveCountries: /^mkt(?:[ _-]?(?:code|area|segment))?$/i.test(column),
      isAboutRelative: isAboutRelative(column),
      hasOptOutInList: false,
      listWords: new Set(),
      values: new ColumnValues(this.#settings.today),
      hasPhoneName: isPhoneName(column),
      belongsToSomeoneElse: belongsToSomeoneElse(column),
      isConsent: consentName?.certain === true,
      rowCount: 0,
      nonEmptyCount: 0,
      firstValue: undefined,
      isConstant: true,
      emailCount: 0,
      phoneCount: 0,
      lines: [],
    }
    this.#states.set(column, state)
    return state
  }

  /** Returns true for columns about letters, push or fax, and without mapped phone numbers also about calls and texts. */
  readonly #isOfUnusedChannel = (name: ConsentName | undefined): boolean =>
    name?.channel === 'other' || (name?.channel === 'phone' && !this.#mapsPhones)

  #headerWarning(column: string, name: ConsentName): Warning {
    const shownColumn = `the column "${redactPersonalData(column)}"`
    if (!this.#isOfUnusedChannel(name)) {
      const message = `${shownColumn} says who may be reached, and no setting reads it`
      return { line: 1, code: 'CONSENT_UNMAPPED', field: column, message }
    }
    const channel = name.channel === 'phone' ? 'calls and texts' : 'another channel'
    const message = `${shownColumn} is about ${channel}, and no identifier of that channel is sent: it is not applied`
    return { line: 1, code: 'CONSENT_OTHER_CHANNEL', field: column, message }
  }

  #checkRow(
    row: SourceRow,
    searched: readonly { readonly index: number; readonly state: ColumnState }[],
    mappedIndexes: readonly number[],
  ): readonly Warning[] {
    let warnings: Warning[] | undefined
    for (const { index, state } of searched) {
      const cell = row.cells[index]
      const text = firstNonEmptyText(cell)
      state.rowCount++
      state.values.add(text)
      if (text === undefined || text === '') continue
      countNonEmpty(state, trimText(text))
      // Each of several texts may show that the column is about consent.
      const shownText = typeof cell === 'string' ? text : (cell?.find((one) => this.#consentCode(state, one) !== undefined) ?? text)
      const code = this.#consentCode(state, shownText)
      if (code !== undefined) {
        state.isConsent = true
        if (state.mayHaveLists) addListWords(state, allTexts(cell))
        warnings ??= []
        warnings.push(rowWarning(row.line, row.columns[index] ?? '', { code, state, text: shownText }))
      } else if (state.keptValues === undefined) this.#countIdentifier(row, state, text, mappedIndexes)
    }
    return warnings ?? noWarnings
  }

  /**
   * Returns the code of the warning if the cell shows that the column is about consent:
   * - LEFT_UNMAPPED: a cell such as `Unsubscribed` in a column whose name is not about consent, or in a filter column.
   * - CONSENT_UNMAPPED: a cell that confirms the name of the column and, for most names, every later cell. A certain name needs none: the
   *   header already has a warning.
   */
  #consentCode(state: ColumnState, text: string): 'CONSENT_UNMAPPED' | 'LEFT_UNMAPPED' | undefined {
    const { consentName, keptValues, isConsent, emailCount, phoneCount, mayHaveLists, isAboutRelative, isOptOutCell } = state
    if (!this.#settings.searchesConsent || this.#isOfUnusedChannel(consentName)) return undefined
    if (keptValues !== undefined) return isOptOutState(text) && !keptValues.has(comparableText(text)) ? 'LEFT_UNMAPPED' : undefined
    if (consentName === undefined) {
      const isState =
        isSubscriptionState(text) ||
        (mayHaveLists && partsOf(text).some(isOptOutInList)) ||
        isOptOutCell?.(text) === true ||
        state.isConsentObject(text, this.#isOfUnusedChannel)
      return isState && !(isAboutRelative && isDeceasedState(text)) ? 'LEFT_UNMAPPED' : undefined
    }
    if (consentName.certain) return undefined
    if (consentName.needsYes !== true && (isConsent || state.isConsentObject(text, this.#isOfUnusedChannel))) return 'CONSENT_UNMAPPED'
    const isCountry = state.mayHaveCountries && trimText(text) === 'NO'
    const isContact = consentName.needsFlags === true && (emailCount + phoneCount > 0 || isCountry)
    return isSubscriptionState(text) || (!isContact && confirmsName(consentName, text)) ? 'CONSENT_UNMAPPED' : undefined
  }

  #countIdentifier(row: SourceRow, state: ColumnState, text: string, mappedIndexes: readonly number[]): void {
    const { types } = this.#settings
    const cell = trimText(text)
    const isEmail = cell.includes('@') && types.includes('email') && looksLikeEmail(cell)
    const isPhone = !isEmail && types.includes('phone_number') && looksLikePhone(cell, state.hasPhoneName)
    if (!isEmail && !isPhone) return
    if (mappedIndexes.some((index) => allTexts(row.cells[index]).some((other) => isSameIdentifier(other, cell, isEmail)))) return
    if (isEmail) state.emailCount++
    else state.phoneCount++
    if (state.lines.length < maxWarningLines) state.lines.push(row.line)
  }
}

const noWarnings: readonly Warning[] = []

/** Maximum number of texts in `ColumnState.listWords`. */
const maxListWords = 20

/** Returns `ColumnState.isOptOutCell` for a column whose name is not about consent. */
function optOutCells(column: string): ColumnState['isOptOutCell'] {
  if (isStatusName(column)) return isDeletedState
  // `None` is not among them: it may also mean that the person has no preference.
  return isContactChoice(column) ? isNoContact : undefined
}

/** Adds the texts of a cell that mean an opt-out, and such parts of a list in one text. */
function addListWords(state: ColumnState, texts: readonly string[]): void {
  for (const text of texts)
    for (const part of [text, ...partsOf(text)]) {
      if (!(part === text ? isOptOutState(part) : isOptOutInList(part))) continue
      state.hasOptOutInList ||= texts.length > 1 || part !== text
      if (state.listWords.size < maxListWords) state.listWords.add(trimText(part))
    }
}

function rowWarning(
  line: number,
  column: string,
  { code, state, text }: { readonly code: 'CONSENT_UNMAPPED' | 'LEFT_UNMAPPED'; readonly state: ColumnState; readonly text: string },
): Warning {
  // Shows only a known word, because any other text may be personal.
  const word =
    code === 'LEFT_UNMAPPED' ? [text, ...partsOf(text)].find((part) => isSubscriptionState(part) || isDeletedState(part)) : undefined
  const reason = word === undefined ? 'by its name and its values' : `"${trimText(word)}"`
  const gap = state.keptValues === undefined ? 'no setting reads it' : 'no setting leaves these rows out'
  return {
    line,
    code,
    field: column,
    message: `the column "${redactPersonalData(column)}" says who may be reached (${reason}), and ${gap}`,
  }
}

function countNonEmpty(state: ColumnState, value: string): void {
  if (value === '') return
  state.nonEmptyCount++
  if (state.firstValue === undefined) state.firstValue = value
  else if (state.isConstant && value !== state.firstValue) state.isConstant = false
}

/** Returns the text of a cell, or the first of its texts that is not empty. */
function firstNonEmptyText(cell: Cell | undefined): string | undefined {
  return cell === undefined || typeof cell === 'string' ? cell : cell.find((text) => text !== '')
}

/** Returns true for equal emails, ignoring case, or phone numbers with equal last nine digits: one may lack the country code. */
function isSameIdentifier(mapped: string, cell: string, isEmail: boolean): boolean {
  if (mapped === '') return false
  if (mapped === cell) return true
  if (isEmail) return trimText(mapped).toLowerCase() === cell.toLowerCase()
  const mappedDigits = mapped.replace(/\D/g, '')
  const digits = cell.replace(/\D/g, '')
  if (mappedDigits.length < 7 || digits.length < 7) return false
  return mappedDigits.endsWith(digits.slice(-9)) || digits.endsWith(mappedDigits.slice(-9))
}
