/** A developer's endpoint on loopback with the behaviour that a test chooses; it stores every event with its headers and raw bytes. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sandboxCredentials } from './signer.ts'

/** `meet`: good, but only once two challenges wait for their answer. */
export type Behaviour = 'good' | 'wrong-token' | 'redirect' | 'error' | 'meet'

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface WebhookEndpoint extends AsyncDisposable {
  readonly url: string
  /** Answer to challenges. */
  challenge: Behaviour
  /** Status with which events are answered. */
  eventStatus: number
  challenges: number
  /** Called before each answer to a challenge or event, which waits for it. */
  beforeAnswer: (() => Promise<void>) | undefined
  readonly events: ReceivedRequest[]
}

export async function webhookEndpoint(): Promise<WebhookEndpoint> {
  const waiting: (() => void)[] = []
  const answerChallenge = (token: string, response: ServerResponse): unknown => {
    if (endpoint.challenge === 'error') return response.writeHead(500).end()
    if (endpoint.challenge === 'redirect') return response.writeHead(302, { location: '/elsewhere' }).end()
    const key = endpoint.challenge === 'wrong-token' ? 'another secret' : sandboxCredentials.consumerSecret
    const responseToken = `sha256=${createHmac('sha256', key).update(token).digest('base64')}`
    waiting.push(() => response.end(JSON.stringify({ response_token: responseToken })))
    if (endpoint.challenge === 'meet' && waiting.length < 2) return undefined
    for (const answer of waiting.splice(0)) answer()
    return undefined
  }
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://endpoint')
    const answer = async (send: () => unknown): Promise<void> => {
      await endpoint.beforeAnswer?.()
      send()
    }
    if (request.method === 'GET') {
      endpoint.challenges++
      return void answer(() => answerChallenge(url.searchParams.get('crc_token') ?? '', response))
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      endpoint.events.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      void answer(() => response.writeHead(endpoint.eventStatus).end())
    })
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint: WebhookEndpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    challenge: 'good',
    eventStatus: 200,
    challenges: 0,
    beforeAnswer: undefined,
    events: [],
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return endpoint
}
