import type { StoredReject } from './history.ts'

const reasons = ['line', 'code', 'field', 'message', 'hint'] as const

/** Returns names of the reason columns that do not collide with the merchant's: a corrected copy must have unique names. */
export function reasonColumns(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns.map((column) => column.toLowerCase()))
  return reasons.map((name) => (taken.has(name) ? `reject_${name}` : name))
}

/** Returns the cells of the reason columns, with all faults of the row: the copy has one line per row, to be sent again. */
export function reasonCells({ line, more, ...first }: Pick<StoredReject, (typeof reasons)[number] | 'more'>): readonly string[] {
  const faults = [first, ...more]
  const joined = (texts: readonly string[]) => [...new Set(texts)].join('; ')
  return [
    String(line),
    joined(faults.map(({ code }) => code)),
    joined(faults.map(({ field }) => field)),
    joined(faults.map(({ message }) => message)),
    joined(faults.map(({ hint }) => hint)),
  ]
}
