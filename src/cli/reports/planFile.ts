import type { Database } from '../../db/database.ts'
import { planChanges, type PlanChange } from '../../sync/planChanges.ts'
import type { ShownRun } from '../../model/report.ts'
import { openWholeFile } from '../wholeFile.ts'
import { planMarkdown } from './planChanges.ts'

/** Yields the changes of a plan; none if a guard stopped the run before planning. */
export async function* changesOf(db: Database, report: ShownRun): AsyncGenerator<PlanChange> {
  if (report.planId !== undefined && report.planId !== '') yield* planChanges(db, report.planId)
}

/** Writes the reports with every change, as JSON, or as Markdown if the name ends in .md. Keeps one change in memory. */
export async function writePlans(db: Database, path: string, reports: readonly ShownRun[]): Promise<void> {
  const file = openWholeFile(path)
  try {
    const [only] = reports
    if (/\.md$/i.test(path)) for (const report of reports) file.write(await planMarkdown(report, changesOf(db, report)))
    else if (only !== undefined && reports.length === 1) await writeJsonPlan(db, file, only)
    else
      for (const [i, report] of reports.entries()) {
        file.write(i === 0 ? '[\n' : ',\n')
        await writeJsonPlan(db, file, report)
      }
    if (reports.length > 1 && !/\.md$/i.test(path)) file.write(']\n')
    file.finish()
  } catch (error) {
    file.discard()
    throw error
  }
}

/** Writes the report with a last key `changes`, one line per change. */
async function writeJsonPlan(db: Database, file: { readonly write: (text: string) => void }, report: ShownRun): Promise<void> {
  file.write(`${JSON.stringify(report, null, 2).replace(/\n\}$/, '')},\n  "changes": [`)
  let first = true
  for await (const change of changesOf(db, report)) {
    file.write(`${first ? '' : ','}\n    ${JSON.stringify(change)}`)
    first = false
  }
  file.write('\n  ]\n}\n')
}
