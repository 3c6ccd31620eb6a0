/** The typed control API of `startSandbox()`, and the test helper for violations. */
import { expect, test } from 'vitest'
import { commonFaultKinds } from '../../src/sandbox/controlClient.ts'
import { createClient, expectNoViolations, sandboxControl, SandboxControlError, startSandbox } from '../../src/index.ts'

const account = { account_id: '18ce54d4x5t' }
const product = {
  id: 'SKU-1',
  title: 'Cup',
  description: 'A cup',
  availability: 'in stock',
  condition: 'new',
  price: '9.50 EUR',
  link: 'https://shop.example.com/cup',
  image_link: 'https://shop.example.com/cup.png',
  brand: 'Acme',
} as const

test('reads state, ledger and violations, moves the clock, sets switches and resets', async () => {
  await using sandbox = await startSandbox()
  const client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
  await client.products.put({ product_catalog_id: '4001', products: [product] })
  expect(await sandbox.catalog('4001')).toMatchObject({ products: 1, digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string })
  expect(await sandbox.products('4001')).toMatchObject([{ id: 'SKU-1', price: '9.50 EUR' }])
  expect(await sandbox.audience('1nmth')).toMatchObject({ members: 0, identifiers: {} })
  const [put] = await sandbox.ledger()
  expect(put).toMatchObject({ method: 'PUT', status: 200, items: 1, applied: true })
  expect(await sandbox.ledger(put?.seq)).toEqual([])
  expect(Object.values(await sandbox.stats())).toMatchObject([{ requests: 1 }])

  const before = await sandbox.clock.now()
  await sandbox.clock.advance(86_400)
  expect((await sandbox.clock.now()).getTime() - before.getTime()).toBeGreaterThanOrEqual(86_400_000)
  expect(await sandbox.switches({ rate_limits: 'off' })).toMatchObject({ rate_limits: 'off' })
  expect(await sandbox.switches({ rate_limits: null })).toMatchObject({ rate_limits: 'on' })
  await sandbox.switches({ rate_limits: 'off' })

  await expectNoViolations(sandbox)
  await sandbox.reset()
  expect(await sandbox.catalog('4001')).toMatchObject({ products: 0 })
  expect(await sandbox.switches()).not.toMatchObject({ rate_limits: 'off' })
  await client.close()
})

test('arms, lists and clears faults of every common kind', async () => {
  await using sandbox = await startSandbox()
  for (const kind of commonFaultKinds) expect(await sandbox.faults.arm({ fault: { kind } })).toMatchObject({ fired: 0, fault: { kind } })
  const [first] = await sandbox.faults.list()
  await sandbox.faults.clear(first?.id)
  expect(await sandbox.faults.list()).toHaveLength(commonFaultKinds.length - 1)
  await sandbox.faults.clear()

  const client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
  await sandbox.faults.arm({ match: { method: 'GET', path: '/12/accounts' }, fault: { kind: 'status', status: 503 } })
  await expect(client.accounts.get(account, { retry: false })).rejects.toMatchObject({ status: 503 })
  expect(await client.accounts.get(account)).toMatchObject({ id: account.account_id })
  await client.close()
})

test('a refused control call names the call and the reason', async () => {
  await using sandbox = await startSandbox()
  const refused = sandbox.faults.arm({ fault: { kind: 'no_such_kind' } })
  await expect(refused).rejects.toBeInstanceOf(SandboxControlError)
  await expect(refused).rejects.toMatchObject({
    name: 'SandboxControlError',
    status: 400,
    message: expect.stringContaining('POST /_sandbox/faults: 400') as string,
  })
})

test('expectNoViolations names each rule that was broken, also of a sandbox elsewhere', async () => {
  await using sandbox = await startSandbox()
  const client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
  const body = [{ operation_type: 'Update', params: { users: [{ email: ['not-a-digest'] }] } }] as const
  await client.audiences.users({ ...account, custom_audience_id: '1nmth', body }).catch(() => undefined)
  await expect(expectNoViolations(sandboxControl(sandbox.url))).rejects.toThrow(/API rule violations:\n {2}#\d+ POST .*custom_audiences/)
  await client.close()
})

test('adds people with their accounts and roles, and features of an account', async () => {
  await using sandbox = await startSandbox()
  const added = await sandbox.users.add({ screen_name: 'maria', accounts: [{ id: '18ce54d4x5t', role: 'AD_MANAGER' }] })
  const client = createClient({
    baseUrl: sandbox.url,
    ...sandbox.credentials,
    accessToken: added.oauth_token,
    accessTokenSecret: added.oauth_token_secret,
  })
  expect((await client.users.me()).data).toMatchObject({ id: added.user_id, username: 'maria' })
  await client.close()
  expect((await sandbox.users.list()).map(({ screen_name: handle }) => handle)).toEqual(['sandbox', 'maria'])
  // Every setting of a user has a default, also the handle.
  expect(await sandbox.users.add({ premium: true })).toMatchObject({
    user_id: '1003',
    screen_name: 'user1003',
    premium: true,
    accounts: [],
  })
  expect(await sandbox.features('18ce54d4x5t', { add: ['PROMOTED_MEDIA_POLLS'] })).toContain('PROMOTED_MEDIA_POLLS')
  expect(await sandbox.features('18ce54d4x5t')).toContain('PROMOTED_MEDIA_POLLS')
})

test('a credential that is undefined has its default', async () => {
  // Without `exactOptionalPropertyTypes`, TypeScript accepts variables that are not set.
  const unset = { consumerKey: undefined } as unknown as { readonly consumerKey?: string }
  await using sandbox = await startSandbox({ credentials: unset })
  expect(sandbox.credentials.consumerKey).toBe('sandbox-consumer-key')
})
