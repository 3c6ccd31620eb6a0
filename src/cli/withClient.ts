import type { CompleteServiceSettings } from '../config/config.ts'
import { createClient, type Client } from '../service/client/index.ts'
import type { Context } from './context.ts'
import { waiting } from './terminal/waiting.ts'

/** Calls to the service for one command. A request is sent once, waits at most 60 s, and is aborted with the command. */
export type ServiceCalls = Pick<Client, 'call' | 'bearerToken' | 'authorizeUrl'>

/** Opens a client, calls `work`, and closes the client. Does not retry: the user decides whether to call again. */
export async function withClient<Result>(
  context: Context,
  service: CompleteServiceSettings,
  work: (calls: ServiceCalls) => Promise<Result>,
): Promise<Result> {
  const client = createClient(service, { clock: context.clock, log: context.log() })
  const once = { retry: false, signal: context.signal, timeoutMs: 60_000 } as const
  const sendVisibly = <Answer>(send: () => Promise<Answer>) => waiting(context, 'waiting for the service', send)
  try {
    return await work({
      authorizeUrl: client.authorizeUrl,
      call: (name, params, options) => sendVisibly(() => client.call(name, params, { ...options, ...once })),
      bearerToken: (options) => sendVisibly(() => client.bearerToken({ ...options, ...once })),
    })
  } finally {
    await client.close()
  }
}
