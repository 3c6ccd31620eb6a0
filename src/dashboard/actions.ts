/**
 * Handles the actions of the dashboard: POST requests by a named user. Each action is stored in the audit log. Its answer redirects to the
 * page of the result.
 */
import { Hono, type Context } from 'hono'
import type { ServerEnv } from '../api/access.ts'
import { depsFor } from '../api/api.ts'
import { cutText } from '../cutText.ts'
import { UsageError } from '../errors.ts'
import { changePause, queueRun, type QueueRequest } from '../jobs/index.ts'
import { cancel } from '../sync/run/run.ts'
import { loadRun, runNumber } from '../sync/reports/history.ts'
import { loadReview } from '../sync/reports/review.ts'
import { storableText } from '../storableText.ts'
import type { ServerDeps } from './deps.ts'
import { readForm } from './forms.ts'
import { loadPlanPage } from './loaders.ts'
import { isApprovable, isReplaced, withheldDeletes } from './pages/plan.ts'
import { render } from './render.ts'

/** Creates the routes of the actions. They need the caller that `pageAccess` sets. */
export function createActions(deps: ServerDeps): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>()
  app.post('/pipelines/:name/run', async (c) => queueAndOpen(deps, c, c.req.param('name'), await requireUser(c)))
  app.post('/pipelines/:name/full', async (c) => {
    const user = await requireUser(c)
    const { name } = await deps.loadPipeline(c.req.param('name'))
    if ((await fieldOf(c, 'name')).trim() !== name)
      throw new UsageError('CONFIRMATION_WRONG', `the name does not match: type ${name} to start a full refresh. Nothing was sent.`, {
        where: 'name',
        hint: `sluice run ${name} --full`,
      })
    return queueAndOpen(deps, c, name, { ...user, full: true })
  })
  for (const change of ['pause', 'resume'] as const)
    app.post(`/pipelines/:name/${change}`, async (c) => {
      const user = await requireUser(c)
      const pipeline = await deps.loadPipeline(c.req.param('name'))
      await changePause(await depsFor(deps, pipeline), pipeline, change, user)
      return c.redirect(`/pipelines/${pipeline.name}`, 303)
    })
  app.post('/runs/:id/cancel', async (c) => {
    const { runId } = await cancel(deps, c.req.param('id'), await requireUser(c))
    return c.redirect(`/runs/${runId}`, 303)
  })
  app.post('/runs/:id/rerun', async (c) => {
    const user = await requireUser(c)
    const run = await loadRun(deps.db, c.req.param('id'))
    return queueAndOpen(deps, c, run.pipeline, { ...user, rerunFailedOf: runNumber(run.runId) })
  })
  app.post('/plans/:id/approve', (c) => approve(deps, c, c.req.param('id')))
  // A browser opens the address of an action after a sign-in, and again after a rejection. The redirect leads to the page with the form.
  app.get('/:page{pipelines|runs|plans}/:name/:action{run|full|pause|resume|cancel|rerun|approve}', (c) =>
    c.redirect(new URL(c.req.url).pathname.replace(/\/[^/]*$/, ''), 303),
  )
  return app
}

async function queueAndOpen(deps: ServerDeps, c: Context, pipelineName: string, request: QueueRequest): Promise<Response> {
  const pipeline = await deps.loadPipeline(pipelineName)
  const { runId } = await queueRun(await depsFor(deps, pipeline), pipeline, request)
  return c.redirect(`/runs/${runId}`, 303)
}

/**
 * Queues a run that may delete as many records as the plan withholds. The form must repeat this number. If the number is wrong, or the
 * plan was replaced or cannot be approved, shows the page again with the reason.
 */
async function approve(deps: ServerDeps, c: Context<ServerEnv>, planId: string): Promise<Response> {
  const user = await requireUser(c)
  const plan = await loadReview(deps.db, planId)
  const withheld = withheldDeletes(plan)
  // `1,234`, `1.234` and `1 234` are accepted too, and a full stop at the end.
  const typed = (await fieldOf(c, 'number'))
    .trim()
    .replace(/\.$/, '')
    .trim()
    .replaceAll(/ ?[,. ] ?(?=\d{3}\b)/g, '')
  const showAgain = (status: 409 | 422, problem: string) =>
    render(deps, c, async (now) => loadPlanPage(deps, { planId, mayAct: true, now, problem }), status)
  if ((await fieldOf(c, 'digest')) !== plan.digest || isReplaced(plan))
    return showAgain(409, 'A newer run has replaced this plan, and its numbers may differ. Review the newer plan.')
  if (withheld === 0 || !isApprovable(plan)) return showAgain(409, 'This plan has no withheld deletes that can be approved.')
  if (typed !== String(withheld)) return showAgain(422, `Type ${withheld} to approve. Nothing was deleted.`)
  return queueAndOpen(deps, c, plan.pipeline, { ...user, approveDeletes: withheld, planId })
}

/** Returns the user of an action, and its reason, cut to 500 characters. @throws {UsageError} `READ_ONLY` if the user has no name */
async function requireUser(c: Context<ServerEnv>): Promise<{ readonly actor: string; readonly reason?: string }> {
  const { actor } = c.get('caller')
  if (actor === undefined)
    throw new UsageError('READ_ONLY', 'this dashboard is read-only: no proxy names the signed-in user. Nothing was done.', {
      where: 'SLUICE_USER_HEADER',
      hint: 'set SLUICE_USER_HEADER to the header in which your proxy sends the user',
    })
  const reason = storableText(cutText((await fieldOf(c, 'reason')).trim(), 500))
  return { actor, ...(reason === '' ? {} : { reason }) }
}

/** Returns a text field of the form; empty if it is missing. */
async function fieldOf(c: Context, name: string): Promise<string> {
  return (await readForm(c))[name] ?? ''
}
