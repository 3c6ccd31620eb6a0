/** The dashboard and API over real HTTP, on the database and sandbox of an engine under test. */
import { createServer, request, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { requireSafeAccess, type AccessSettings } from '../../src/api/access.ts'
import { createWebListener } from '../../src/dashboard/app.ts'
import type { ServerDeps } from '../../src/dashboard/deps.ts'
import { startWorker, type Worker } from '../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../src/pipeline/load.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { EngineUnderTest } from './engine.ts'

export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Sends a request as a program does; `headers` may name any host. */
  readonly call: (method: string, path: string, rest?: CallRest) => Promise<Called>
}

interface CallRest {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Called {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // Tests read documents of every shape; each assertion names the expected values.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

export async function startServer(
  engine: EngineUnderTest,
  options: { readonly access?: Partial<AccessSettings>; readonly port?: number; readonly deps?: Partial<ServerDeps> } = {},
): Promise<ServerUnderTest> {
  const folder = join(engine.folder, 'pipelines')
  const deps: ServerDeps = {
    ...engine.deps,
    version: '0.0.0-test',
    metrics: createMetrics({ db: engine.db, version: '0.0.0-test' }),
    access: requireSafeAccess({
      host: '127.0.0.1',
      token: undefined,
      userHeader: undefined,
      publicUrl: undefined,
      localUser: 'jane',
      ...options.access,
    }),
    serviceFor: async () => engine.deps.service,
    receivers: async () => [],
    schedulerIdleS: () => 0,
    loadPipeline: (name) => loadPipeline(folder, name),
    async loadPipelines() {
      const { pipelines, errors } = await loadPipelines(folder)
      return { pipelines, problems: errors.map(({ message }) => message) }
    },
    examine: async () => [{ check: 'database', state: 'ok', message: 'Postgres' }],
    ...options.deps,
  }
  const server = createServer(createWebListener(deps))
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    call: (method, path, rest = {}) => callOnce(port, method, path, rest),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Starts a worker beside the server, as `serve` has one. */
export async function startWorkerOf(engine: EngineUnderTest): Promise<Worker> {
  const folder = join(engine.folder, 'pipelines')
  return startWorker({
    ...engine.deps,
    loadPipeline: (name) => loadPipeline(folder, name),
    loadPipelines: () => loadPipelines(folder),
    folder,
  })
}

function callOnce(port: number, method: string, path: string, { headers = {}, body }: CallRest): Promise<Called> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    const call = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          get json() {
            return JSON.parse(text)
          },
        }),
      )
    })
    call.on('error', reject)
    call.end(payload)
  })
}
