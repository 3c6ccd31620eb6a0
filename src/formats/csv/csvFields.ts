import { createRequire } from 'node:module'
import type * as csvParse from 'csv-parse/sync'
import { listOf } from '../../unknownValue.ts'

let parser: typeof csvParse | undefined

/** Returns csv-parse. Loads it at the first call, because few files have a record with a quote in an unusual place. */
function csvParser(): typeof csvParse {
  return (parser ??= createRequire(import.meta.url)('csv-parse/sync') as typeof csvParse) // require has no types
}

/**
 * Splits one record with well-formed quoting into its fields. A property test compares the result with csv-parse. A record with the flag
 * `oddQuote` needs `splitOddFields`.
 */
export function splitFields(text: string, delimiter: string, quote: string): string[] {
  const fields: string[] = []
  const length = text.length
  let at = 0
  for (;;) {
    if (quote !== '' && text.startsWith(quote, at)) {
      let close = text.indexOf(quote, at + 1)
      let doubled = false
      while (close !== -1 && text[close + 1] === quote) {
        doubled = true
        close = text.indexOf(quote, close + 2)
      }
      // The splitter passes only records with closed quotes. This line prevents an endless loop for any other record.
      if (close === -1) close = length
      const field = text.slice(at + 1, close)
      fields.push(doubled ? field.replaceAll(quote + quote, quote) : field)
      at = close + 1
      if (at >= length) return fields
      at += 1
    } else {
      const end = text.indexOf(delimiter, at)
      if (end === -1) {
        fields.push(text.slice(at))
        return fields
      }
      fields.push(text.slice(at, end))
      at = end + 1
    }
  }
}

/**
 * Returns the fields of a record with a quote in an unusual place, by csv-parse. Returns undefined if csv-parse rejects the record, or
 * finds more than one record in it.
 */
export function splitOddFields(text: string, delimiter: string, quote: string): readonly string[] | undefined {
  try {
    const records: unknown = csvParser().parse(text, {
      delimiter,
      quote: quote === '' ? null : quote,
      relax_column_count: true,
      record_delimiter: ['\r\n', '\n', '\r'],
    })
    if (!Array.isArray(records) || records.length !== 1) return undefined
    return listOf(records[0]).map(String)
  } catch {
    return undefined
  }
}

/**
 * Returns the fields of a record in which a quote inside an unquoted field is text (`5" nail`; docs/inputs.md, case 19).
 * `quoteFieldIndex`: index of the first field with such a quote; -1 if there is none. `isAmbiguous`: true if the end of a field is
 * ambiguous. Then `fields` has only the fields before it. The end is ambiguous in these cases:
 * - text follows a closing quote
 * - a quote is not closed
 * - a line end is in an unquoted field
 */
export function splitRelaxedFields(
  text: string,
  delimiter: string,
  quote: string,
): { readonly fields: readonly string[]; readonly quoteFieldIndex: number; readonly isAmbiguous: boolean } {
  const fields: string[] = []
  let quoteFieldIndex = -1
  let at = 0
  for (;;) {
    let field: string
    if (text.startsWith(quote, at)) {
      let close = text.indexOf(quote, at + 1)
      while (close !== -1 && text[close + 1] === quote) close = text.indexOf(quote, close + 2)
      if (close === -1) return { fields, quoteFieldIndex, isAmbiguous: true }
      field = text.slice(at + 1, close).replaceAll(quote + quote, quote)
      at = close + 1
      if (at < text.length && !text.startsWith(delimiter, at)) return { fields, quoteFieldIndex, isAmbiguous: true }
    } else {
      const delimiterAt = text.indexOf(delimiter, at)
      field = text.slice(at, delimiterAt === -1 ? text.length : delimiterAt)
      // `CsvSplitter` compares only the last byte of a delimiter outside ASCII. So it may take another letter for the delimiter, and a
      // quote after this letter for an opening quote. A line end then seems to be a part of a quoted field.
      if (/[\r\n]/.test(field)) return { fields, quoteFieldIndex, isAmbiguous: true }
      if (quoteFieldIndex < 0 && field.includes(quote)) quoteFieldIndex = fields.length
      at += field.length
    }
    fields.push(field)
    if (at >= text.length) return { fields, quoteFieldIndex, isAmbiguous: false }
    at += delimiter.length
  }
}
