/** Reads the cells of one row as fields of its product, and collects the warnings. */
import type { BoundField } from '../fields.ts'
import { looksGarbled } from '../garbled.ts'
import type { Cell, SourceRow, Warning } from '../../model/record.ts'
import type { RecordCode } from '../rejectCodes.ts'
import { decodeEntities } from '../html.ts'
import { isBroken, isPlainText, stripControls, trimText } from '../text.ts'
import { TransformError } from '../transforms.ts'
import type { ProductRules } from './rules.ts'
import { commonPlaceholders, type ProductField } from './vocabulary.ts'

/** Product field → its columns of one header. `currency`: column with the currency, if it is not bound to a field. */
export type ProductBinding = Readonly<Partial<Record<ProductField, BoundField>>> & { readonly currency?: CurrencyColumn }

/** Column with the currency of the row's prices. */
export interface CurrencyColumn {
  readonly name: string
  readonly index: number
}

/** Maximum number of characters of an optional text after `cleanText`. */
const maxTextLength = 1000
const noWarnings: readonly Warning[] = []

/** Rejection of one row, thrown by the readers of its fields. `message` follows the name of the field: `is missing`. */
export class RowRejected {
  readonly code: RecordCode
  readonly field: string
  readonly message: string
  constructor(code: RecordCode, field: string, message: string) {
    this.code = code
    this.field = field
    this.message = message
  }
}

export class ProductRow {
  readonly rawRow: SourceRow
  readonly binding: ProductBinding
  readonly rules: ProductRules
  #warnings: Warning[] | undefined
  /** Optional fields whose transform failed. */
  #failedFields: ProductField[] | undefined

  constructor(rawRow: SourceRow, binding: ProductBinding, rules: ProductRules) {
    this.rawRow = rawRow
    this.binding = binding
    this.rules = rules
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? noWarnings
  }

  /** Adds a warning. `message` follows the name of the field: `is http`. */
  warn(code: RecordCode, field: string, message: string): void {
    this.#warnings ??= []
    this.#warnings.push({ line: this.rawRow.line, code, field, message: `${field} ${message}` })
  }

  /**
   * Returns the trimmed text of a required field.
   *
   * @throws {RowRejected} if the text is empty or broken
   * @throws {TransformError} if a transform fails
   */
  requiredText(field: ProductField): string {
    const text = this.#firstOf(field, this.binding[field]?.read(this.rawRow))
    if (text === '') throw new RowRejected('FIELD_MISSING', field, 'is missing')
    if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', field, 'contains a NUL or half of a character pair')
    return text
  }

  /**
   * Returns the trimmed text of an optional field; undefined if it is empty. Also undefined, with a warning, for a placeholder or a failed
   * transform. `placeholders`: in lower case; `xx`, `xxx` … are placeholders too.
   *
   * @throws {RowRejected} if the text is broken
   */
  optionalText(field: ProductField, placeholders: ReadonlySet<string> = commonPlaceholders): string | undefined {
    if (this.binding[field] === undefined) return undefined
    const text = this.#firstOf(field, this.cell(field))
    if (text === '') return undefined
    if (text.length <= 16 && (placeholders.has(text.toLowerCase()) || /^x{2,}$/i.test(text))) {
      this.warn('VALUE_PLACEHOLDER', field, `"${text}" is a placeholder`)
      return undefined
    }
    if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', field, 'contains a NUL or half of a character pair')
    return text
  }

  /**
   * Returns the first text of a cell that is not empty, trimmed. Warns if others differ from it, except images: `imageOf` warns about them.
   */
  #firstOf(field: ProductField, cell: Cell | undefined): string {
    if (typeof cell !== 'object') return trimText(cell ?? '')
    const texts = new Set(cell.map(trimText).filter((text) => text !== ''))
    if (texts.size > 1 && field !== 'image_link')
      this.warn('VALUES_LEFT_OUT', field, `has ${texts.size} different values, and the first one is used`)
    const [first = ''] = texts
    return first
  }

  /**
   * Returns the cleaned text of an optional field; undefined if nothing is left of it. Also undefined, with a warning, if the text is
   * longer than `maxTextLength`.
   *
   * @throws {RowRejected} as `optionalText`
   */
  cleanText(field: ProductField, placeholders?: ReadonlySet<string>): string | undefined {
    const given = this.optionalText(field, placeholders)
    if (given === undefined) return undefined
    const text = this.clean(field, given)
    if (text.length <= maxTextLength) return text === '' ? undefined : text
    this.warn('VALUE_TOO_LONG', field, `has ${text.length} characters, ${maxTextLength} are allowed`)
    return undefined
  }

  /**
   * Returns the result of `read` for an optional field as JSON. Reuses the result of an earlier row with the same cell, if it caused no
   * warning. So `read` must depend only on the cell and the rules.
   *
   * @throws {RowRejected} as `read`
   */
  memoizedJson(field: ProductField, read: (row: ProductRow) => string | undefined): string | undefined {
    const bound = this.binding[field]
    if (bound === undefined) return undefined
    const { compute, transforms } = bound.mapping
    // Results of functions and transforms are not reused: they may throw, and a function may read other cells.
    const cell = compute === undefined && transforms.length === 0 ? bound.read(this.rawRow) : undefined
    if (typeof cell !== 'string') return quoted(read(this))
    const memo = this.rules.jsonMemos[field]
    const cached = memo.get(cell)
    if (cached !== undefined) return cached
    const warningsBefore = this.warnings.length
    const json = quoted(read(this))
    if (json !== undefined && this.warnings.length === warningsBefore) memo.set(cell, json)
    return json
  }

  /** Returns the cell of an optional field. If a transform fails, returns undefined with a warning. */
  cell(field: ProductField): Cell | undefined {
    try {
      return this.binding[field]?.read(this.rawRow)
    } catch (error) {
      if (!(error instanceof TransformError)) throw error
      this.warn('TRANSFORM_DROPPED', field, `${error.message} (${error.transform})`)
      this.#failedFields ??= []
      this.#failedFields.push(field)
      return undefined
    }
  }

  /** Returns true if a transform of this optional field has already failed for this row. */
  transformFailed(field: ProductField): boolean {
    return this.#failedFields?.includes(field) === true
  }

  /**
   * Decodes entities that were escaped twice, and removes control and invisible characters as `stripControls`. Warns about each, and about
   * garbled text.
   */
  clean(field: ProductField, text: string): string {
    if (isPlainText(text)) return text
    let clean = text
    if (clean.includes('&')) {
      const decoded = decodeEntities(clean)
      if (decoded !== clean) this.warn('ENTITIES_DECODED', field, 'was escaped twice')
      clean = decoded
    }
    if (looksGarbled(clean)) this.warn('TEXT_GARBLED', field, 'contains characters of a wrong encoding')
    const plain = stripControls(clean, field === 'description' ? '\n' : ' ')
    if (plain !== clean) this.warn('TEXT_CLEANED', field, 'contained control or invisible characters')
    return plain === text ? text : trimText(plain)
  }
}

function quoted(value: string | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value)
}
