import { count, safe } from '../text.ts'

/** One line of notes: a code, how often, and what was found. */
export interface Note {
  readonly code: string
  readonly field: string
  readonly message: string
  readonly count: number
  /** The first lines of the source it stands on; none for notes on the whole. */
  readonly lines: readonly number[]
}

/**
 * Notes as people read them, without line ends. Columns that nobody reads, or that are gone, are one line with their names:
 * exports have dozens. Those with a suggestion keep a line of their own, and one that another note names is not named twice.
 */
export function noteLines(notes: readonly Note[]): readonly string[] {
  const told = new Set(notes.filter(({ code }) => code === 'CONSENT_UNMAPPED' || code === 'LEFT_UNMAPPED').map(({ field }) => field))
  const lists: Readonly<Record<string, string[]>> = { COLUMN_SPELLED: [], COLUMN_UNKNOWN: [], COLUMN_VANISHED: [] }
  const lines: string[] = []
  for (const note of notes) {
    const list = lists[note.code]
    if (list === undefined || /did you mean|map: \{/.test(note.message)) lines.push(noteLine(note))
    else if (note.code !== 'COLUMN_UNKNOWN' || !told.has(note.field)) list.push(note.field)
  }
  const said = { COLUMN_SPELLED: 'read in spite of its spelling', COLUMN_UNKNOWN: 'not used', COLUMN_VANISHED: 'there last time, and gone' }
  for (const [code, what] of Object.entries(said)) {
    const columns = lists[code] ?? []
    if (columns.length > 0)
      lines.push(`note  ${code}  ${count(columns.length)} ×  ${what}: ${safe(columns.map((column) => JSON.stringify(column)).join(', '))}`)
  }
  return lines
}

function noteLine({ code, message, count: times, lines }: Note): string {
  const where = lines.length === 0 ? '' : `   line ${lines.slice(0, 3).join(', ')}${times > 3 ? ' …' : ''}`
  return `note  ${code}  ${count(times)} ×  ${safe(message)}${where}`
}
