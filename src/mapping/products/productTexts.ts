/** Reads the texts of a product: title, description, words of the service, color, categories. */
import { maskedExcerpt } from '../redactPersonalData.ts'
import { stripHtml } from '../html.ts'
import { cutAtGrapheme, hasVisible, trimText } from '../text.ts'
import { RowRejected, type ProductRow } from './productRow.ts'
import { spreadsheetDamage, topLevelCategories, acceptedWords } from './vocabulary.ts'

const maxTitle = 150
const maxDescription = 5000

/**
 * Returns the title as it is sent. `options.allow: [cut_title]` cuts a longer one at `maxTitle`.
 *
 * @throws {RowRejected} if the title is empty, broken or damaged by a spreadsheet, or is too long without that option
 * @throws {TransformError} if a transform fails
 */
export function titleOf(row: ProductRow): string {
  const title = row.clean('title', row.requiredText('title'))
  if (!hasVisible(title)) throw new RowRejected('FIELD_MISSING', 'title', 'is missing')
  if (spreadsheetDamage.test(title))
    throw new RowRejected('SPREADSHEET_DAMAGE', 'title', `"${maskedExcerpt(title)}" was changed by a spreadsheet`)
  if (title.length <= maxTitle) return title
  if (!row.rules.allowed.has('cut_title'))
    throw new RowRejected('TITLE_TOO_LONG', 'title', `has ${title.length} characters, ${maxTitle} are allowed`)
  row.warn('TITLE_CUT', 'title', `had ${title.length} characters`)
  return cutAtGrapheme(title, maxTitle)
}

/**
 * Returns the description without HTML. `options.allow: [cut_description]` cuts a longer one at `maxDescription`.
 *
 * @throws {RowRejected} if the description is empty or broken, contains markup that `stripHtml` keeps, or is too long without that option
 * @throws {TransformError} if a transform fails
 */
export function descriptionOf(row: ProductRow): string {
  const clean = row.clean('description', row.requiredText('description'))
  const plain = stripHtml(clean)
  if (plain !== clean) row.warn('DESCRIPTION_HTML', 'description', 'contained HTML')
  const description = trimText(plain)
  if (!hasVisible(description)) throw new RowRejected('DESCRIPTION_EMPTY', 'description', 'is empty without HTML and invisible characters')
  const tag = description.includes('<') ? tagLike.exec(description)?.[0] : undefined
  if (tag !== undefined)
    throw new RowRejected('DESCRIPTION_MARKUP', 'description', `contains "${maskedExcerpt(tag)}", which the service reads as HTML`)
  if (description.length <= maxDescription) return description
  if (!row.rules.allowed.has('cut_description'))
    throw new RowRejected('DESCRIPTION_TOO_LONG', 'description', `has ${description.length} characters, ${maxDescription} are allowed`)
  row.warn('DESCRIPTION_CUT', 'description', `had ${description.length} characters`)
  return cutAtGrapheme(description, maxDescription)
}

// Matches markup that `stripHtml` keeps: tags that are not of HTML, and comments without an end. The service requires plain text (spec
// 2.2).
const tagLike = /<\/?[a-z][a-z0-9]*(?:\s[^<>]*|\/?\s*)>|<!--|<!doctype[^<>]*>/i

/**
 * Returns the service's word for the text of a required field (`knownWord`).
 *
 * @throws {RowRejected} if the field is missing or broken, or its word is not known
 * @throws {TransformError} if a transform fails
 */
export function serviceWordOf(row: ProductRow, field: 'availability' | 'condition'): string {
  const text = row.requiredText(field)
  const word = knownWord(row, field, text)
  if (word === undefined)
    throw new RowRejected(
      field === 'availability' ? 'AVAILABILITY_UNKNOWN' : 'CONDITION_UNKNOWN',
      field,
      `"${maskedExcerpt(text)}" is not known`,
    )
  return word
}

/**
 * Returns the service's word for the text of an optional field (`knownWord`); undefined for an empty cell. Also undefined, with a warning,
 * for a placeholder, a failed transform or an unknown word.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`)
 */
export function optionalServiceWordOf(row: ProductRow, field: 'gender' | 'age_group'): string | undefined {
  const text = row.optionalText(field)
  if (text === undefined) return undefined
  const word = knownWord(row, field, text)
  if (word === undefined) row.warn('VALUE_DROPPED', field, `"${maskedExcerpt(text)}" is not known`)
  return word
}

/** Returns true for a hex code. Without `#` it must have a digit: `beaded` is a word. */
const isHexCode = (color: string): boolean =>
  /^#[0-9a-f]{3,8}$/i.test(color) || (/^(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(color) && /\d/.test(color))

/**
 * Returns the color; undefined if `cleanText` returns undefined. Also undefined, with a warning, for a hex code, over 100 characters or
 * more than ten colors.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`)
 */
export function colorOf(row: ProductRow): string | undefined {
  const color = row.cleanText('color')
  if (color === undefined) return undefined
  const isColor = !isHexCode(color) && color.length <= 100 && color.split(/[/,;|]/).length <= 10
  if (isColor) return color
  row.warn('VALUE_DROPPED', 'color', 'is not a color word')
  return undefined
}

/**
 * Returns a category with ` > ` between its levels; undefined if `cleanText` returns undefined. Warns about a `google_product_category`
 * that is not a number from 1 and does not begin with one of `topLevelCategories`.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`)
 */
export function categoryOf(row: ProductRow, field: 'google_product_category' | 'product_type'): string | undefined {
  const text = row.cleanText(field)
  if (text === undefined) return undefined
  if (field === 'google_product_category' && !/^[1-9]\d*$/.test(text) && !topLevelCategories.has(text.split('>', 1)[0]?.trim() ?? ''))
    row.warn('CATEGORY_UNUSUAL', field, 'is neither a category number nor a path of the taxonomy')
  if (!text.includes('>')) return text
  const levels = text.replace(/(?:(?<!\s)\s+)?>\s*/g, ' > ').trim()
  if (levels !== text) row.warn('SEPARATOR_NORMALIZED', field, 'now has " > " between its levels')
  return levels
}

/**
 * Returns the service's word for a text, by `acceptedWords` or `options.values`; undefined for an unknown word. Ignores case, and an
 * underscore counts as a space. Warns if the word differs from the text.
 */
function knownWord(row: ProductRow, field: keyof typeof acceptedWords, text: string): string | undefined {
  if (acceptedWords[field].has(text)) return text
  const normalized = text.toLowerCase().replace(/[_\s]+/g, ' ')
  const found = acceptedWords[field].has(normalized) ? normalized : configuredWord(row.rules.values.get(field), text, normalized)
  if (found !== undefined) row.warn('WORD_NORMALIZED', field, `"${maskedExcerpt(text)}" is sent as "${found}"`)
  return found
}

/**
 * Returns the word in `options.values` for a text, its normalized form, or its part after the last slash, as in
 * `https://schema.org/InStock`. `words`: entries of the field, with keys in lower case.
 */
function configuredWord(words: ReadonlyMap<string, string> | undefined, text: string, normalized: string): string | undefined {
  const lastPart = text.slice(text.lastIndexOf('/') + 1)
  return words?.get(text.toLowerCase()) ?? words?.get(normalized) ?? words?.get(lastPart.toLowerCase())
}
