import type { Warning } from '../../model/record.ts'
import { linesKept, type WarningSummary } from '../../model/report.ts'

/** Maximum number of different warnings, by code and field. Further ones are not counted. */
const maxKinds = 500

/** Counts warnings by code and field. Keeps the message and hint of the first, and the first five lines. Memory is bounded for any feed. */
export class WarningCounter {
  readonly #kinds = new Map<string, { code: string; field: string; message: string; count: number; lines: number[]; hint?: string }>()

  /** Adds the warning of one row. */
  add({ line, ...warning }: Warning): void {
    this.addSummary({ ...warning, count: 1, lines: [line] })
  }

  /** Adds a warning that was already counted over the rows of a source. */
  addSummary({ code, field, message, count, lines, hint }: WarningSummary): void {
    const id = `${code}\0${field}`
    const kind = this.#kinds.get(id)
    if (kind) {
      kind.count += count
      kind.lines.push(...lines.slice(0, linesKept - kind.lines.length))
    } else if (this.#kinds.size < maxKinds) {
      this.#kinds.set(id, { code, field, message, count, lines: lines.slice(0, linesKept), ...(hint === undefined ? {} : { hint }) })
    }
  }

  /** Returns the warnings, the most frequent first; equally frequent warnings by first line, then by code and field. */
  summaries(): readonly WarningSummary[] {
    return [...this.#kinds.values()].sort(
      (a, b) => b.count - a.count || (a.lines[0] ?? 0) - (b.lines[0] ?? 0) || (a.code + a.field < b.code + b.field ? -1 : 1),
    )
  }
}
