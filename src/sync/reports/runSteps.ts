/** Groups the counts of a run by step, and names them for reports. */
import { count as formatCount } from '../../format.ts'
import type { RunCounts, Settled } from '../../model/report.ts'

type CountName = Exclude<keyof RunCounts, 'read' | 'requests'>

/** Count of a run as reports show it. */
export interface Figure {
  readonly countName: CountName
  readonly name: string
  readonly value: number
  /** Explanation of the name, if it needs one. */
  readonly note: string
}

/** Step of a run. When the run has ended, the parts of a step add up to `whole`. */
export interface Step {
  readonly name: string
  readonly whole: number
  readonly parts: readonly Figure[]
}

const notes: Partial<Record<CountName, string>> = {
  filtered: 'left out by only: and except:',
  stale: 'rejected rows; their last version stays live',
  withheld: 'by a guard: deletes, or products to set out of stock',
  deferred: 'not in this plan; the next run sends them',
}

export function reportWordOf(name: CountName): string {
  return name === 'ambiguous' ? 'unresolved' : name === 'pending' ? 'not sent' : name
}

/** Returns one figure from `counts` for each of `names`. Leaves out `filtered` if the pipeline has no filters. */
export function figures(counts: Partial<RunCounts>, ...names: readonly CountName[]): readonly Figure[] {
  return names
    .filter((name) => name !== 'filtered' || counts.filtered !== undefined)
    .map((name) => ({ countName: name, name: reportWordOf(name), value: counts[name] ?? 0, note: notes[name] ?? '' }))
}

/** Returns `12 confirmed`. */
export function figureText({ name, value }: Pick<Figure, 'name' | 'value'>): string {
  return `${formatCount(value)} ${name}`
}

/** Returns `60 confirmed of an earlier run`, `60 confirmed and 2 refused of an earlier run`, or `none confirmed of an earlier run`. */
export function settledText({ confirmed, refused }: Settled): string {
  if (confirmed + refused === 0) return 'none confirmed of an earlier run'
  const parts = [
    ...(confirmed > 0 ? [`${formatCount(confirmed)} confirmed`] : []),
    ...(refused > 0 ? [`${formatCount(refused)} refused`] : []),
  ]
  return `${parts.join(' and ')} of an earlier run`
}

/** Returns true for a figure to list in a report. Figures of 0 are left out, except `creates`, `updates`, `deletes` and `unchanged`. */
export function isShown({ countName, value }: Figure): boolean {
  return value > 0 || ['creates', 'updates', 'deletes', 'unchanged'].includes(countName)
}

/** Returns the number of planned changes, in products or users. */
export function plannedChanges(counts: Pick<RunCounts, 'creates' | 'updates' | 'deletes' | 'renewals'>): number {
  return counts.creates + counts.updates + counts.deletes + counts.renewals
}

/** Returns the steps of a run. `notPlanned`: records and operations that its plan leaves out. */
export function runSteps(
  counts: RunCounts,
): Readonly<Record<'rows' | 'changes' | 'outcomes', Step>> & { readonly notPlanned: readonly Figure[] } {
  const all = plannedChanges(counts)
  return {
    rows: { name: 'rows read', whole: counts.read, parts: figures(counts, 'valid', 'rejected', 'duplicates', 'suppressed', 'filtered') },
    changes: { name: 'changes planned', whole: all, parts: figures(counts, 'creates', 'updates', 'deletes', 'renewals') },
    notPlanned: figures(counts, 'unchanged', 'stale', 'withheld', 'deferred'),
    outcomes: { name: 'outcomes of the changes', whole: all, parts: figures(counts, 'confirmed', 'refused', 'ambiguous', 'pending') },
  }
}
