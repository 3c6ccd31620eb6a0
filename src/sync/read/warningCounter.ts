import type { Warning } from '../../records/record.ts'
import type { WarningSummary } from '../report.ts'

const linesKept = 5
/** Warnings differ by code and field; a feed that has more kinds than this is told so by the kinds it has. */
const kindsKept = 500

/** Counts warnings by code and field and keeps the first lines: memory is bounded, whatever the feed says. */
export class WarningCounter {
  readonly #kinds = new Map<string, { code: string; field: string; message: string; count: number; lines: number[] }>()

  add(warning: Warning): void {
    const id = `${warning.code}\0${warning.field}`
    const kind = this.#kinds.get(id)
    if (kind) {
      kind.count++
      if (kind.lines.length < linesKept) kind.lines.push(warning.line)
    } else if (this.#kinds.size < kindsKept) {
      this.#kinds.set(id, { code: warning.code, field: warning.field, message: warning.message, count: 1, lines: [warning.line] })
    }
  }

  /** Most frequent first. */
  summaries(): readonly WarningSummary[] {
    return [...this.#kinds.values()].sort((a, b) => b.count - a.count)
  }
}
