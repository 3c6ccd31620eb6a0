import type { Database } from '../../db/database.ts'
import { loadPlanChanges, type PlanChange } from '../../sync/reports/planChanges.ts'
import type { ShownRun } from '../../model/report.ts'
import { openWholeFile } from '../wholeFile.ts'
import { planMarkdown } from './planChanges.ts'

/** Yields the changes of the plan of a run. Yields none if the run has no plan, for example because a guard stopped it. */
export async function* changesOf(db: Database, report: ShownRun): AsyncGenerator<PlanChange> {
  if (report.planId !== undefined && report.planId !== '') yield* loadPlanChanges(db, report.planId)
}

/**
 * Writes reports with the changes of their plans. A file that ends in .md gets Markdown, with the first 200 changes of each plan. Any
 * other file gets JSON with every change: an object for one report, a list for several. Only one change at a time is in memory.
 *
 * @throws errors of the file system and of the database; then an existing file is unchanged
 */
export async function writePlans(db: Database, path: string, reports: readonly ShownRun[]): Promise<void> {
  const file = openWholeFile(path)
  try {
    const isMarkdown = path.toLowerCase().endsWith('.md')
    const isList = !isMarkdown && reports.length > 1
    for (const [i, report] of reports.entries()) {
      if (isList) file.write(i === 0 ? '[\n' : ',\n')
      if (isMarkdown) file.write(await planMarkdown(report, changesOf(db, report)))
      else await writeJsonPlan(db, file, report)
    }
    if (isList) file.write(']\n')
    file.finish()
  } catch (error) {
    file.discard()
    throw error
  }
}

/** Writes the report as JSON with `changes` as its last key, one line per change. */
async function writeJsonPlan(db: Database, file: { readonly write: (text: string) => void }, report: ShownRun): Promise<void> {
  file.write(`${JSON.stringify(report, null, 2).replace(/\n\}$/, '')},\n  "changes": [`)
  let isFirst = true
  for await (const change of changesOf(db, report)) {
    file.write(`${isFirst ? '' : ','}\n    ${JSON.stringify(change)}`)
    isFirst = false
  }
  file.write('\n  ]\n}\n')
}
