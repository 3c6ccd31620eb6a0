import { parse } from 'csv-parse/sync'

/**
 * Splits one record whose quoting is well formed into its fields; equal to csv-parse on such records, which a property
 * test holds it to. Not for records flagged `oddQuote`: see `splitOddRecord`.
 */
export function splitRecord(text: string, delimiter: string, quote: string): string[] {
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
      // The cutter has seen the quote closed; without this line a mistake there would loop for ever here.
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

/** Fields of a record with a quote in an unusual place, as csv-parse sees it; undefined where it refuses the record. */
export function splitOddRecord(text: string, delimiter: string, quote: string): readonly string[] | undefined {
  try {
    const records: unknown = parse(text, {
      delimiter,
      quote: quote === '' ? null : quote,
      relax_column_count: true,
      record_delimiter: ['\r\n', '\n', '\r'],
    })
    if (!Array.isArray(records) || records.length !== 1) return undefined
    const [only] = records as readonly (readonly string[])[]
    return only
  } catch {
    return undefined
  }
}

/**
 * Fields of a record in which a quote inside an unquoted field is text (`5" nail`); undefined where a quoted field goes
 * on behind its closing quote, which says nothing certain about where it ends. Source: docs/inputs.md, case 19.
 */
export function splitRelaxed(text: string, delimiter: string, quote: string): readonly string[] | undefined {
  const fields: string[] = []
  let at = 0
  for (;;) {
    if (text.startsWith(quote, at)) {
      let close = text.indexOf(quote, at + 1)
      while (close !== -1 && text[close + 1] === quote) close = text.indexOf(quote, close + 2)
      if (close === -1) return undefined
      fields.push(text.slice(at + 1, close).replaceAll(quote + quote, quote))
      at = close + 1
      if (at < text.length && !text.startsWith(delimiter, at)) return undefined
    } else {
      const found = text.indexOf(delimiter, at)
      const field = text.slice(at, found === -1 ? text.length : found)
      // Of a delimiter outside ASCII the cutter sees the last byte alone, and may have taken another letter for it.
      if (/[\r\n]/.test(field)) return undefined
      fields.push(field)
      at += field.length
    }
    if (at >= text.length) return fields
    at += delimiter.length
  }
}
