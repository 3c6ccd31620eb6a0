import { hideSecrets, type Secret } from '../../../config/secret.ts'
import type { Finding } from '../../../model/report.ts'
import type { Context } from '../../context.ts'
import { examineDatabase } from './database.ts'
import { examineEnvironment } from './environment.ts'
import type { ReportFinding } from './finding.ts'
import { examinePipelines } from './pipelines.ts'
import { examineRuns } from './runs.ts'
import { examineServices } from './service.ts'

/**
 * Runs the checks of the doctor in order. Returns all findings, without secrets, and passes each to `onFinding` when it is known. An
 * invalid environment ends the checks. Without a database, the runs are not checked.
 */
export async function examineAll(context: Context, onFinding: ReportFinding = () => undefined): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  let secrets: readonly Secret[] = []
  const hide = (text: string) => hideSecrets(text, secrets)
  const report: ReportFinding = ({ hint, ...given }) => {
    const finding = { ...given, message: hide(given.message), ...(hint === undefined ? {} : { hint: hide(hint) }) }
    findings.push(finding)
    onFinding(finding)
  }
  if (!examineEnvironment(context, report)) return findings
  secrets = context.config().secrets
  const hasDatabase = await examineDatabase(context, report)
  const pipelines = await examinePipelines(context, report)
  await examineServices(context, pipelines, report)
  if (hasDatabase) await examineRuns(context, report)
  return findings
}
