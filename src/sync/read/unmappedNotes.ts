/** Notes on columns that no setting uses, and their hints. */
import type { UnmappedReport } from '../../mapping/members/unmappedColumns.ts'
import type { WarningSummary } from '../../model/report.ts'

/**
 * Returns a note on each column of emails or phone numbers that no setting uses. The hint is the setting to write (`identifierHint`). The
 * counts include the rows of earlier sources.
 */
export function identifierNotes({ identifiers, identifierHint: hint }: UnmappedReport): readonly WarningSummary[] {
  return identifiers.map(({ column, message, count, lines }) => ({
    code: 'IDENTIFIER_UNMAPPED',
    field: column,
    message,
    count,
    lines,
    ...(hint === undefined ? {} : { hint }),
  }))
}

const consentCodes: readonly string[] = ['CONSENT_UNMAPPED', 'LEFT_UNMAPPED', 'CONSENT_UNKNOWN']

/**
 * Adds a hint to a note about consent, in most cases the setting `consent:` for this file. For an unmapped column, also adds values of the
 * column to the message. Returns a note about something else unchanged.
 */
export function withConsentHint<Note extends Pick<WarningSummary, 'code' | 'field' | 'message' | 'hint'>>(
  note: Note,
  unmapped: UnmappedReport,
): Note {
  if (!consentCodes.includes(note.code)) return note
  if (note.code === 'CONSENT_UNKNOWN') return { ...note, hint: note.hint ?? hintOfUnknown(note.field, unmapped) }
  const values = unmapped.shownValues(note.field)
  return {
    ...note,
    ...(values === '' ? {} : { message: `${note.message}: ${values}` }),
    ...(unmapped.consentHint === undefined ? {} : { hint: unmapped.consentHint }),
  }
}

/**
 * Returns the hint for a note `CONSENT_UNKNOWN` on a file that is not as its preset expects. `field`: `remove`, `file` or `consent`
 * (mapping/members/bindTests.ts).
 */
function hintOfUnknown(field: string, { consentHint }: UnmappedReport): string {
  if (field === 'remove')
    return 'guards: { accept: [CONSENT_UNKNOWN] }, if every person of the file belongs on the list; else export the file with that column'
  if (field === 'file') return 'read the file of subscribed people, or set consent: none if every person in this one agreed'
  return consentHint ?? 'export the file again with that column, or set consent: none if every person in it agreed'
}
