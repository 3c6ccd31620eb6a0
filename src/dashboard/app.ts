/** Builds the web application: health, metrics, API and dashboard. Host and origin are checked for all paths but `/health` and `/ready`. */
import type { RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono, type Context } from 'hono'
import { compress } from 'hono/compress'
import { secureHeaders } from 'hono/secure-headers'
import { metricsAccess, pageAccess, sameHostOnly, signIn, type ServerEnv } from '../api/access.ts'
import { createApi, statusOf } from '../api/api.ts'
import { answerInTime, defaultAnswerMs } from '../api/answerInTime.ts'
import { checkReadiness } from '../api/readiness.ts'
import { limitBody } from '../api/limitBody.ts'
import { ConfigError, SluiceError, UsageError } from '../errors.ts'
import { rejectLines } from '../sync/reports/rejectsCsv.ts'
import { createActions } from './actions.ts'
import { loadAsset } from './assets.ts'
import type { ServerDeps } from './deps.ts'
import { readForm } from './forms.ts'
import {
  loadBatchPage,
  loadNowPage,
  loadPipelinePage,
  loadPlanPage,
  loadRecordsPage,
  loadRejectsPage,
  loadRunPage,
  loadSystemPage,
} from './loaders.ts'
import { layout, type Frame } from './layout.ts'
import { messagePage, signInPage } from './pages/message.ts'
import { render } from './render.ts'

/** Builds the application as a listener of a `node:http` server. */
export function createWebListener(deps: ServerDeps): RequestListener {
  // A probe over HTTP 1.0 sends no host (HAProxy's `option httpchk`). `hostname` completes its address; the host check rejects other paths.
  const answer = getRequestListener(createWebApp(deps).fetch, { overrideGlobalObjects: false, hostname: 'localhost' })
  return (request, response) => void answer(request, response)
}

function createWebApp(deps: ServerDeps): Hono<ServerEnv> {
  const app = new Hono<ServerEnv>()
  // A cache between browser and server may store an answer without this header. Some store every CSV, and give it to any caller.
  app.use(async (c, next) => {
    await next()
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store')
  })
  // `/health` and `/ready` come before the host check, because a probe uses the name or address that its orchestrator knows.
  app.get('/health', (c) => c.json({ ok: true }))
  app.get('/ready', async (c) => {
    const checks = await checkReadiness(deps)
    const ok = checks.every((check) => check.ok)
    return c.json({ ok, checks, failing: checks.filter((check) => !check.ok).map(({ check }) => check) }, ok ? 200 : 503)
  })
  // The default for error pages of paths without `pageAccess`, because every page shows its caller.
  app.use((c, next) => {
    c.set('caller', { actor: undefined })
    return next()
  })
  app.use(sameHostOnly(deps.access))
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'self'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        objectSrc: ["'none'"],
      },
      xFrameOptions: 'DENY',
      referrerPolicy: 'same-origin',
      strictTransportSecurity: deps.access.publicUrl?.startsWith('https:') ? 'max-age=15552000' : false,
    }),
  )
  app.use(compress())
  // After `secureHeaders`, so that the answer to a late request has these headers too.
  app.use(answerInTime(deps.answerMs ?? defaultAnswerMs))
  app.get('/metrics', metricsAccess(deps.access), async (c) =>
    c.body(await deps.metrics.text(), 200, { 'content-type': deps.metrics.contentType }),
  )
  app.route('/api', createApi(deps))
  app.get('/assets/:name', (c) => {
    const found = loadAsset(c.req.param('name'))
    if (found === undefined) return c.notFound()
    c.header('cache-control', 'public, max-age=31536000, immutable')
    c.header('content-type', found.type)
    return c.body(found.content)
  })
  signInRoutes(app, deps)
  const pages = new Hono<ServerEnv>()
  pages.use(pageAccess(deps.access))
  pages.use(limitBody(65_536, tooLarge))
  // No name or id contains U+0000, and Postgres rejects it.
  pages.use((c, next) => (c.req.path.includes('\0') ? Promise.resolve(c.notFound()) : next()))
  pageRoutes(pages, deps)
  pages.route('/', createActions(deps))
  app.route('/', pages)
  app.notFound((c) => render(deps, c, async () => messagePage('Not found', `There is no page ${c.req.path.slice(0, 200)}.`), 404))
  app.onError(async (error, c) => {
    if (error instanceof SluiceError) {
      const status = statusOf(error) === 404 ? 404 : 409
      const title = status === 404 ? 'Not found' : error instanceof UsageError || error instanceof ConfigError ? 'Not possible' : 'Not done'
      return render(deps, c, async () => messagePage(title, error.message, error.hint), status)
    }
    deps.log.error({ path: c.req.path.replaceAll(/[^\w/.-]/g, ''), reason: error.message.slice(0, 200) }, 'a page failed')
    const isGet = c.req.method === 'GET'
    const message = `The server could not answer: the database may be down.${isGet ? '' : ' The request may still be carried out.'}`
    if (c.req.path.startsWith('/api/'))
      return c.json({ error: { code: 'INTERNAL', message, where: c.req.path, hint: 'sluice doctor' } }, 503)
    // Without `render`, which reads the database. The browser loads the page again after 5 seconds.
    if (isGet) c.header('refresh', '5')
    return c.html(layout(messagePage('Not available', message, 'sluice doctor'), anonymousFrame(deps)), 503)
  })
  return app
}

/** Returns the frame of a page that needs neither the database nor a user. */
function anonymousFrame({ version, clock }: ServerDeps): Frame {
  return { version, service: undefined, actor: undefined, etag: '', now: clock.now() }
}

const tooLarge = (c: Context): Response => c.text('The form is too large.\n', 413)

/** Returns true if the caller may change something. */
const mayAct = (c: Context<ServerEnv>): boolean => c.get('caller').actor !== undefined

function pageRoutes(pages: Hono<ServerEnv>, deps: ServerDeps): void {
  pages.get('/', (c) => render(deps, c, (now) => loadNowPage(deps, now)))
  pages.get('/pipelines/:name', (c) =>
    render(deps, c, (now) =>
      loadPipelinePage(deps, {
        name: c.req.param('name'),
        before: c.req.query('before'),
        mayAct: mayAct(c),
        now,
      }),
    ),
  )
  pages.get('/runs/:id', (c) => render(deps, c, (now) => loadRunPage(deps, { runId: c.req.param('id'), mayAct: mayAct(c), now })))
  pages.get('/runs/:id/rejects', (c) => render(deps, c, () => loadRejectsPage(deps, c.req.param('id'))))
  pages.get('/runs/:id/rejects.csv', async (c) => {
    const lines = await rejectLines(deps.db, c.req.param('id'))
    c.header('content-type', 'text/csv; charset=utf-8')
    c.header('content-disposition', `attachment; filename="rejects-${c.req.param('id').replaceAll(/\W/g, '')}.csv"`)
    return c.body(ReadableStream.from(encoded(lines)))
  })
  pages.get('/plans/:id', (c) => render(deps, c, (now) => loadPlanPage(deps, { planId: c.req.param('id'), mayAct: mayAct(c), now })))
  pages.get('/batches/:id', (c) => render(deps, c, (now) => loadBatchPage(deps, c.req.param('id'), now)))
  pages.get('/records', (c) => render(deps, c, () => loadRecordsPage(deps)))
  pages.post('/records', async (c) => {
    const { pipeline = '', key = '' } = await readForm(c)
    return render(deps, c, () => loadRecordsPage(deps, { pipeline, key: key.trim() }))
  })
  pages.get('/system', (c) => render(deps, c, (now) => loadSystemPage(deps, now)))
}

function signInRoutes(app: Hono<ServerEnv>, deps: ServerDeps): void {
  const page = (next: string, problem?: string) => layout(signInPage(next, problem), anonymousFrame(deps))
  // Without a configured token, every page is open to this machine.
  const needsSignIn = deps.access.token !== undefined
  app.get('/sign-in', (c) => {
    const next = safeNext(c.req.query('next'))
    return needsSignIn ? c.html(page(next)) : c.redirect(next, 303)
  })
  app.post('/sign-in', limitBody(16_384, tooLarge), async (c) => {
    const { token = '', ...form } = await readForm(c)
    const next = safeNext(form['next'])
    if (!needsSignIn || signIn(deps.access, c, token)) return c.redirect(next, 303)
    return c.html(page(next, token === '' ? 'Type the token.' : 'The token is wrong.'), 401)
  })
}

/**
 * Returns the path that a browser would load for `next`. Returns `/` for an invalid `next`, and for another server, because a sign-in never
 * leads to another server.
 */
function safeNext(next: unknown): string {
  const server = 'http://localhost'
  if (typeof next !== 'string' || next.length > 500 || !URL.canParse(next, server)) return '/'
  const { origin, pathname, search } = new URL(next, server)
  // `/.//host` has the path `//host`, which is an address of another server.
  return origin === server && !pathname.startsWith('//') ? pathname + search : '/'
}

/** Encodes lines in chunks of about 64 kB. One chunk per line would take several times the processor time of building the lines. */
async function* encoded(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  let chunk = ''
  for await (const line of lines) {
    chunk += line
    if (chunk.length < 65_536) continue
    yield encoder.encode(chunk)
    chunk = ''
  }
  yield encoder.encode(chunk)
}
