import type { Context } from '../../context.ts'
import { folderStatus } from '../status/folderStatus.ts'
import { withStore } from '../../store.ts'
import type { ReportFinding } from './finding.ts'

/** Reports what needs action, like `sluice status`. An unreachable database is reported by its own check. */
export async function examineRuns(context: Context, report: ReportFinding): Promise<void> {
  try {
    await withStore(context, async (store) => {
      const { pipelines } = await folderStatus(context, store.db, [])
      const needs = pipelines.flatMap((one) => one.needs.map((need) => ({ ...need, pipeline: one.pipeline })))
      for (const { pipeline, code, message, hint } of needs)
        report({ check: 'runs', state: 'warning', message: `${pipeline}: ${code}: ${message}`, hint })
      if (needs.length === 0 && pipelines.some(({ last }) => last !== null))
        report({ check: 'runs', state: 'ok', message: 'the last run of each pipeline needs no action' })
    })
  } catch {
    // The database check has reported the fault.
  }
}
