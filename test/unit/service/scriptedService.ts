/** A service that returns the answers of a test, one per request, and records the requests. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../../../src/clock.ts'
import { createClient, type Client, type ClientOptions, type ServiceConfig } from '../../../src/service/client/index.ts'

export interface Script {
  readonly status?: number
  /** Objects become JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface ScriptedService {
  readonly url: string
  readonly asked: Asked[]
  readonly waits: number[]
  readonly client: (options?: { readonly config?: Partial<ServiceConfig>; readonly client?: ClientOptions }) => Client
  readonly close: () => Promise<void>
}

/** The last answer repeats. Waits take no time: they are recorded, and the clock advances. */
export async function serveScript(script: readonly Script[] | ((asked: Asked, nth: number) => Script)): Promise<ScriptedService> {
  const asked: Asked[] = []
  const waits: number[] = []
  const clients: Client[] = []
  let now = Date.UTC(2026, 2, 1, 12)
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) => {
      waits.push(ms)
      now += ms
      return Promise.resolve()
    },
  }
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one: Asked = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      const nth = asked.push(one) - 1
      const {
        status = 200,
        body = {},
        headers = {},
      } = (typeof script === 'function' ? script(one, nth) : (script[nth] ?? script.at(-1))) ?? {}
      response.writeHead(status, { 'content-type': 'application/json', date: new Date(now).toUTCString(), ...headers })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    asked,
    waits,
    client({ config = {}, client = {} } = {}) {
      const made = createClient(
        {
          baseUrl: url,
          adsBaseUrl: url,
          adsSandboxBaseUrl: url,
          adsVersion: '12',
          consumerKey: 'ck',
          consumerSecret: 'cs',
          accessToken: 'at',
          accessTokenSecret: 'ats',
          ...config,
        },
        { clock, random: () => 0.5, ...client },
      )
      clients.push(made)
      return made
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()))
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
