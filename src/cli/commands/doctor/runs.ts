import type { Context } from '../../context.ts'
import { folderStatus } from '../status/folderStatus.ts'
import { withStore } from '../../store.ts'
import { reportFailure, type ReportFinding } from './finding.ts'

/** Reports the conditions that need action, as `sluice status` does. Leaves out invalid files, which `examinePipelines` reports. */
export async function examineRuns(context: Context, report: ReportFinding): Promise<void> {
  try {
    await withStore(context, async (store) => {
      const { pipelines, needs: others } = await folderStatus(context, store.db, [])
      const needs = pipelines.flatMap((status) => status.needs.map((need) => ({ ...need, pipeline: status.pipeline })))
      for (const { pipeline, code, message, hint } of needs)
        report({ check: 'runs', state: 'warning', message: `${pipeline}: ${code}: ${message}`, hint })
      for (const { code, message, hint } of others.filter((need) => need.code === 'NO_SCHEDULER'))
        report({ check: 'runs', state: 'warning', message: `${code}: ${message}`, hint })
      if (needs.length === 0 && pipelines.some(({ last }) => last !== null))
        report({ check: 'runs', state: 'ok', message: 'the last run of each pipeline needs no action' })
    })
  } catch (error) {
    reportFailure(error, 'runs', report)
  }
}
