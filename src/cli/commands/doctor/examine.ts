/** Runs every check of the doctor, in order. A failed check does not stop the next one. */
import type { Context } from '../../context.ts'
import { examineDatabase } from './database.ts'
import { examineEnvironment } from './environment.ts'
import type { Finding, Say } from './finding.ts'
import { examinePipelines } from './pipelines.ts'
import { examineRuns } from './runs.ts'
import { examineService } from './service.ts'

export async function examineAll(context: Context, onFinding: Say = () => undefined): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const say: Say = (finding) => {
    findings.push(finding)
    onFinding(finding)
  }
  const config = await examineEnvironment(context, say)
  if (!config) return findings
  await examineDatabase(context, say)
  const pipelines = await examinePipelines(context, say)
  await examineService(config, context, pipelines, say)
  await examineRuns(context, say)
  return findings
}
