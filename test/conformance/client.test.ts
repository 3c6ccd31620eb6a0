/** The typed client against the sandbox: sign-in, tokens, and every endpoint of the contract served by both (spec 3.2, 4.1). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Endpoint, Parameter } from '../../src/service/contract/endpoint.ts'
import { endpoints } from '../../src/service/contract/index.ts'
import { createClient, ServiceError, type Client, type ProductInput, type ServiceConfig } from '../../src/service/client/index.ts'
import { sha256 } from '../support/digests.ts'
import { withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'

const account = '18ce54d4x5t'
const catalog = '4001'

let sandbox: SandboxUnderTest
let client: Client
const clientWith = (config: Partial<ServiceConfig> = {}) =>
  createClient({
    baseUrl: sandbox.url,
    adsBaseUrl: sandbox.url,
    adsSandboxBaseUrl: sandbox.url,
    adsVersion: '12',
    ...sandbox.credentials,
    ...config,
  })

beforeAll(async () => {
  sandbox = await withSandbox()
  client = clientWith()
})
afterAll(async () => {
  await client.close()
  await sandbox.close()
})

const product = (id: string, more: Partial<Pick<ProductInput, 'price' | 'title'>> = {}): ProductInput => ({
  id,
  title: `Title ${id}`,
  description: 'Plain',
  availability: 'in stock',
  condition: 'new',
  price: '10.00 USD',
  link: `https://shop.example.com/${id}`,
  image_link: `https://shop.example.com/${id}.jpg`,
  brand: 'Example',
  ...more,
})

describe('sign-in (spec 4.1)', () => {
  test('three legs: oauth.requestToken, the page, oauth.accessToken, then oauth.invalidateToken and code 89', async () => {
    const asked = await client.oauth.requestToken({ oauth_callback: 'oob' })
    expect(asked.oauth_callback_confirmed).toBe('true')
    const address = client.authorizeUrl({ oauth_token: asked.oauth_token, screen_name: 'sandbox' })
    const page = await (await fetch(address)).text()
    expect(page).toContain('<form')
    const pin = await allow(address, page)
    const token = await client.oauth.accessToken(
      { oauth_token: asked.oauth_token, oauth_verifier: pin },
      { tokenSecret: asked.oauth_token_secret },
    )
    expect(token).toMatchObject({ user_id: '1001', screen_name: 'sandbox' })

    const own = clientWith({ accessToken: token.oauth_token, accessTokenSecret: token.oauth_token_secret })
    expect(await own.accounts.list().toArray()).not.toHaveLength(0)
    expect(await own.oauth.invalidateToken()).toEqual({ access_token: token.oauth_token })
    await expect(own.accounts.list().toArray()).rejects.toMatchObject({ code: 'SERVICE_TOKEN_INVALID', status: 401 })
    await own.close()
  })

  test('a callback that is not approved is refused by name', async () => {
    await expect(client.oauth.requestToken({ oauth_callback: 'https://elsewhere.example.com/' })).rejects.toMatchObject({
      code: 'SERVICE_CALLBACK_NOT_APPROVED',
    })
  })

  test('oauth2.token gives one token until oauth2.invalidateToken, then another', async () => {
    const first = await client.oauth2.token({ grant_type: 'client_credentials' })
    expect(await client.oauth2.token({ grant_type: 'client_credentials' })).toEqual(first)
    await client.oauth2.invalidateToken({ access_token: first.access_token })
    expect((await client.oauth2.token({ grant_type: 'client_credentials' })).access_token).not.toBe(first.access_token)
    expect(await client.posts.lookup({ ids: ['1'] })).toBeTypeOf('object')
  })

  test.for([
    ['a wrong consumer secret', { consumerSecret: 'x' }],
    ['a wrong token secret', { accessTokenSecret: 'x' }],
    ['an unknown consumer', { consumerKey: 'x' }],
  ] as const)('%s is a bad signature', async ([, config]) => {
    const wrong = clientWith(config)
    await expect(wrong.accounts.list().toArray()).rejects.toMatchObject({ code: 'SERVICE_BAD_SIGNATURE', status: 401 })
    await wrong.close()
  })
})

describe('catalogs (spec 4.2)', () => {
  test('catalogs.list, catalogs.update, and catalogs.create refused for a second one', async () => {
    expect((await client.catalogs.list().toArray()).map(({ id }) => id)).toEqual([catalog])
    expect(await client.catalogs.update({ product_catalog_id: catalog, name: "Ünïcode & Söhne's (100%) + *" })).toEqual({
      id: catalog,
      name: "Ünïcode & Söhne's (100%) + *",
    })
    await expect(client.catalogs.create({ name: 'second' })).rejects.toBeInstanceOf(ServiceError)
  })

  test('products.put creates, changes nothing, updates; products.list pages; products.delete', async () => {
    const many = Array.from({ length: 25 }, (_, index) => product(`p${String(index).padStart(2, '0')}`))
    const statuses = async (products: readonly ProductInput[]) =>
      (await client.products.put({ product_catalog_id: catalog, products })).products_response.map(({ status }) => status)
    expect(new Set(await statuses(many))).toEqual(new Set(['CREATE_SUCCESS']))
    expect(new Set(await statuses(many))).toEqual(new Set(['NO_CHANGE']))
    expect(await statuses([product('p00', { price: '9.00 USD' })])).toEqual(['UPDATE_SUCCESS'])

    const read = await client.products.list({ product_catalog_id: catalog, count: 10 }).toArray()
    expect(read.map(({ id }) => id).sort()).toEqual(many.map(({ id }) => id))
    expect(read.find(({ id }) => id === 'p00')).toMatchObject({ price: '9.00 USD', gtin: null })

    const keys = read.map(({ product_key: key }) => key)
    const { delete_products: deleted } = await client.products.delete({ product_catalog_id: catalog, product_keys: keys })
    expect(deleted.map(({ product_key: key, failed_product_key: failed }) => [key, failed])).toEqual(keys.map((key) => [key, null]))
    expect(await client.products.list({ product_catalog_id: catalog }).toArray()).toEqual([])
  })

  test('products.put of 26 names the parameter and the rule', async () => {
    const call = client.products.put({
      product_catalog_id: catalog,
      products: Array.from({ length: 26 }, (_, index) => product(`q${index}`)),
    })
    await expect(call).rejects.toMatchObject({ code: 'SERVICE_INVALID_PARAMETER', hint: expect.stringContaining('at most 25 entries') })
  })

  test('productSets.create, productSets.get, productSets.list, productSets.update, productSets.delete', async () => {
    const put = await client.products.put({ product_catalog_id: catalog, products: [product('in-set')] })
    const key = put.products_response[0]?.product_key ?? ''
    const made = await client.productSets.create({ product_catalog_id: catalog, name: 'Set', type: 'MANUAL', product_keys: [key] })
    expect(made).toMatchObject({ name: 'Set', type: 'MANUAL', filters: [], product_ids: ['in-set'] })
    const ids = { product_catalog_id: catalog, product_set_id: made.id }
    expect((await client.productSets.get(ids)).id).toBe(made.id)
    expect((await client.productSets.list({ product_catalog_id: catalog }).toArray()).map(({ id }) => id)).toContain(made.id)
    expect((await client.productSets.update({ ...ids, name: 'Other' })).name).toBe('Other')
    await client.productSets.delete(ids)
    await expect(client.productSets.get(ids)).rejects.toMatchObject({ status: 404 })
  })

  test('scheduledFeeds.create, scheduledFeeds.get, scheduledFeeds.list, scheduledFeeds.update, scheduledFeeds.delete', async () => {
    const made = await client.scheduledFeeds.create({
      product_catalog_id: catalog,
      feed_url: 'https://shop.example.com/feed.xml',
      frequency: 'DAILY',
    })
    const ids = { product_catalog_id: catalog, scheduled_feed_id: made.id }
    expect((await client.scheduledFeeds.get(ids)).feed_url).toBe('https://shop.example.com/feed.xml')
    expect(await client.scheduledFeeds.list({ product_catalog_id: catalog }).toArray()).toHaveLength(1)
    expect((await client.scheduledFeeds.update({ ...ids, frequency: 'WEEKLY' })).frequency).toBe('WEEKLY')
    await client.scheduledFeeds.delete(ids)
    expect(await client.scheduledFeeds.list({ product_catalog_id: catalog }).toArray()).toEqual([])
  })
})

describe('audiences (spec 4.3)', () => {
  const users = (address: string) => [{ operation_type: 'Update' as const, params: { users: [{ email: [sha256(address)] }] } }]

  test('keywords.search answers with thirty related keywords', async () => {
    const found = await client.keywords.search({
      granularity: 'DAY',
      keywords: ['shoes', 'boots'],
      start_time: new Date(Date.now() - 86_400_000),
    })
    expect(found.related_keywords).toHaveLength(30)
  })

  test.for(['object', 'array'])('audiences.users and doNotReachLists.users sum up alike (answer as %s)', async (form) => {
    await sandbox.control.switches({ audience_users_response: form })
    expect(await client.audiences.users({ account_id: account, custom_audience_id: '1nmth', body: users('a@example.com') })).toEqual([
      { success_count: 1, total_count: 1 },
    ])
    expect(await client.doNotReachLists.users({ account_id: account, do_not_reach_list_id: '2dnr', body: users('b@example.com') })).toEqual(
      [{ success_count: 1, total_count: 1 }],
    )
    await sandbox.control.switches({ audience_users_response: 'object' })
  })

  test('audiences.users with a wrong entry names its index', async () => {
    const body = [...users('c@example.com'), { operation_type: 'Update' as const, params: {} as never }]
    await expect(client.audiences.users({ account_id: account, custom_audience_id: '1nmth', body })).rejects.toMatchObject({
      code: 'SERVICE_BATCH_REFUSED',
      issues: [{ index: 1 }],
    })
  })

  test('audiences.create, audiences.get, audiences.list, audiences.update, audiences.targeted, audiences.estimate, audiences.delete', async () => {
    const made = await client.audiences.create({ account_id: account, name: 'Own' })
    const ids = { account_id: account, custom_audience_id: made.id }
    expect((await client.audiences.get(ids)).name).toBe('Own')
    expect((await client.audiences.list({ account_id: account }).toArray()).map(({ id }) => id)).toContain(made.id)
    expect((await client.audiences.update({ ...ids, name: 'Renamed' })).name).toBe('Renamed')
    expect(await client.audiences.targeted(ids).toArray()).toEqual([])
    const estimate = await client.audiences.estimate({
      account_id: account,
      targeting_criteria: [{ targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1', operator_type: 'EQ' }],
    })
    expect(estimate.audience_size).toHaveProperty('min')
    expect((await client.audiences.delete(ids)).deleted).toBe(true)
    await expect(client.audiences.get(ids)).rejects.toMatchObject({ code: 'SERVICE_NOT_FOUND' })
  })

  test('audiencePermissions.list, audiencePermissions.create, audiencePermissions.delete', async () => {
    const ids = { account_id: account, tailored_audience_id: '1nmth' }
    const before = await client.audiencePermissions.list(ids).toArray()
    const outcome = await client.audiencePermissions
      .create({ ...ids, granted_account_id: 'other', permission_level: 'READ_ONLY' })
      .catch((error: unknown) => error)
    if (outcome instanceof Error) {
      // Sharing outside a business is a feature of the account (spec 5 rule 7).
      expect(outcome).toBeInstanceOf(ServiceError)
      expect(await client.audiencePermissions.list(ids).toArray()).toEqual(before)
    } else {
      const { id } = outcome as { readonly id: string }
      expect((await client.audiencePermissions.delete({ ...ids, tailored_audience_permission_id: id })).deleted).toBe(true)
    }
  })

  test('doNotReachLists.list, doNotReachLists.create refused for a second one, doNotReachLists.delete', async () => {
    expect((await client.doNotReachLists.list({ account_id: account }).toArray()).map(({ id }) => id)).toEqual(['2dnr'])
    await expect(client.doNotReachLists.create({ account_id: account })).rejects.toBeInstanceOf(ServiceError)
    expect((await client.doNotReachLists.delete({ account_id: account, do_not_reach_list_id: '2dnr' })).deleted).toBe(true)
    expect((await client.doNotReachLists.create({ account_id: account })).name).toBe('Do Not Reach List')
  })
})

describe('activity (spec 6.2)', () => {
  test('activity.stream yields events until it is closed', async () => {
    const events = client.activity.stream()[Symbol.asyncIterator]()
    let arrived = false
    const first = events.next().finally(() => (arrived = true))
    // The stream takes a moment to open, and does not deliver earlier events.
    while (!arrived) await sandbox.control.request('POST', 'events', { event_type: 'follow.follow' })
    expect((await first).value).toMatchObject({ data: { event_type: 'follow.follow' } })
    await events.return?.()
  })
})

test('the file of a finished statistics job has statistics', async () => {
  const { id_str: id } = await client.statisticsJobs.create({
    account_id: account,
    entity: 'LINE_ITEM',
    entity_ids: ['9cqi0'],
    start_time: '2026-02-01T00:00:00Z',
    end_time: '2026-02-03T00:00:00Z',
    granularity: 'DAY',
    metric_groups: ['ENGAGEMENT'],
    placement: 'ALL_ON_SERVICE',
  })
  const [job] = await client.statisticsJobs.list({ account_id: account, job_ids: [id] }).toArray()
  const statistics = await client.statisticsJobs.file({ file: String(job?.url).split('/').at(-1) ?? '' })
  expect(statistics).toEqual([{ id: '9cqi0', id_data: expect.any(Array) }])
})

describe('every entry of the contract is served by client and sandbox', () => {
  test('there are entries', () => expect(endpoints.length).toBeGreaterThan(100))

  // A page for a browser cannot be called.
  const called = endpoints.filter(({ stream, answer }) => stream !== true && answer.resource !== 'page')
  test.for(called.map((endpoint) => [endpoint.name, endpoint] as const))('%s', async ([name, endpoint]) => {
    const outcome = await client.callByName(name, sampleOf(endpoint), { retry: false }).catch((error: unknown) => error)
    if (!(outcome instanceof Error)) return
    // Unknown ids are refused. The test only checks that the endpoint itself refuses them.
    expect(outcome).toBeInstanceOf(ServiceError)
    const { status, issues } = outcome as ServiceError
    expect([status, issues.map(({ code }) => code)]).not.toEqual([expect.anything(), expect.arrayContaining(['ROUTE_NOT_FOUND'])])
    expect(status, outcome.message).toBeDefined()
    expect([405, 500, 501]).not.toContain(status)
  })
})

/** Fills in the required parameters by their types. */
function sampleOf(endpoint: Endpoint): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  for (const one of endpoint.parameters) {
    if (one.required === true && !(endpoint.bodyIs === 'array' && one.in === 'body'))
      params[one.name] = one.name === 'account_id' ? account : sampleValue(one)
  }
  if (endpoint.bodyIs === 'array') params['body'] = []
  return params
}

function sampleValue({ type, values, min, name }: Parameter): unknown {
  switch (type) {
    case 'enum':
      return values?.[0]
    case 'csv-enum':
      return values?.slice(0, 1)
    case 'integer':
      return min ?? 1
    case 'long':
      return '1'
    case 'boolean':
      return true
    case 'timestamp':
    case 'hour':
      return '2026-01-01T00:00:00Z'
    case 'csv':
      return ['1']
    case 'url':
      return 'https://shop.example.com/'
    case 'object':
      return {}
    case 'array':
      return []
    case 'string':
      return name.endsWith('_date') ? '202601010000' : 'x1'
  }
}

/** Sends the form of the page with its button that allows, as a user would. */
async function allow(url: string, page: string): Promise<string> {
  const fields = new URLSearchParams()
  for (const [tag] of page.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1]
    if (name !== undefined && !/type="submit"/.test(tag)) fields.set(name, /value="([^"]*)"/.exec(tag)?.[1] ?? '')
  }
  const button = [...page.matchAll(/<button[^>]*>/g)].map(([tag]) => tag).find((tag) => /allow|authorize/i.test(tag)) ?? ''
  const name = /name="([^"]*)"/.exec(button)?.[1]
  if (name !== undefined) fields.set(name, /value="([^"]*)"/.exec(button)?.[1] ?? '')
  const action = /<form[^>]*action="([^"]*)"/.exec(page)?.[1]
  const target = new URL((action ?? '').replaceAll('&amp;', '&'), url)
  if (/<form[^>]*method="get"/i.test(page)) target.search = fields.toString()
  const answer = target.search === '' ? await fetch(target, { method: 'POST', body: fields }) : await fetch(target)
  const pin = /\b(\d{6,8})\b/.exec(await answer.text())?.[1]
  if (pin === undefined) throw new Error('the page shows no PIN')
  return pin
}
