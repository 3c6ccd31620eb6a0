/**
 * Watches the unmapped columns of each row, to find consent columns and columns of emails or phone numbers. If a consent
 * column is not mapped, people who did not consent would be sent. If a column of identifiers is not mapped, people would not be sent.
 */
import type { ConsentTest } from '../../model/pipeline.ts'
import { consentName, isDetailOf, type ConsentName } from '../consent/columnName.ts'
import { ColumnValues } from '../consent/columnValues.ts'
import { holdsEmail, holdsPhone, belongsToSomeoneElse, isPhoneName } from '../consent/columnIdentifiers.ts'
import { consentLine, seenText } from '../consent/consentText.ts'
import { proposeTest } from '../consent/proposeTest.ts'
import type { ConsentColumn } from '../consent/unreadReport.ts'
import { consentMeaning, isStateWord } from '../consent/words.ts'
import { redactPersonalData } from '../mask.ts'
import type { Cell, IdentifierType, Row, Warning } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Unmapped column of emails or phone numbers. */
export interface IdentifierColumn {
  readonly column: string
  readonly kind: 'email' | 'phone_number'
  readonly rows: number
  readonly lines: readonly number[]
}

export interface UnreadOptions {
  /** False if consent is declared irrelevant, or the destination does not need it. */
  readonly consent: boolean
  /** Kinds of identifiers that the destination takes. */
  readonly kinds: readonly IdentifierType[]
  /** Returns true for names that the preset or the user declares irrelevant. */
  readonly ignored: (column: string) => boolean
}

/** Mapped columns of a header, and those that contain identifiers. */
export interface ReadColumns {
  readonly columns: readonly string[]
  readonly used: ReadonlySet<number>
  /** Columns that identifiers are read from. */
  readonly identifiers: readonly { readonly kind: IdentifierType; readonly indexes: readonly number[] }[]
}

interface Watched {
  readonly name: ConsentName | undefined
  readonly values: ColumnValues
  readonly isPhone: boolean
  readonly belongsToSomeoneElse: boolean
  /** True for a consent column: by its name, or later by its values. */
  isConsent: boolean
  rows: number
  emails: number
  phones: number
  readonly lines: number[]
}

/** Minimum share of rows with an identifier, for a column to count as an identifier column. */
const identifierShare = 0.05
const linesKept = 5

/** Watches all headers of a mapper; its memory is bounded by the number of columns. */
export class UnreadColumns {
  readonly #options: UnreadOptions
  readonly #watched = new Map<string, Watched>()
  #phoneMapped = false
  #othersMapped = false

  constructor(options: UnreadOptions) {
    this.#options = options
  }

  /** Returns the warnings of the header, and a function that checks each of its rows. */
  bind(read: ReadColumns): { readonly warnings: readonly Warning[]; readonly look: (row: Row) => readonly Warning[] } {
    const { columns, used, identifiers } = read
    this.#phoneMapped ||= identifiers.some(({ kind }) => kind === 'phone_number')
    this.#othersMapped ||= identifiers.some(({ kind }) => kind !== 'phone_number')
    const unread = columns.flatMap((column, index) => (used.has(index) || this.#options.ignored(column) ? [] : [index]))
    const watched = unread.map((index) => ({ index, state: this.#watch(columns[index] ?? '', columns) }))
    const warnings = watched.flatMap(({ index, state }) =>
      state.name?.certain === true && this.#options.consent ? [this.#headerWarning(columns[index] ?? '', state.name)] : [],
    )
    const mapped = identifiers.flatMap(({ indexes }) => indexes)
    return { warnings, look: watched.length === 0 ? () => none : (row) => this.#look(row, watched, mapped) }
  }

  /** Returns unmapped consent columns, in the order of their first header. */
  consentColumns(): readonly ConsentColumn[] {
    if (!this.#options.consent) return []
    return [...this.#watched].flatMap(([column, { name, values, isConsent }]) => {
      if (!isConsent || this.#isOtherChannel(name)) return []
      const proposed = proposeTest(column, name, values)
      const only = name?.channel === 'phone' && this.#othersMapped ? { only: 'phone_number' as const } : {}
      return [{ ...proposed, column, test: { ...proposed.test, ...only } }]
    })
  }

  identifierColumns(): readonly IdentifierColumn[] {
    return [...this.#watched].flatMap(
      ([column, { rows, emails, phones, values, lines, isConsent, belongsToSomeoneElse: other }]): IdentifierColumn[] => {
        const kind = emails >= phones ? 'email' : 'phone_number'
        const found = Math.max(emails, phones)
        // One value in every row belongs to the shop, not to its customers.
        const constant = rows >= 3 && values.seen?.filter(({ value }) => value !== '').length === 1
        if (found === 0 || found < rows * identifierShare || found * 2 < values.filled || isConsent || other || constant) return []
        return [{ column, kind, rows: found, lines }]
      },
    )
  }

  /**
   * Returns the whole `consent:` setting for this file, with the present tests and one for every unmapped consent column. Undefined
   * if there is no unmapped one.
   */
  consentHint(read: readonly ConsentTest[]): string | undefined {
    const found = this.consentColumns()
    return found.length === 0 ? undefined : consentLine([...read, ...found.map(({ test }) => test)])
  }

  /** Returns `"Newsletter": "yes" 140, "no" 60`; empty if no value may be shown. */
  seen(column: string): string {
    const state = this.#watched.get(column)
    if (state === undefined) return ''
    const { seen } = proposeTest(column, state.name, state.values)
    return seen.length > 0 ? seenText(seen) : state.values.mostlyDates ? 'dates, or empty' : ''
  }

  #watch(column: string, columns: readonly string[]): Watched {
    const known = this.#watched.get(column)
    if (known !== undefined) return known
    const named = this.#options.consent ? consentName(column) : undefined
    const found = named === undefined || isDetailOf(column, columns) ? undefined : named
    const state: Watched = {
      name: found,
      values: new ColumnValues(),
      isPhone: isPhoneName(column),
      belongsToSomeoneElse: belongsToSomeoneElse(column),
      isConsent: found?.certain === true,
      rows: 0,
      emails: 0,
      phones: 0,
      lines: [],
    }
    this.#watched.set(column, state)
    return state
  }

  /** Returns true for columns about a channel that is not used: letters or push, or calls if no phone number is sent. */
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

  #look(row: Row, watched: readonly { readonly index: number; readonly state: Watched }[], mapped: readonly number[]): readonly Warning[] {
    let found: Warning[] | undefined
    for (const { index, state } of watched) {
      const cell = textOf(row.cells[index])
      state.rows++
      state.values.add(cell)
      if (cell === undefined || cell === '') continue
      const code = this.#options.consent ? this.#consentCode(state, cell) : undefined
      if (code !== undefined) {
        state.isConsent = true
        const field = row.columns[index] ?? ''
        found ??= []
        found.push({
          line: row.line,
          code,
          field,
          message: `the column "${redactPersonalData(field)}" says who may be reached (${code === 'LEFT_UNMAPPED' ? `"${trimText(cell)}"` : 'by its name and its values'}), and no setting reads it`,
        })
      } else this.#lookForIdentifier(row, state, cell, mapped)
    }
    return found ?? none
  }

  #consentCode({ name, isConsent }: Watched, cell: string): 'CONSENT_UNMAPPED' | 'LEFT_UNMAPPED' | undefined {
    if (this.#isOtherChannel(name)) return undefined
    if (name === undefined) return isStateWord(cell) ? 'LEFT_UNMAPPED' : undefined
    if (name.certain) return undefined
    return isConsent || consentMeaning(cell) !== undefined ? 'CONSENT_UNMAPPED' : undefined
  }

  #lookForIdentifier(row: Row, state: Watched, cell: string, mapped: readonly number[]): void {
    const { kinds } = this.#options
    const isEmail = cell.includes('@') && kinds.includes('email') && holdsEmail(trimText(cell))
    const isPhone = !isEmail && kinds.includes('phone_number') && holdsPhone(cell, state.isPhone)
    if (!isEmail && !isPhone) return
    // A cell that repeats a mapped identifier is not counted.
    if (mapped.some((index) => sameIdentifier(textOf(row.cells[index]), cell, isEmail))) return
    if (isEmail) state.emails++
    else state.phones++
    if (state.lines.length < linesKept) state.lines.push(row.line)
  }
}

const none: readonly Warning[] = []

function textOf(cell: Cell | undefined): string | undefined {
  return cell === undefined || typeof cell === 'string' ? cell : cell.find((text) => text !== '')
}

function sameIdentifier(mapped: string | undefined, cell: string, isEmail: boolean): boolean {
  if (mapped === undefined || mapped === '') return false
  if (mapped === cell) return true
  if (isEmail) return trimText(mapped).toLowerCase() === trimText(cell).toLowerCase()
  const [a, b] = [mapped.replace(/\D/g, ''), cell.replace(/\D/g, '')]
  return a.length >= 7 && b.length >= 7 && (a.endsWith(b.slice(-9)) || b.endsWith(a.slice(-9)))
}
