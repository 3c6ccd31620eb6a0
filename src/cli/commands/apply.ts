import { applyPlan } from '../../sync/run/applyPlan.ts'
import { argument, type CommandRun } from '../context.ts'
import { credentialsOfPlanOrRun } from '../services.ts'
import { runOnce } from './run.ts'

/** Sends a stored plan, without people who opted out or were suppressed since. Sends nothing for a plan that was applied before. */
export const run: CommandRun = async (context, invocation) => {
  const planId = argument(invocation, 0)
  const target = { label: `plan ${planId}`, credentials: await credentialsOfPlanOrRun(context, planId) }
  return runOnce(context, target, (deps) => applyPlan(deps, planId))
}
