/** A receiver of alerts: a webhook that keeps what it gets. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Message that arrived. */
export interface Received {
  readonly body: { readonly event: string; readonly state: string; readonly [key: string]: unknown }
  readonly signature: string | undefined
  readonly authorization: string | undefined
  readonly text: string
}

/** Starts a receiver. It answers the first `failures` messages with 500, and accepts the others. */
export async function receiver(failures = 0) {
  const received: Received[] = []
  let refused = 0
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      if (refused < failures) {
        refused++
        response.writeHead(500).end()
        return
      }
      const signature = request.headers['x-sluice-signature']
      const { authorization } = request.headers
      received.push({ body: JSON.parse(text), text, authorization, signature: typeof signature === 'string' ? signature : undefined })
      response.writeHead(200).end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    events: () => received.map(({ body }) => `${body.event} ${body.state}`),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))),
  }
}
