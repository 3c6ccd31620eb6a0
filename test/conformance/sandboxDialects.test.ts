/** The other values of each switch (docs/sandbox.md#switches). The tests of each area cover the default values. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { product } from '../support/product.ts'
import { type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { sandboxCredentials } from '../support/signer.ts'

const sandbox = sharedSandbox()

const results = async (...products: unknown[]): Promise<Loose[]> =>
  (await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products } })).body.data.products_response
const drop = (...keys: string[]): Promise<CallResult> =>
  sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: keys } })
const email = (n: number): string => createHash('sha256').update(`person${n}@example.com`).digest('hex')
const users = (operations: unknown): Promise<CallResult> =>
  sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences/1nmth/users', { json: operations })
const update = (list: unknown[]): unknown => ({ operation_type: 'Update', params: { users: list } })
const use = (values: Record<string, unknown>): Promise<void> => sandbox.control.switches(values)

test('2 counts of identifiers', async () => {
  await use({ count_basis: 'identifiers' })
  expect((await users([update([{ email: [email(1), email(2)] }, { email: [email(3)] }])])).body.data).toEqual({
    success_count: 3,
    total_count: 3,
  })
})
test('3 deletes first: an update after it in the list survives', async () => {
  await use({ operation_order: 'deletes first' })
  await users([update([{ email: [email(1)] }]), { operation_type: 'Delete', params: { users: [{ email: [email(1)] }] } }])
  expect((await sandbox.control.audience()).members).toBe(1)
})
test('5 repeated ids: absent, or NO_CHANGE; never applied', async () => {
  await use({ duplicate_ids: 'absent' })
  expect((await results(product('a'), product('a'), product('b'))).map(({ id }) => id)).toEqual(['b'])
  await use({ duplicate_ids: 'NO_CHANGE' })
  expect((await results(product('a'), product('a'))).map(({ status }) => status)).toEqual(['NO_CHANGE', 'NO_CHANGE'])
  expect((await sandbox.control.catalog()).products).toBe(1)
})
test('6 answers in random order hold the same products', async () => {
  await use({ product_order: 'random' })
  const ids = Array.from({ length: 25 }, (_, n) => `p${n}`)
  const answered = (await results(...ids.map((id) => product(id)))).map(({ id }) => id as string)
  expect(answered).not.toEqual(ids)
  expect(answered.toSorted()).toEqual(ids.toSorted())
})
test('7 and 9 a known product without its key is an ERROR that names the key', async () => {
  const [{ product_key: key }] = await results(product('a'))
  await use({ error_product_key: 'present', product_key_on_write: 'required if known' })
  expect((await results(product('a', { color: 'red' })))[0]).toMatchObject({ status: 'ERROR', product_key: key })
  expect((await results(product('a', { color: 'red', product_key: key })))[0].status).toBe('UPDATE_SUCCESS')
})
test('10 deleting an unknown key succeeds; 17 a product comes back with its old key', async () => {
  await use({ delete_unknown_key: 'success', readd_key: 'same' })
  expect((await drop('999')).body.data.delete_products).toEqual([{ product_key: '999', failed_product_key: null, message: null }])
  const [{ product_key: key }] = await results(product('a'))
  await drop(key)
  expect((await results(product('a')))[0]).toMatchObject({ status: 'CREATE_SUCCESS', product_key: key })
})
test('12 over the limits: 400 for bytes too, or a reset', async () => {
  const large = JSON.stringify([update([{ email: [email(1)] }])]).padEnd(5_000_001)
  await use({ over_limit: '400' })
  expect((await users(large)).status).toBe(400)
  await use({ over_limit: 'reset' })
  await expect(users(large)).rejects.toThrow('fetch failed')
  const ended = async (): Promise<Loose> => (await sandbox.control.ledger()).at(-1)
  await expect.poll(async () => (await ended()).answer_ended_at).not.toBeNull()
  expect(await ended()).toMatchObject({ status: null, client_closed: true })
})
test('13 error bodies as HTML, or empty', async () => {
  await use({ error_body: 'HTML' })
  const html = await sandbox.call('GET', '/12/nothing')
  expect([html.status, html.text.startsWith('<!DOCTYPE html>')]).toEqual([404, true])
  await use({ error_body: 'empty' })
  const empty = await sandbox.call('GET', '/12/nothing')
  expect([empty.status, empty.text]).toEqual([404, ''])
})
test('14 a 429 with Retry-After, or without any hint', async () => {
  const rename = (): Promise<CallResult> => sandbox.call('PUT', '/12/product_catalogs/4001', { query: { name: 'x' } })
  for (let n = 0; n < 20; n++) await rename()
  await use({ rate_limit_headers: 'none', retry_after_grace_ms: 0 })
  const silent = await rename()
  expect([silent.status, silent.headers.get('retry-after'), silent.headers.get('x-rate-limit-reset')]).toEqual([429, null, null])
  // This answer requested no wait.
  for (let n = 0; n < 5; n++) await rename()
  expect(new Set((await sandbox.control.violations()).map(({ rule }) => rule))).toEqual(new Set(['over_rate_limit']))
  await use({ rate_limit_headers: 'Retry-After' })
  const wait = await rename()
  expect([wait.status, Number(wait.headers.get('retry-after')) > 0, wait.headers.get('x-rate-limit-reset')]).toEqual([429, true, null])
})
test('15 advertising paths by bearer token', async () => {
  await use({ ads_auth: 'bearer' })
  const headers = {
    authorization: `Basic ${Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')}`,
  }
  const bearer = (await sandbox.call('POST', '/oauth2/token', { headers, form: { grant_type: 'client_credentials' } })).body.access_token
  expect((await sandbox.call('GET', '/12/product_catalogs', { bearer })).body.data).toHaveLength(1)
  await use({ app_approved: 'no' })
  expect((await sandbox.call('GET', '/12/product_catalogs', { bearer })).status).toBe(403)
  await use({ app_approved: 'yes' })
  const signed = await sandbox.call('GET', '/12/product_catalogs')
  expect([signed.status, signed.body]).toEqual([
    401,
    {
      errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' }],
      request: { params: {} },
    },
  ])
})
test('16 lengths in UTF-16 units or bytes', async () => {
  const title = '😀'.repeat(100)
  expect((await results(product('a', { title })))[0].status).toBe('CREATE_SUCCESS')
  await use({ length_unit: 'UTF-16' })
  expect((await results(product('b', { title })))[0].status).toBe('ERROR')
  await use({ length_unit: 'bytes' })
  expect((await results(product('c', { title: 'é'.repeat(76) })))[0].status).toBe('ERROR')
})
test('19 ids compared without case and blanks', async () => {
  await use({ id_comparison: 'case-blind' })
  expect((await results(product('SKU'), product('sku '))).map(({ status }) => status)).toEqual(['ERROR', 'ERROR'])
})
test('20 what is right in a batch is applied though the rest is refused', async () => {
  await use({ partial_apply: 'on' })
  expect((await users([update([{ email: [email(1)] }]), { operation_type: 'Update', params: {} }])).status).toBe(400)
  expect((await sandbox.control.audience()).members).toBe(1)
  const last = (await sandbox.control.ledger(0)).at(-1)
  expect([last.applied, typeof last.applied_at]).toEqual([true, 'string'])
})
test('a read-only token reads and does not write', async () => {
  const consumer = { consumerKey: sandboxCredentials.consumerKey, consumerSecret: sandboxCredentials.consumerSecret }
  const token = new URLSearchParams(
    (
      await sandbox.call('POST', '/oauth/request_token', {
        credentials: consumer,
        form: { svc_auth_access_type: 'read' },
        oauth: { oauth_callback: 'oob' },
      })
    ).text,
  )
  const page = await (await fetch(`${sandbox.url}/oauth/authorize?oauth_token=${token.get('oauth_token')}&decision=allow`)).text()
  const access = new URLSearchParams(
    (
      await sandbox.call('POST', '/oauth/access_token', {
        credentials: { ...consumer, accessToken: token.get('oauth_token') ?? '', accessTokenSecret: token.get('oauth_token_secret') ?? '' },
        query: { oauth_verifier: /id="oauth_pin">(\d+)</.exec(page)?.[1] ?? '' },
      })
    ).text,
  )
  const credentials = {
    ...consumer,
    accessToken: access.get('oauth_token') ?? '',
    accessTokenSecret: access.get('oauth_token_secret') ?? '',
  }
  expect((await sandbox.call('GET', '/12/product_catalogs', { credentials })).status).toBe(200)
  const write = await sandbox.call('PUT', '/12/product_catalogs/4001', { query: { name: 'x' }, credentials })
  expect([write.status, write.body.errors[0].code]).toEqual([403, 'READONLY_CLIENT_APPLICATION'])
})
