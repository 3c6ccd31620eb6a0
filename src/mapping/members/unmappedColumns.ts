/**
 * Searches the unmapped columns for consent, emails and phone numbers. Without a mapped consent column, people who did not consent would
 * be sent. Without a mapped identifier column, people would not be sent.
 */
import type { ConsentTest } from '../../model/pipeline.ts'
import { classifyColumnName, isDetailOf, type ConsentName } from '../consent/columnName.ts'
import { ColumnValues, looksLikeDate } from '../consent/columnValues.ts'
import { consentLine, valuesText, toFlowYaml } from '../consent/consentText.ts'
import { proposeTest, unknownYes, type ProposedTest } from '../consent/proposeTest.ts'
import { consentMeaning, isDoubtfulYes, isOptOutState, isStateWord, isYesOrNo } from '../consent/words.ts'
import { redactPersonalData } from '../mask.ts'
import type { Cell, IdentifierType, Row, Warning } from '../../model/record.ts'
import { linesKept } from '../../model/report.ts'
import { allTexts } from '../fields.ts'
import { comparableText, trimText } from '../text.ts'
import { looksLikeEmail, looksLikePhone, belongsToSomeoneElse, isPhoneName } from './identifierColumns.ts'

/** Unmapped consent column, with the test to write. */
export interface ConsentColumn extends ProposedTest {
  readonly column: string
}

/** Unmapped column of emails or phone numbers. */
export interface IdentifierColumn {
  readonly column: string
  readonly type: 'email' | 'phone_number'
  /** Number of rows with an identifier in the column that no mapped column of the row has. */
  readonly count: number
  /** First lines of such rows, at most `linesKept`. */
  readonly lines: readonly number[]
}

/** Unmapped columns that decide whether a person may be reached, or that contain identifiers, with the setting to write. */
export interface UnmappedReport {
  /** Unmapped columns of emails or phone numbers. */
  readonly identifiers: readonly (Pick<IdentifierColumn, 'column' | 'count' | 'lines'> & { readonly message: string })[]
  /** Setting to write: a `map:` that also reads the columns of `identifiers`, or an `ignore:`. Undefined if there are no such columns. */
  readonly identifierHint: string | undefined
  /** Setting `consent:` to write for this file; undefined if no unmapped column is about consent. */
  readonly consentHint: string | undefined
  /** Returns the values of an unmapped column for a message; `''` if none may be shown. */
  readonly shownValues: (column: string) => string
  /** Unmapped consent columns, each with its proposed test. */
  readonly consentColumns: readonly ConsentColumn[]
}

/** Report of a mapper that has no unmapped columns. */
export const nothingUnmapped: UnmappedReport = {
  identifiers: [],
  identifierHint: undefined,
  consentHint: undefined,
  shownValues: () => '',
  consentColumns: [],
}

/** Settings of the search. */
export interface SearchSettings {
  /** True if columns of consent are searched for. */
  readonly searchesConsent: boolean
  /** Identifier types to search for: those of email and phone number that the destination takes. */
  readonly types: readonly IdentifierType[]
  /** Day of the read. */
  readonly today: Date
  /** Returns true for names that the preset or the user declares irrelevant. */
  readonly isIgnored: (column: string) => boolean
  /**
   * Returns the values of `only:` for a column of a row filter, compared by `comparableText`; none for `except:`. Undefined for any other
   * column. Of a filter column, only states that mean `out` are searched, because the user chose its values.
   */
  readonly keptValues?: (column: string) => ReadonlySet<string> | undefined
}

/** Header with its mapped columns. */
export interface MappedHeader {
  readonly columns: readonly string[]
  /** Indexes of the mapped columns. */
  readonly used: ReadonlySet<number>
  /** Mapped columns of each identifier type. */
  readonly identifiers: readonly { readonly type: IdentifierType; readonly indexes: readonly number[] }[]
}

/** State of an unmapped column: its classified name, and counts of its cells so far. */
interface ColumnState {
  /** Undefined if the name is not about consent, and for a filter column. */
  readonly name: ConsentName | undefined
  /** Values of a filter column (`SearchSettings.keptValues`); undefined for any other column. */
  readonly kept: ReadonlySet<string> | undefined
  readonly values: ColumnValues
  /** True if the name is one of a phone column. */
  readonly isPhone: boolean
  readonly belongsToSomeoneElse: boolean
  /** True for a consent column: by its name, or later by its values. */
  isConsent: boolean
  /** Number of rows with this column. */
  rowCount: number
  /** Number of cells that are not empty. */
  filledCount: number
  /** First cell that is not empty; undefined before it. */
  firstValue: string | undefined
  /** False once another cell differs from `firstValue`. */
  isConstant: boolean
  /** Number of emails and of phone numbers that no mapped column of their row has. */
  emailCount: number
  phoneCount: number
  /** First lines with such an email or phone number, at most `linesKept`. */
  readonly lines: number[]
}

/** Smallest share of rows with an identifier that makes a column an identifier column. */
const identifierShare = 0.05

/** Unmapped columns of all headers of one mapper, by name. Memory is bounded by the number of columns. */
export class UnmappedColumns {
  readonly #settings: SearchSettings
  readonly #states = new Map<string, ColumnState>()
  #phoneMapped = false
  #othersMapped = false

  constructor(settings: SearchSettings) {
    this.#settings = settings
  }

  /** Returns the warnings of the header, and a function that checks a row of this header and returns its warnings. */
  bind(read: MappedHeader): { readonly warnings: readonly Warning[]; readonly checkRow: (row: Row) => readonly Warning[] } {
    const { columns, used, identifiers } = read
    this.#phoneMapped ||= identifiers.some(({ type }) => type === 'phone_number')
    this.#othersMapped ||= identifiers.some(({ type }) => type !== 'phone_number')
    const searched = columns.flatMap((column, index) =>
      used.has(index) || this.#settings.isIgnored(column) ? [] : [{ index, state: this.#stateOf(column, columns) }],
    )
    const warnings = searched.flatMap(({ index, state }) =>
      state.name?.certain === true && this.#settings.searchesConsent ? [this.#headerWarning(columns[index] ?? '', state.name)] : [],
    )
    const mapped = identifiers.flatMap(({ indexes }) => indexes)
    return { warnings, checkRow: searched.length === 0 ? () => none : (row) => this.#checkRow(row, searched, mapped) }
  }

  /** Returns the unmapped consent columns of used channels with a proposed test, in the order in which their names first appeared. */
  consentColumns(): readonly ConsentColumn[] {
    if (!this.#settings.searchesConsent) return []
    return [...this.#states].flatMap(([column, { name, values, isConsent }]) => {
      if (!isConsent || this.#isOtherChannel(name)) return []
      const proposed = proposeTest(column, name, values)
      const phones = name?.channel === 'phone' && this.#othersMapped ? { appliesTo: 'phone_number' as const } : {}
      return [{ ...proposed, column, test: { ...proposed.test, ...phones } }]
    })
  }

  /**
   * Returns the unmapped columns with an identifier in at least 5 % of the rows and in at least half of the filled cells. Identifiers that
   * a mapped column of the row has too do not count. Leaves out consent columns, columns of other people, and columns whose filled cells
   * all have the same value (from 3 rows on).
   */
  identifierColumns(): readonly IdentifierColumn[] {
    return [...this.#states].flatMap(
      ([
        column,
        { rowCount, filledCount, emailCount, phoneCount, isConstant, lines, isConsent, belongsToSomeoneElse: other },
      ]): IdentifierColumn[] => {
        const type = emailCount >= phoneCount ? 'email' : 'phone_number'
        const found = Math.max(emailCount, phoneCount)
        // One value in every row belongs to the shop, not to its customers.
        const isOneValue = rowCount >= 3 && isConstant
        if (found === 0 || found < rowCount * identifierShare || found * 2 < filledCount || isConsent || other || isOneValue) return []
        return [{ column, type, count: found, lines }]
      },
    )
  }

  /**
   * Returns the whole `consent:` setting for this file: the tests in use, and one for every unmapped consent column. Undefined if there
   * is no such column. Adds what the user must decide: the values of a placeholder, and whether a vague name is about consent.
   */
  consentHint(inUse: readonly ConsentTest[]): string | undefined {
    const found = this.consentColumns()
    if (found.length === 0) return undefined
    const asks = found.some(({ test }) => test.values?.includes(unknownYes) === true)
    const vague = found.flatMap(({ column }) => (this.#states.get(column)?.name?.onlyFlags === true ? [column] : []))
    return [
      consentLine([...inUse, ...found.map(({ test }) => test)]),
      asks ? `, with the values that mean yes instead of ${unknownYes}` : '',
      vague.length === 0 ? '' : `; or, for columns that are not about consent: ignore: ${toFlowYaml(vague)}`,
    ].join('')
  }

  /** Returns the values of a column for a message: `"yes" 140, "no" 60`, or `dates, or empty`. `''` if none may be shown. */
  shownValues(column: string): string {
    const state = this.#states.get(column)
    if (state === undefined) return ''
    const { shown } = proposeTest(column, state.name, state.values)
    return shown.length > 0 ? valuesText(shown) : state.values.mostlyDates ? 'dates, or empty' : ''
  }

  /** Returns the state of a column. Creates the state for the first header with the column. */
  #stateOf(column: string, columns: readonly string[]): ColumnState {
    const known = this.#states.get(column)
    if (known !== undefined) return known
    const kept = this.#settings.keptValues?.(column)
    const named = this.#settings.searchesConsent && kept === undefined ? classifyColumnName(column) : undefined
    const found = named === undefined || isDetailOf(column, columns) ? undefined : named
    const state: ColumnState = {
      name: found,
      kept,
      values: new ColumnValues(this.#settings.today),
      isPhone: isPhoneName(column),
      belongsToSomeoneElse: belongsToSomeoneElse(column),
      isConsent: found?.certain === true,
      rowCount: 0,
      filledCount: 0,
      firstValue: undefined,
      isConstant: true,
      emailCount: 0,
      phoneCount: 0,
      lines: [],
    }
    this.#states.set(column, state)
    return state
  }

  /** Returns true for columns about a channel that is not used: letters, push or fax, or calls and texts if no phone number is mapped. */
  #isOtherChannel(name: ConsentName | undefined): boolean {
    return name?.channel === 'other' || (name?.channel === 'phone' && !this.#phoneMapped)
  }

  #headerWarning(column: string, name: ConsentName): Warning {
    if (this.#isOtherChannel(name))
      return {
        line: 1,
        code: 'CONSENT_OTHER_CHANNEL',
        field: column,
        message: `the column "${redactPersonalData(column)}" is about ${name.channel === 'phone' ? 'calls and texts' : 'another channel'}, and no identifier of that channel is sent: it is not applied`,
      }
    return {
      line: 1,
      code: 'CONSENT_UNMAPPED',
      field: column,
      message: `the column "${redactPersonalData(column)}" says who may be reached, and no setting reads it`,
    }
  }

  #checkRow(
    row: Row,
    searched: readonly { readonly index: number; readonly state: ColumnState }[],
    mapped: readonly number[],
  ): readonly Warning[] {
    let found: Warning[] | undefined
    for (const { index, state } of searched) {
      const texts = row.cells[index]
      const first = textOf(texts)
      state.rowCount++
      state.values.add(first)
      if (first === undefined || first === '') continue
      countFilled(state, trimText(first))
      // Any text of a cell may show that the column is about consent.
      const cell = typeof texts === 'string' ? first : (texts?.find((text) => this.#consentCode(state, text) !== undefined) ?? first)
      const code = this.#consentCode(state, cell)
      if (code !== undefined) {
        state.isConsent = true
        const field = row.columns[index] ?? ''
        found ??= []
        found.push({
          line: row.line,
          code,
          field,
          message: `the column "${redactPersonalData(field)}" says who may be reached (${code === 'LEFT_UNMAPPED' ? `"${trimText(cell)}"` : 'by its name and its values'}), and no setting ${state.kept === undefined ? 'reads it' : 'leaves these rows out'}`,
        })
      } else if (state.kept === undefined) this.#countIdentifier(row, state, first, mapped)
    }
    return found ?? none
  }

  /** Returns the code of the warning, if the cell shows that the column is about consent and the header's warnings did not. */
  #consentCode(
    { name, kept, isConsent, emailCount, phoneCount }: ColumnState,
    cell: string,
  ): 'CONSENT_UNMAPPED' | 'LEFT_UNMAPPED' | undefined {
    if (!this.#settings.searchesConsent || this.#isOtherChannel(name)) return undefined
    if (kept !== undefined) return isOptOutState(cell) && !kept.has(comparableText(cell)) ? 'LEFT_UNMAPPED' : undefined
    if (name === undefined) return isStateWord(cell) ? 'LEFT_UNMAPPED' : undefined
    if (name.certain) return undefined
    if (name.onlyFlags === true) {
      const isFlag = emailCount + phoneCount === 0 && /\D/.test(cell) && (isYesOrNo(cell) || isDoubtfulYes(cell))
      return isConsent || isFlag || isStateWord(cell) ? 'CONSENT_UNMAPPED' : undefined
    }
    const isAnswer = consentMeaning(cell) !== undefined || isDoubtfulYes(cell)
    return isConsent || isAnswer || (name.polarity === 'out' && looksLikeDate(trimText(cell))) ? 'CONSENT_UNMAPPED' : undefined
  }

  #countIdentifier(row: Row, state: ColumnState, text: string, mapped: readonly number[]): void {
    const { types } = this.#settings
    const cell = trimText(text)
    const isEmail = cell.includes('@') && types.includes('email') && looksLikeEmail(cell)
    const isPhone = !isEmail && types.includes('phone_number') && looksLikePhone(cell, state.isPhone)
    if (!isEmail && !isPhone) return
    // A cell that repeats a mapped identifier is not counted.
    if (mapped.some((index) => allTexts(row.cells[index]).some((other) => sameIdentifier(other, cell, isEmail)))) return
    if (isEmail) state.emailCount++
    else state.phoneCount++
    if (state.lines.length < linesKept) state.lines.push(row.line)
  }
}

const none: readonly Warning[] = []

function countFilled(state: ColumnState, value: string): void {
  if (value === '') return
  state.filledCount++
  if (state.firstValue === undefined) state.firstValue = value
  else if (state.isConstant && value !== state.firstValue) state.isConstant = false
}

/** Returns the text of a cell, or the first one of several that is not empty; undefined if there is none. */
function textOf(cell: Cell | undefined): string | undefined {
  return cell === undefined || typeof cell === 'string' ? cell : cell.find((text) => text !== '')
}

/** Compares emails ignoring case. Compares phone numbers by their last nine digits, because one of the two may lack the country code. */
function sameIdentifier(mapped: string, cell: string, isEmail: boolean): boolean {
  if (mapped === '') return false
  if (mapped === cell) return true
  if (isEmail) return trimText(mapped).toLowerCase() === cell.toLowerCase()
  const [a, b] = [mapped.replace(/\D/g, ''), cell.replace(/\D/g, '')]
  return a.length >= 7 && b.length >= 7 && (a.endsWith(b.slice(-9)) || b.endsWith(a.slice(-9)))
}
