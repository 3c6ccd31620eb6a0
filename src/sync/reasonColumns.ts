import type { StoredReject } from './history.ts'

const reasons = ['line', 'code', 'field', 'message', 'hint'] as const

/** Ours give way where the merchant has a column of that name: a corrected copy must have no name twice. */
export function reasonColumns(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns.map((column) => column.toLowerCase()))
  return reasons.map((name) => (taken.has(name) ? `reject_${name}` : name))
}

/** All faults of a row in one cell each: the copy has one line for each row, to be sent again. */
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
