/**
 * Handles the actions of the dashboard: POST requests by a named user. Each action is stored in the audit log. Its answer redirects to the
 * page of the result.
 */
import { Hono, type Context } from 'hono'
import type { ServerEnv } from '../api/access.ts'
import { depsFor } from '../api/api.ts'
import { UsageError } from '../errors.ts'
import { changePause, queueRun } from '../jobs/index.ts'
import { guardEffectOf } from '../model/report.ts'
import { cancel } from '../sync/run/run.ts'
import { loadRun, runNumber } from '../sync/reports/history.ts'
import { loadReview } from '../sync/reports/review.ts'
import type { ServerDeps } from './deps.ts'
import { loadPlanPage } from './loaders.ts'
import { render } from './render.ts'

/** Creates the routes of the actions. They need the caller that `pageAccess` sets. */
export function createActions(deps: ServerDeps): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>()
  app.post('/pipelines/:name/run', async (c) => {
    const pipeline = await deps.loadPipeline(c.req.param('name'))
    const { runId } = await queueRun(await depsFor(deps, pipeline), pipeline, await byUser(c))
    return c.redirect(`/runs/${runId}`, 303)
  })
  app.post('/pipelines/:name/full', async (c) => {
    const pipeline = await deps.loadPipeline(c.req.param('name'))
    if ((await fieldOf(c, 'name')) !== pipeline.name)
      throw new UsageError('CONFIRMATION_WRONG', `a full refresh starts when you type the name, ${pipeline.name}. Nothing was sent.`, {
        where: 'name',
        hint: `sluice run ${pipeline.name} --full`,
      })
    const { runId } = await queueRun(await depsFor(deps, pipeline), pipeline, { ...(await byUser(c)), full: true })
    return c.redirect(`/runs/${runId}`, 303)
  })
  app.post('/pipelines/:name/pause', async (c) => {
    const pipeline = await deps.loadPipeline(c.req.param('name'))
    await changePause(await depsFor(deps, pipeline), pipeline, 'pause', await byUser(c))
    return c.redirect(`/pipelines/${pipeline.name}`, 303)
  })
  app.post('/pipelines/:name/resume', async (c) => {
    const pipeline = await deps.loadPipeline(c.req.param('name'))
    await changePause(await depsFor(deps, pipeline), pipeline, 'resume', await byUser(c))
    return c.redirect(`/pipelines/${pipeline.name}`, 303)
  })
  app.post('/runs/:id/cancel', async (c) => {
    const { runId } = await cancel(deps, c.req.param('id'), await byUser(c))
    return c.redirect(`/runs/${runId}`, 303)
  })
  app.post('/runs/:id/rerun', async (c) => {
    const run = await loadRun(deps.db, c.req.param('id'))
    const pipeline = await deps.loadPipeline(run.pipeline)
    const { runId } = await queueRun(await depsFor(deps, pipeline), pipeline, {
      ...(await byUser(c)),
      rerunFailedOf: runNumber(run.runId),
    })
    return c.redirect(`/runs/${runId}`, 303)
  })
  app.post('/plans/:id/approve', async (c) => approve(deps, c))
  return app
}

/**
 * Queues a run that may delete up to the withheld number of the plan, which the form must repeat. If the plan was replaced, cannot be
 * approved, or the number is wrong, shows the page again with the reason.
 */
async function approve(deps: ServerDeps, c: Context<ServerEnv>): Promise<Response> {
  const plan = await loadReview(deps.db, c.req.param('id') ?? '')
  const withheld = plan.counts.withheld ?? 0
  const given = (await fieldOf(c, 'number')).trim().replaceAll(/[,. ](?=\d{3}\b)/g, '')
  const showAgain = (status: 409 | 422, problem: string) =>
    render(deps, c, async (now) => loadPlanPage(deps, { planId: plan.planId, mayAct: true, now, problem }), status)
  if ((await fieldOf(c, 'digest')) !== plan.digest || plan.newestPlanId !== plan.planId)
    return showAgain(409, 'A newer run has replaced this plan, and its numbers may differ. Open the pipeline and review again.')
  if (withheld === 0 || !plan.guards.every((guard) => guardEffectOf(guard).approvable))
    return showAgain(409, 'This plan has no deletes that an approval releases.')
  if (given !== String(withheld)) return showAgain(422, `Type ${withheld} to approve. Nothing was deleted.`)
  const pipeline = await deps.loadPipeline(plan.pipeline)
  const { runId } = await queueRun(await depsFor(deps, pipeline), pipeline, {
    ...(await byUser(c)),
    approveDeletes: withheld,
    planId: plan.planId,
  })
  return c.redirect(`/runs/${runId}`, 303)
}

/** Returns the user and the reason of an action, cut to 500 characters. @throws {UsageError} `READ_ONLY` if the user has no name */
async function byUser(c: Context<ServerEnv>): Promise<{ readonly actor: string; readonly reason?: string }> {
  const { actor } = c.get('caller')
  if (actor === undefined)
    throw new UsageError('READ_ONLY', 'this dashboard is read-only: no proxy names the signed-in user. Nothing was done.', {
      where: 'SLUICE_USER_HEADER',
      hint: 'set SLUICE_USER_HEADER to the header in which your proxy sends the user',
    })
  const reason = (await fieldOf(c, 'reason')).trim().slice(0, 500)
  return { actor, ...(reason === '' ? {} : { reason }) }
}

/** Returns a text field of the form; empty if it is missing. */
async function fieldOf(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody())[name]
  return typeof value === 'string' ? value : ''
}
