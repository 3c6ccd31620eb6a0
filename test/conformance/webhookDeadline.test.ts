/**
 * A receiver that takes longer than the service waits (spec 6.1 rule 1, spec 8). The deadline is shortened here; its length is asserted.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { checkWebhook, RESPONSE_LIMIT_MS, sendEvent } from '../../src/sandbox/webhooks/outbound.ts'

test('no answer within 10 seconds is a transient failure of a check and a failed delivery', async () => {
  expect(RESPONSE_LIMIT_MS).toBe(10_000)
  // Sends the first byte of the answer and never the last, so the answer is incomplete.
  const server = createServer((request, response) => {
    if (request.method === 'POST') response.writeHead(200).write('{')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
  expect(await checkWebhook({ url, secret: 'secret', form: 'base64', token: 'token', limitMs: 50 })).toBe('transient')
  expect(
    await sendEvent({
      url,
      body: '{}',
      secret: 'secret',
      form: 'base64',
      signature: 'good',
      header: 'x-service-webhooks-signature',
      limitMs: 50,
    }),
  ).toBe(0)
  server.closeAllConnections()
  server.close()
})
