/** Reads the id of a product, and brand, gtin and mpn (spec 2.2). */
import { firstText } from '../fields.ts'
import { maskedExcerpt } from '../redactPersonalData.ts'
import { hasInvisible, isBroken, stripControls, trimText, withoutInvisible } from '../text.ts'
import { parseGtin } from './gtin.ts'
import { RowRejected, type ProductRow } from './productRow.ts'
import { brandPlaceholders, spreadsheetDamage } from './vocabulary.ts'

const plainId = /^[\w.-]+$/
/** Matches every plain id that `spreadsheetDamage` matches, such as `1-Mar`, and some others. */
const maybeDamagedId = /^\d{1,2}-[A-Z]/

/**
 * Returns the id, trimmed and in NFC.
 *
 * @throws {RowRejected} if the id is missing, too long, broken (`isBroken`) or damaged by a spreadsheet
 * @throws {RowRejected} if the id has several different values, or control or invisible characters
 * @throws {TransformError} if a transform of the id fails
 */
export function idOf(row: ProductRow): string {
  const cell = row.binding.id?.read(row.rawRow)
  // Shortcut: most ids have this form, and pass all checks below unchanged.
  if (typeof cell === 'string' && plainId.test(cell) && cell.length <= row.rules.options.maxIdLength && !maybeDamagedId.test(cell))
    return cell
  if (typeof cell === 'object' && new Set(cell.map(trimText)).size > 1)
    throw new RowRejected('ID_INVALID', 'id', `has ${cell.length} values, expected one`)
  const raw = firstText(cell) ?? ''
  const text = trimText(raw)
  if (text === '') throw new RowRejected('FIELD_MISSING', 'id', 'is missing')
  if (isBroken(text)) throw new RowRejected('TEXT_BROKEN', 'id', 'contains a NUL or half of a character pair')
  if (hasInvisible(text)) throw new RowRejected('ID_INVALID', 'id', 'contains control or invisible characters')
  if (spreadsheetDamage.test(text))
    throw new RowRejected('SPREADSHEET_DAMAGE', 'id', `"${maskedExcerpt(text)}" was changed by a spreadsheet`)
  const id = text.normalize('NFC')
  if (id.length > row.rules.options.maxIdLength)
    throw new RowRejected('ID_TOO_LONG', 'id', `has ${id.length} characters, ${row.rules.options.maxIdLength} are allowed`)
  if (id !== text) row.warn('ID_NORMALIZED', 'id', 'was changed to the Unicode form NFC')
  if (/[/,%\u0080-\uffff]/.test(id)) row.warn('ID_UNUSUAL', 'id', 'contains a slash, a comma, a percent sign or characters outside ASCII')
  return id
}

/**
 * Returns the id of a rejected row, so that its product stays as it was. If `idOf` rejects the id because of invisible characters, removes
 * them, except tabs and line ends. Undefined if the id cannot be read.
 *
 * @throws {TransformError} if a transform of the id fails
 */
export function idOfRejected(row: ProductRow): string | undefined {
  try {
    return idOf(row)
  } catch (error) {
    if (!(error instanceof RowRejected)) throw error
    const cell = row.binding.id?.read(row.rawRow)
    if (typeof cell !== 'string' || !hasInvisible(cell)) return undefined
    const id = trimText(withoutInvisible(stripControls(cell, ' '))).normalize('NFC')
    return id === '' || isBroken(id) ? undefined : id
  }
}

/**
 * Returns brand, gtin and mpn (spec 2.2; docs/inputs.md, cases 87 to 89): the brand as JSON, the others as text. Drops an invalid gtin with
 * a warning if there is a brand or mpn.
 *
 * @throws {RowRejected} if none of the three is valid, or if the text of one is broken (`isBroken`)
 */
export function brandGtinMpnOf(row: ProductRow): readonly [brand: string | undefined, gtin: string | undefined, mpn: string | undefined] {
  const brand = row.memoizedJson('brand', brandOf)
  const mpn = row.cleanText('mpn')
  const text = row.optionalText('gtin')
  const parsed = text === undefined ? undefined : parseGtin(text)
  if (parsed !== undefined && 'invalid' in parsed) {
    if (brand === undefined && mpn === undefined) throw new RowRejected('GTIN_INVALID', 'gtin', parsed.invalid)
    row.warn('GTIN_DROPPED', 'gtin', parsed.invalid)
    return [brand, undefined, mpn]
  }
  if (parsed === undefined && brand === undefined && mpn === undefined)
    throw new RowRejected('IDENTIFIER_MISSING', 'brand', 'is missing, and so are gtin and mpn')
  if (parsed?.isNormalized === true) row.warn('GTIN_NORMALIZED', 'gtin', 'had other characters than digits, or was an ISBN-10')
  return [brand, parsed?.gtin, mpn]
}

const brandOf = (row: ProductRow) => row.cleanText('brand', brandPlaceholders)
