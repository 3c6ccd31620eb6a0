import type { Fault } from '../../model/record.ts'
import type { Output } from '../context.ts'
import { count, cut, fold, plural, safe } from '../terminal/text.ts'

export type ShownReject = Fault & { readonly line: number }

/** Returns every fault of one rejected row as its own entry, with the line of the row. `more`: faults after the first. */
export function faultsOf(reject: ShownReject & { readonly more?: readonly Fault[] }): readonly ShownReject[] {
  const { line, code, field, message, hint, more = [] } = reject
  return [{ code, field, message, hint }, ...more].map((fault) => ({ line, ...fault }))
}

/** Faults of one code and field, with their number and the first rows. */
export interface ShownRejectGroup {
  readonly code: string
  readonly field: string
  readonly hint: string
  readonly count: number
  readonly samples: readonly Pick<ShownReject, 'line' | 'message'>[]
}

const maxSamples = 3

/** Groups rejects by code and field, the most frequent first. */
export function groupRejects(rejects: Iterable<ShownReject>): readonly ShownRejectGroup[] {
  return Map.groupBy(rejects, ({ code, field }) => `${code} ${field}`)
    .values()
    .flatMap((group) =>
      group.slice(0, 1).map(({ code, field, hint }) => ({ code, field, hint, count: group.length, samples: group.slice(0, maxSamples) })),
    )
    .toArray()
    .sort((a, b) => b.count - a.count || a.code.localeCompare(b.code))
}

export function renderRejects(rejects: Iterable<ShownReject>, output: Output): string {
  return renderGroups(groupRejects(rejects), output)
}

/** Formats each group: code, number, field and hint, then a line for each of its first rows. */
export function renderGroups(groups: readonly ShownRejectGroup[], output: Output): string {
  const cutLine = (line: string) => `${cut(line, output.columns)}\n`
  const widest = Math.max(...groups.map((group) => group.code.length), 0)
  return groups
    .map((group) => {
      const samples = group.samples.map(({ line, message }) => cutLine(`  line ${String(line).padEnd(7)} ${safe(message)}`)).join('')
      const more = group.count - group.samples.length
      return (
        `${fold(`${group.code.padEnd(widest)}  ${plural(group.count, 'row')}  ${safe(group.field)}   hint: ${safe(group.hint)}`, output.columns)}\n` +
        samples +
        (more > 0 ? `  … ${count(more)} more\n` : '')
      )
    })
    .join('')
}
