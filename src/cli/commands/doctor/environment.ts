import { ConfigError } from '../../../errors.ts'
import type { Context } from '../../context.ts'
import type { ReportFinding } from './finding.ts'

/** Reports every problem of the environment. Returns false if the environment is invalid: no other check can run then. */
export function examineEnvironment(context: Context, report: ReportFinding): boolean {
  try {
    const config = context.config()
    report({ check: 'environment', state: 'ok', message: `data in ${config.dataDir}, logs at ${config.log.level}` })
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
