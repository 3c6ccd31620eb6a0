import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config, KnownService } from '../config/config.ts'
import type { Database } from '../store/database.ts'
import { createWebhookReceiver } from '../webhooks/index.ts'
import type { Context } from './context.ts'

export interface ReceiverServer {
  readonly url: string
  readonly close: () => Promise<void>
}

/** The webhook receiver on an address of its own; `/health` says whether the process is up. */
export async function startReceiver(
  context: Context,
  options: {
    readonly db: Database
    readonly config: Config
    readonly service: KnownService
    readonly host: string
    readonly port: number
    readonly path?: string | undefined
    /** Told method and status only: query and body may hold tokens and people. */
    readonly onAnswer?: (method: string, status: number) => void
  },
): Promise<ReceiverServer> {
  const previous = options.config.service.previousConsumerSecret?.reveal()
  const header = options.service.names['x-service-webhooks-signature']
  const receiver = createWebhookReceiver({
    db: options.db,
    secrets: [options.service.consumerSecret, ...(previous === undefined ? [] : [previous])],
    log: context.log(),
    clock: context.clock,
    ...(options.path === undefined ? {} : { path: options.path }),
    ...(header === undefined ? {} : { signatureHeader: header }),
  })
  const server = createServer((request, response) => {
    if (request.url === '/health') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}\n')
      return
    }
    response.on('finish', () => options.onAnswer?.(request.method ?? '', response.statusCode))
    void receiver.handle(request, response).then((ours) => ours || response.writeHead(404).end())
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port, options.host, resolve))
  // A TCP server that listens has an address of this shape.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}
