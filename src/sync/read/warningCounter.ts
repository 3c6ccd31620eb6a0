import type { Warning } from '../../model/record.ts'
import { maxWarningLines, type WarningSummary } from '../../model/report.ts'

/** Maximum number of combinations of code and field. Warnings with further combinations are not counted. */
const maxSummaries = 500

/** Counts warnings by code and field. Of each combination, keeps the message and hint of its first warning, and its first lines. */
export class WarningCounter {
  readonly #summaries = new Map<string, { code: string; field: string; message: string; count: number; lines: number[]; hint?: string }>()

  /** Adds the warning of one row. */
  add({ line, ...warning }: Warning): void {
    this.addSummary({ ...warning, count: 1, lines: [line] })
  }

  /** Adds a warning that was already counted over the rows of a source. */
  addSummary({ code, field, message, count, lines, hint }: WarningSummary): void {
    const id = `${code}\0${field}`
    const summary = this.#summaries.get(id)
    if (summary) {
      summary.count += count
      summary.lines.push(...lines.slice(0, maxWarningLines - summary.lines.length))
    } else if (this.#summaries.size < maxSummaries) {
      this.#summaries.set(id, {
        code,
        field,
        message,
        count,
        lines: lines.slice(0, maxWarningLines),
        ...(hint === undefined ? {} : { hint }),
      })
    }
  }

  /** Returns the warnings, the most frequent first; equally frequent warnings by first line, then by code and field. */
  summaries(): readonly WarningSummary[] {
    return [...this.#summaries.values()].sort(
      (a, b) => b.count - a.count || (a.lines[0] ?? 0) - (b.lines[0] ?? 0) || (a.code + a.field < b.code + b.field ? -1 : 1),
    )
  }
}
