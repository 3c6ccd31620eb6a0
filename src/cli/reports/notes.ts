import type { WarningSummary } from '../../model/report.ts'
import { mergeNotes } from '../../sync/reports/mergeNotes.ts'
import { count, safe } from '../terminal/text.ts'

/** Returns the notes as lines. */
export function noteLines(notes: readonly WarningSummary[]): readonly string[] {
  return mergeNotes(notes).map(noteLine)
}

function noteLine({ code, message, count: times, lines }: WarningSummary): string {
  const where = lines.length === 0 ? '' : `   line ${lines.slice(0, 3).join(', ')}${times > 3 ? ' …' : ''}`
  return `note  ${code}  ${count(times)} ×  ${safe(message)}${where}`
}
