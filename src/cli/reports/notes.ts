import { redactPersonalData } from '../../mapping/redactPersonalData.ts'
import type { WarningSummary } from '../../model/report.ts'
import { count, safe } from '../terminal/text.ts'

/** Codes of notes about an unused column. Their message names the column, so it is not listed as unused too. */
const codesWithColumn: readonly string[] = ['CONSENT_UNMAPPED', 'LEFT_UNMAPPED', 'CONSENT_OTHER_CHANNEL', 'IDENTIFIER_UNMAPPED']

/**
 * Returns the notes as lines. All unused columns share one line, because exports may have dozens of them. Missing columns share a line too,
 * and so do columns whose names were matched ignoring case. A note with a suggestion has its own line.
 */
export function noteLines(notes: readonly WarningSummary[]): readonly string[] {
  const named = new Set(notes.flatMap(({ code, field }) => (codesWithColumn.includes(code) ? [field] : [])))
  const lists: Readonly<Record<string, string[]>> = { COLUMN_SPELLED: [], COLUMN_UNKNOWN: [], COLUMN_VANISHED: [] }
  const lines: string[] = []
  for (const note of notes) {
    const columns = lists[note.code]
    if (columns === undefined || /did you mean|map: \{/.test(note.message)) lines.push(noteLine(note))
    else if (note.code !== 'COLUMN_UNKNOWN' || !named.has(note.field)) columns.push(redactPersonalData(note.field))
  }
  const meanings = {
    COLUMN_SPELLED: 'column names matched ignoring case',
    COLUMN_UNKNOWN: 'not used',
    COLUMN_VANISHED: 'in the last run, missing now',
  }
  for (const [code, meaning] of Object.entries(meanings)) {
    const columns = lists[code] ?? []
    if (columns.length > 0)
      lines.push(
        `note  ${code}  ${count(columns.length)} ×  ${meaning}: ${safe(columns.map((column) => JSON.stringify(column)).join(', '))}`,
      )
  }
  return lines
}

function noteLine({ code, message, count: times, lines }: WarningSummary): string {
  const where = lines.length === 0 ? '' : `   line ${lines.slice(0, 3).join(', ')}${times > 3 ? ' …' : ''}`
  return `note  ${code}  ${count(times)} ×  ${safe(message)}${where}`
}
