/** Serves the HTTP API: run requests, runs as the CLI prints them, cancel, pause and resume. */
import { Hono, type Context } from 'hono'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { listActions } from '../db/auditLog.ts'
import type { Database } from '../db/database.ts'
import { ConfigError, errorJson, SluiceError, UsageError } from '../errors.ts'
import { changePause, queueRun } from '../jobs/index.ts'
import { isUnknownName } from '../model/errorCodes.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { ServiceIdentity } from '../sync/engine.ts'
import { count, strict } from '../settings/values.ts'
import { cancel } from '../sync/run/run.ts'
import { listRuns, loadRun, runNumber } from '../sync/reports/history.ts'
import { isOpenRun } from '../sync/reports/nextCommands.ts'
import { storableText } from '../storableText.ts'
import { withoutUndefined } from '../withoutUndefined.ts'
import { waitSeconds } from './answerInTime.ts'
import { limitBody } from './limitBody.ts'
import { apiAccess, type AccessSettings, type ServerEnv } from './access.ts'

export interface ApiDeps {
  readonly db: Database
  readonly clock: Clock
  /** Service and user of the credentials of the environment. */
  readonly service: ServiceIdentity
  readonly access: AccessSettings
  /** @throws {UsageError} `UNKNOWN_PIPELINE` */
  readonly loadPipeline: (name: string) => Promise<Pipeline>
  /** Returns the service and user of a pipeline: those of its own `credentials:`, else `service`. */
  readonly serviceFor: (pipeline: Pipeline) => Promise<ServiceIdentity>
}

/** Body of a request, with an example for the hint of an error. */
interface RequestBody<Shape extends z.ZodType> {
  readonly shape: Shape
  readonly example: string
}

const reason = z
  .string('must be a text')
  .max(500, 'must have at most 500 characters')
  .refine(isStorable, 'must not contain U+0000 or half of a surrogate pair')
  .optional()
const runShape = strict({
  full: z.boolean('must be true or false').optional(),
  approveDeletes: count(0, 1_000_000_000).optional(),
  reason,
})
const runBody: RequestBody<typeof runShape> = { shape: runShape, example: '{"full":false,"approveDeletes":0,"reason":"…"}' }
const reasonShape = strict({ reason })
const reasonBody: RequestBody<typeof reasonShape> = { shape: reasonShape, example: '{"reason":"…"}' }

const waitStepMs = 250

/**
 * Creates the routes below `/api`. A `SluiceError` is answered with `{ error: { code, message, where, hint } }`, as the CLI prints it with
 * `--json`. Other errors are thrown.
 */
export function createApi(deps: ApiDeps): Hono<ServerEnv> {
  const api = new Hono<ServerEnv>()
  api.use(apiAccess(deps.access))
  api.use(async (c, next) => {
    const wait = c.req.query('wait')
    if (wait !== undefined && !Number.isFinite(Number(wait)))
      throw new UsageError('INVALID_VALUE', '"wait" must be a number of seconds. Nothing was done.', { where: 'wait', hint: '?wait=30' })
    await next()
  })
  api.use(limitBody(16_384, (c) => problemResponse(c, 413, 'INVALID_VALUE', 'the body is larger than 16 kB')))
  const actorOf = (c: Context<ServerEnv>) => c.get('caller').actor ?? 'API'

  api.post('/pipelines/:name/runs', async (c) => {
    const body = await bodyOf(c, runBody)
    const key = idempotencyKeyOf(c)
    const pipeline = await deps.loadPipeline(c.req.param('name'))
    const { runId, coalesced } = await queueRun(await depsFor(deps, pipeline), pipeline, {
      actor: actorOf(c),
      ...withoutUndefined(body),
      ...(key === undefined ? {} : { key }),
    })
    const { status } = await loadAfterWait(deps, c, runId)
    return c.json({ runId, status, coalesced }, 202)
  })
  api.get('/runs', async (c) => {
    throwIfUnknownQuery(c, ['pipeline', 'limit', 'wait'], '?pipeline=shop&limit=20')
    const pipeline = c.req.query('pipeline')
    const limit = c.req.query('limit') ?? '20'
    if (!/^\d{1,5}$/.test(limit) || Number(limit) < 1 || Number(limit) > 10_000)
      throw new UsageError('INVALID_VALUE', '"limit" must be a number from 1 to 10,000', { where: 'limit', hint: '?limit=20' })
    if (pipeline !== undefined && !isStorable(pipeline))
      throw new UsageError('INVALID_VALUE', '"pipeline" must be the name of a pipeline', { where: 'pipeline', hint: '?pipeline=shop' })
    const runs = await listRuns(deps.db, { limit: Number(limit), ...(pipeline === undefined ? {} : { pipelines: [pipeline] }) })
    // Throws UNKNOWN_PIPELINE if no file has this name either.
    if (runs.length === 0 && pipeline !== undefined) await deps.loadPipeline(pipeline)
    return c.json(runs)
  })
  api.get('/runs/:id', async (c) => {
    throwIfUnknownQuery(c, ['wait'], '?wait=30')
    const run = await loadAfterWait(deps, c, c.req.param('id'))
    const actions = await listActions(deps.db, { pipeline: run.pipeline, runId: runNumber(run.runId), limit: 100 })
    return c.json({ ...run, actions })
  })
  api.post('/runs/:id/cancel', async (c) => {
    const body = await bodyOf(c, reasonBody)
    return c.json(await cancel(deps, c.req.param('id'), { actor: actorOf(c), ...withoutUndefined(body) }), 202)
  })
  for (const [change, state] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const) {
    api.post(`/pipelines/:name/${change}`, async (c) => {
      const body = await bodyOf(c, reasonBody)
      const pipeline = await deps.loadPipeline(c.req.param('name'))
      const changed = await changePause(await depsFor(deps, pipeline), pipeline, change, { actor: actorOf(c), ...withoutUndefined(body) })
      return c.json({ pipeline: pipeline.name, state, changed })
    })
  }
  // A route instead of `notFound`: hono calls only the `notFound` of the outermost app, which answers with a page.
  api.all('*', (c) => problemResponse(c, 404, 'UNKNOWN_PATH', `there is no ${c.req.method} ${c.req.path}`))
  api.onError((error, c) => {
    if (error instanceof SluiceError) return c.json({ error: errorJson(error) }, statusOf(error))
    throw error
  })
  return api
}

/** Returns the database, and the service with the credentials of the pipeline. */
export async function depsFor({ db, serviceFor }: Pick<ApiDeps, 'db' | 'serviceFor'>, pipeline: Pipeline) {
  return { db, service: await serviceFor(pipeline) }
}

/** Returns the run. With the query parameter `wait`, first waits until the run ends, but no longer than `wait` seconds (at most 60). */
async function loadAfterWait(deps: ApiDeps, c: Context, runId: string) {
  const until = deps.clock.monotonic() + waitSeconds(c.req.query('wait')) * 1000
  for (;;) {
    const run = await loadRun(deps.db, runId)
    if (!isOpenRun(run) || deps.clock.monotonic() >= until || c.req.raw.signal.aborted) return run
    await deps.clock.sleep(waitStepMs, c.req.raw.signal)
  }
}

/**
 * Returns the `Idempotency-Key`; undefined without one. Does not cut a long key: another request may have the same cut key, and would then
 * queue nothing.
 *
 * @throws {UsageError} `INVALID_VALUE` if it is empty or too long
 */
function idempotencyKeyOf(c: Context): string | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined || (key.trim() !== '' && key.length <= 255)) return key
  throw new UsageError('INVALID_VALUE', 'the Idempotency-Key must have 1 to 255 characters. Nothing was queued.', {
    where: 'Idempotency-Key',
    hint: 'Idempotency-Key: nightly-2026-11-22',
  })
}

/**
 * Rejects query parameters that the call does not have, and repeated ones. An ignored filter would list other runs, and an ignored
 * `?full=true` would start another run than requested.
 *
 * @throws {UsageError} `INVALID_VALUE`
 */
function throwIfUnknownQuery(c: Context, known: readonly string[], hint: string): void {
  for (const [name, values] of Object.entries(c.req.queries())) {
    const where = name.slice(0, 100)
    if (!known.includes(name))
      throw new UsageError('INVALID_VALUE', `the call has no query parameter "${where}". Nothing was done.`, { where, hint })
    if (values.length > 1)
      throw new UsageError('INVALID_VALUE', `the query parameter "${where}" was sent twice. Nothing was done.`, { where, hint })
  }
}

/** Returns false for a text that Postgres cannot store. */
function isStorable(text: string): boolean {
  return text === storableText(text)
}

/**
 * Returns the JSON body; an empty body counts as `{}`. Such a call has no query parameter but `wait`.
 *
 * @throws {UsageError} `INVALID_JSON`, `INVALID_VALUE`
 */
async function bodyOf<Shape extends z.ZodType>(c: Context, { shape, example }: RequestBody<Shape>): Promise<z.infer<Shape>> {
  throwIfUnknownQuery(c, ['wait'], `send settings in the body: ${example}`)
  const text = await c.req.text()
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch {
    throw new UsageError('INVALID_JSON', 'the body is not JSON. Nothing was done.', { where: 'body', hint: example })
  }
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'body'
  throw new UsageError('INVALID_VALUE', `${where}: ${issue?.message ?? 'is not valid'}. Nothing was done.`, { where, hint: example })
}

const conflictCodes: readonly string[] = ['PIPELINE_PAUSED', 'OTHER_CREDENTIALS', 'IDEMPOTENCY_KEY_REUSED']

export function statusOf(error: SluiceError): 400 | 404 | 409 | 500 {
  if (isUnknownName(error.code)) return 404
  if (conflictCodes.includes(error.code)) return 409
  return error instanceof UsageError ? 400 : error instanceof ConfigError ? 409 : 500
}

function problemResponse(c: Context, status: 404 | 413, code: string, message: string) {
  return c.json({ error: { code, message, where: c.req.path, hint: 'sluice help serve' } }, status)
}
