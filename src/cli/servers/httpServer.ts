import { createServer, type RequestListener } from 'node:http'
import type { Config, CompleteServiceSettings } from '../../config/config.ts'
import type { Database } from '../../db/database.ts'
import { applicationOf } from '../../sync/serviceIdentity.ts'
import { createClient, type Client } from '../../service/client/index.ts'
import {
  createWebhookReceiver,
  databaseEventStore,
  keepReplays,
  type ReplayKeeper,
  type ReplayService,
  type WebhookReceiver,
} from '../../webhooks/index.ts'
import { RunError } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import { errorCode } from '../../unknownValue.ts'
import type { Context } from '../context.ts'
import { listeningPort } from './listeningPort.ts'

export interface HttpServer {
  /** Address without a final slash. */
  readonly url: string
  /** Stops the replays, then the server. Open requests end after 1 s. */
  readonly close: () => Promise<void>
}

/**
 * Starts an HTTP server with the webhook receiver. Also requests replays of events that it refused while the database was down.
 *
 * @throws {RunError} `HOST_UNAVAILABLE` for a host name without an address
 * @throws the system's error of `listen`, such as EADDRINUSE
 */
export async function startHttpServer(
  context: Context,
  options: {
    readonly db: Database
    readonly config: Config
    readonly service: CompleteServiceSettings
    readonly host: string
    readonly port: number
    readonly path?: string | undefined
    /** Called for each answer, except the answer of the built-in `/health`. Gets no query or body, because they may contain secrets. */
    readonly onAnswer?: (method: string, path: string, status: number) => void
    /**
     * Handles every request that is not for the receiver. Without it, the server answers `/health` with 200, and other requests with 404.
     */
    readonly onOtherRequest?: RequestListener
  },
): Promise<HttpServer> {
  const previous = options.config.service.previousConsumerSecret?.reveal()
  const header = options.service.names['x-service-webhooks-signature']
  let replays: ReplayKeeper | undefined
  const path = options.path ?? '/webhooks'
  const gapReceiver = { service: options.service.baseUrl, application: applicationOf(options.service), path }
  const receiver = createWebhookReceiver({
    store: databaseEventStore(options.db, gapReceiver),
    secrets: [options.service.consumerSecret, ...(previous === undefined ? [] : [previous])],
    log: context.log(),
    clock: context.clock,
    onGap: () => replays?.wake(),
    path,
    ...(header === undefined ? {} : { signatureHeader: header }),
  })
  const server = createServer((request, response) => {
    if (options.onOtherRequest === undefined && request.url === '/health') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}\n')
      return
    }
    response.on('finish', () => options.onAnswer?.(request.method ?? '', request.url?.split('?')[0] ?? '', response.statusCode))
    void receiver
      .handle(request, response)
      .then(
        (handled) =>
          handled || (options.onOtherRequest === undefined ? response.writeHead(404).end() : options.onOtherRequest(request, response)),
      )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(unresolvedHost(error, options.host) ?? error)).listen(options.port, options.host, resolve)
  })
  const client = createClient(options.service, { log: context.log(), clock: context.clock })
  const ending = new AbortController()
  replays = keepReplays({
    db: options.db,
    receiver: gapReceiver,
    log: context.log(),
    clock: context.clock,
    probe: receiver.probe,
    service: replaysOf(client, ending.signal),
  })
  const port = listeningPort(server)
  return {
    url: `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`,
    close: async () => {
      ending.abort()
      await replays.stop()
      await client.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // A client that waits for a run must not delay the shutdown.
        setTimeout(() => server.closeAllConnections(), 1_000).unref()
      })
      await recordOpenGap(receiver, context.log())
    },
  }
}

/** Returns the error for a host name without an address; undefined for any other error. Else it would count as a fault of the database. */
function unresolvedHost(error: Error, host: string): RunError | undefined {
  const code = errorCode(error)
  if (code !== 'ENOTFOUND' && code !== 'EAI_AGAIN') return undefined
  return new RunError('HOST_UNAVAILABLE', `the host name ${host} of --host cannot be resolved. Nothing was started.`, {
    where: host,
    hint: 'leave out --host, or name an address of this machine',
    cause: error,
  })
}

/** Records a gap that is open at the end of the process, so that the next process requests the replay. If that fails, logs the gap. */
async function recordOpenGap(receiver: WebhookReceiver, log: Logger): Promise<void> {
  await receiver.probe()
  const since = receiver.refusingSince()
  if (since === undefined) return
  log.error(
    { from: since.toISOString() },
    'webhook events were refused until the end of this process, and no replay will be requested. hint: sluice webhooks replay ID --from … --to …',
  )
}

/** Returns the calls of the service for replays. They abort with `signal`. */
function replaysOf(client: Client, signal: AbortSignal): ReplayService {
  return {
    webhooks: async () => (await client.webhooks.list({}, { signal })).data ?? [],
    replay: async (range) => {
      const { data } = await client.webhooks.replay(range, { signal })
      if (data === undefined) throw new Error('the service returned no job')
      return data.job_id
    },
  }
}
