import type { StoredReject } from '../sync/history.ts'

const reasons = ['line', 'code', 'field', 'message', 'mend'] as const

/** Ours give way where the merchant has a column of that name: a corrected copy must have no name twice. */
export function reasonColumns(columns: readonly string[]): readonly string[] {
  const taken = new Set(columns.map((column) => column.toLowerCase()))
  return reasons.map((name) => (taken.has(name) ? `reject_${name}` : name))
}

export function reasonCells({ line, code, field, message, mend }: Pick<StoredReject, (typeof reasons)[number]>): readonly string[] {
  return [String(line), code, field, message, mend]
}
