import { hideSecrets, type Secret } from '../../../config/secret.ts'
import type { Finding } from '../../../model/report.ts'
import type { Context } from '../../context.ts'
import { examineDatabase } from './database.ts'
import { reportFailure, type ReportFinding } from './finding.ts'
import { examineServices } from './service.ts'
import { ConfigError, fallbackOn, SluiceError } from '../../../errors.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import { pipelinesNamed } from '../../pipelines.ts'
import { loadPipelines } from '../../../pipeline/load.ts'
import { plural } from '../../terminal/text.ts'
import { folderStatus } from '../status/folderStatus.ts'
import { withStore } from '../../store.ts'

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

/** Reports every problem of the environment. Returns false if the environment is invalid: no other check can run then. */
function examineEnvironment(context: Context, report: ReportFinding): boolean {
  try {
    const config = context.config()
    report({ check: 'environment', state: 'ok', message: `data folder ${config.dataDir}, log level ${config.log.level}` })
    return true
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems)
      report({
        check: 'environment',
        state: 'failed',
        message: `${problem.path} ${problem.message}`,
        hint: problem.hint ?? 'sluice help environment',
      })
    return false
  }
}

/**
 * Reports the problems of all pipeline files. Returns the valid pipelines, because their services must be examined even if another file is
 * invalid. None if the folder is empty or missing.
 */
async function examinePipelines(context: Context, report: ReportFinding): Promise<readonly Pipeline[]> {
  try {
    const pipelines = await pipelinesNamed(context, [])
    report({ check: 'pipelines', state: 'ok', message: `${plural(pipelines.length, 'pipeline')} in ${context.pipelines}` })
    return pipelines
  } catch (error) {
    if (error instanceof ConfigError) {
      for (const problem of error.problems)
        report({
          check: 'pipelines',
          state: 'failed',
          message: `${problem.where ?? ''} ${problem.path} ${problem.message}`.trim(),
          hint: 'sluice check',
        })
      return validPipelines(context)
    } else if (error instanceof SluiceError) report({ check: 'pipelines', state: 'warning', message: error.message, hint: error.hint })
    else throw error
    return []
  }
}

/** Returns the valid pipelines of a folder with invalid files; none if `sluice.yaml` is invalid. */
async function validPipelines(context: Context): Promise<readonly Pipeline[]> {
  const loaded = await loadPipelines(context.pipelines, context.config().env).catch(fallbackOn(ConfigError, undefined))
  return loaded?.pipelines ?? []
}

/** Reports the conditions that need action, as `sluice status` does. Leaves out invalid files, which `examinePipelines` reports. */
async function examineRuns(context: Context, report: ReportFinding): Promise<void> {
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
