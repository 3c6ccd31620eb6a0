/** With `SLUICE_SERVICE_NAMES`, the sandbox accepts and sends the service's own names for the neutral words. */
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../src/service/client/index.ts'
import { sha256 } from '../support/digests.ts'
import { bearerOf, withSandbox } from '../support/sandbox.ts'
import { sandboxCredentials } from '../support/signer.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'

const names = { service_id: 'own_id', svc_auth_access_type: 'own_access_type', 'x-service-webhooks-signature': 'x-own-signature' }
const users = '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users'
const upload = (key: string, value: string): unknown => [{ operation_type: 'Update', params: { users: [{ [key]: [sha256(value)] }] } }]

test('keys of uploads are read by either spelling, also from the state file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'))
  try {
    const stateFile = join(folder, 'state.jsonl')
    const sandbox = await withSandbox({ names, stateFile })
    expect((await sandbox.call('POST', users, { json: upload('own_id', '1') })).status).toBe(200)
    expect((await sandbox.call('POST', users, { json: upload('service_id', '2') })).status).toBe(200)
    expect((await sandbox.call('POST', users, { json: upload('other_id', '3') })).status).toBe(400)
    const client = createClient({
      baseUrl: sandbox.url,
      adsBaseUrl: sandbox.url,
      adsSandboxBaseUrl: sandbox.url,
      adsVersion: '12',
      names,
      ...sandboxCredentials,
    })
    await client.audiences.users({
      account_id: '18ce54d4x5t',
      custom_audience_id: '1nmth',
      body: [{ operation_type: 'Update', params: { users: [{ service_id: [sha256('4')] }] } }],
    })
    await client.close()
    expect((await sandbox.control.audience()).identifiers).toMatchObject({ service_id: 3 })
    await sandbox.close()
    await using again = await withSandbox({ names, stateFile })
    expect((await again.control.audience()).identifiers).toMatchObject({ service_id: 3 })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the access level is asked for by its own name, and events are signed in a header of that name', async () => {
  await using sandbox = await withSandbox({ names })
  await using endpoint = await webhookEndpoint()
  const consumer = { consumerKey: sandboxCredentials.consumerKey, consumerSecret: sandboxCredentials.consumerSecret }
  const token = await sandbox.call('POST', '/oauth/request_token', {
    credentials: consumer,
    form: { own_access_type: 'read' },
    oauth: { oauth_callback: 'oob' },
  })
  expect(token.status).toBe(200)
  const page = await fetch(`${sandbox.url}/oauth/authorize?oauth_token=${new URLSearchParams(token.text).get('oauth_token')}`)
  expect(await page.text()).toContain('wants to read what')
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer: await bearerOf(sandbox) })
  await sandbox.control.request('POST', 'events', {})
  const [event] = endpoint.events
  const signature = createHmac('sha256', sandboxCredentials.consumerSecret)
    .update(event?.body ?? '')
    .digest('base64')
  expect(event?.headers['x-own-signature']).toBe(`sha256=${signature}`)
  expect(event?.headers).not.toHaveProperty('x-service-webhooks-signature')
})
