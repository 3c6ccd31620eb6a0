import { redactPersonalData } from '../../mapping/redactPersonalData.ts'
import type { WarningSummary } from '../../model/report.ts'

/** Codes of notes about an unused column. Their message names the column, so it is not listed as unused too. */
const codesWithColumn: readonly string[] = ['CONSENT_UNMAPPED', 'LEFT_UNMAPPED', 'CONSENT_OTHER_CHANNEL', 'IDENTIFIER_UNMAPPED']

const meanings = {
  COLUMN_SPELLED: 'column names matched ignoring case',
  COLUMN_UNKNOWN: 'not used',
  COLUMN_VANISHED: 'in the last run, missing now',
}

/**
 * Returns the notes to show. All unused columns share one note, because exports may have dozens of them. Missing columns share a note too,
 * and so do columns whose names were matched ignoring case. A note with a suggestion stays alone.
 */
export function mergeNotes(notes: readonly WarningSummary[]): readonly WarningSummary[] {
  const named = new Set(notes.flatMap(({ code, field }) => (codesWithColumn.includes(code) ? [field] : [])))
  const lists: Readonly<Record<string, string[]>> = { COLUMN_SPELLED: [], COLUMN_UNKNOWN: [], COLUMN_VANISHED: [] }
  const shown: WarningSummary[] = []
  for (const note of notes) {
    const columns = lists[note.code]
    if (columns === undefined || /did you mean|map: \{/.test(note.message)) shown.push(note)
    else if (note.code !== 'COLUMN_UNKNOWN' || !named.has(note.field)) columns.push(redactPersonalData(note.field))
  }
  for (const [code, meaning] of Object.entries(meanings)) {
    const columns = lists[code] ?? []
    if (columns.length === 0) continue
    const message = `${meaning}: ${columns.map((column) => JSON.stringify(column)).join(', ')}`
    shown.push({ code, field: '', count: columns.length, message, lines: [] })
  }
  return shown
}
