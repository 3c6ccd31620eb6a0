import type { Context } from '../../context.ts'
import { folderStatus } from '../status/folderStatus.ts'
import { withStore } from '../../store.ts'
import type { ReportFinding } from './finding.ts'

/** Reports the conditions of pipelines that `sluice status` lists. Reports nothing if database or pipelines cannot be read. */
export async function examineRuns(context: Context, report: ReportFinding): Promise<void> {
  try {
    await withStore(context, async (store) => {
      const { pipelines } = await folderStatus(context, store.db, [])
      const needs = pipelines.flatMap((status) => status.needs.map((need) => ({ ...need, pipeline: status.pipeline })))
      for (const { pipeline, code, message, hint } of needs)
        report({ check: 'runs', state: 'warning', message: `${pipeline}: ${code}: ${message}`, hint })
      if (needs.length === 0 && pipelines.some(({ last }) => last !== null))
        report({ check: 'runs', state: 'ok', message: 'the last run of each pipeline needs no action' })
    })
  } catch {
    // The checks of database and pipelines have reported the fault.
  }
}
