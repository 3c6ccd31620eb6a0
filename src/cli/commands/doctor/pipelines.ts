import { ConfigError, SluiceError } from '../../../errors.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import type { Context } from '../../context.ts'
import { pipelinesNamed } from '../../pipelines.ts'
import { plural } from '../../terminal/text.ts'
import type { ReportFinding } from './finding.ts'

/** Reports the problems of all pipeline files. Returns the pipelines; none if any file is invalid, or the folder is empty or missing. */
export async function examinePipelines(context: Context, report: ReportFinding): Promise<readonly Pipeline[]> {
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
    } else if (error instanceof SluiceError) report({ check: 'pipelines', state: 'warning', message: error.message, hint: error.hint })
    else throw error
    return []
  }
}
