/** The client returns the same for every form in which the service may answer (docs/spec-notes.md). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClient, ServiceError, type Client } from '../../src/service/client/index.ts'
import { between, forms, type Between, type Form } from '../support/tolerance.ts'
import { sha256 } from '../support/digests.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const account_id = '18ce54d4x5t'
const AT = '2026-06-01T12:00:00Z'

const sandbox = sharedSandbox()
let server: Between
beforeAll(async () => {
  server = await between(sandbox.url)
})
beforeEach(async () => {
  await sandbox.control.setClock(AT)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const users = [1, 2, 3].map((n) => ({ operation_type: 'Update' as const, params: { users: [{ email: [sha256(`a${n}@example.com`)] }] } }))
const product = {
  id: 'sku',
  title: 'Krug № 5',
  description: 'Plain',
  availability: 'in stock',
  condition: 'new',
  price: '10.00 USD',
  link: 'https://shop.example.com/1',
  image_link: 'https://shop.example.com/1.jpg',
  brand: 'Example',
} as const

/** One call of each kind. The clock of the sandbox was set, so its times are the same. */
async function story(client: Client): Promise<Record<string, unknown>> {
  const made = await client.campaigns.create({ account_id, funding_instrument_id: 'lygyi', name: 'Frühling ☃' })
  return {
    list: (await client.lineItems.list({ account_id, count: 4, sort_by: ['name-asc'] }).toArray()).map(({ id }) => id),
    one: await client.lineItems.get({ account_id, line_item_id: '9cqi0' }),
    card: await client.cards.get({ account_id, card_id: '1503831318555086849' }),
    made: [made.id, made.name, made.deleted],
    changed: (await client.campaigns.update({ account_id, campaign_id: made.id, name: 'Sommer' })).name,
    deleted: (await client.campaigns.delete({ account_id, campaign_id: made.id })).deleted,
    products: (await client.products.put({ product_catalog_id: '4001', products: [product] })).products_response.map(({ id, status }) => [
      id,
      status,
    ]),
    read: (await client.products.list({ product_catalog_id: '4001' }).toArray()).map(({ id, title, gtin }) => [id, title, gtin]),
    users: (await client.audiences.users({ account_id, custom_audience_id: '1nmth', body: users })).reduce(
      (all, one) => all + Number(one.success_count),
      0,
    ),
    exclusions: (await client.doNotReachLists.users({ account_id, do_not_reach_list_id: '2dnr', body: users })).reduce(
      (all, one) => all + Number(one.total_count),
      0,
    ),
    features: await client.features.list({ account_id }),
    posts: await client.posts.lookup({ ids: ['1166476031668015106'], 'tweet.fields': ['author_id'], expansions: ['author_id'] }),
    token: (await client.oauth2.token({ grant_type: 'client_credentials' })).token_type,
    refusals: await Promise.all([
      refusalOf(client.lineItems.get({ account_id, line_item_id: 'none' })),
      refusalOf(client.lineItems.update({ account_id, line_item_id: '9cqi0', bid_strategy: 'MAX' })),
      refusalOf(client.accounts.get({ account_id: 'abc1' })),
      refusalOf(
        client.audiences.users({
          account_id,
          custom_audience_id: '1nmth',
          body: [...users, { operation_type: 'Update', params: {} as never }],
        }),
      ),
    ]),
  }
}

/**
 * Compares status and kind. Some answers cannot be expressed in the format (a code without text, an HTML page): only the status is
 * compared.
 */
async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ServiceError)) return `no refusal: ${JSON.stringify(error)}`
  return [error.status, error.hint === '' ? 'no hint' : 'a hint']
}

const clientOf = (url: string): Client =>
  createClient({ baseUrl: url, adsBaseUrl: url, adsSandboxBaseUrl: url, adsVersion: '12', ...sandbox.credentials })

describe('the same comes out of', () => {
  let expected: Record<string, unknown>
  beforeAll(async () => {
    await sandbox.control.reset()
    await sandbox.control.setClock(AT)
    const client = clientOf(sandbox.url)
    expected = await story(client)
    await client.close()
  })

  test('what is right without a form', () => {
    expect(expected).toMatchObject({
      users: 3,
      exclusions: 3,
      deleted: true,
      refusals: [
        [404, 'a hint'],
        [400, 'a hint'],
        [403, 'a hint'],
        [400, 'a hint'],
      ],
    })
  })

  test.for(forms.map((form): [string, Form] => [form.name, form]))('%s', async ([, form]) => {
    server.form = form
    const client = clientOf(server.url)
    // Unknown keys are passed on, so there may be more.
    expect(await story(client)).toMatchObject(expected)
    await client.close()
  })
})

test('the forms change what they say they change', () => {
  const changed = forms.map(({ name, body, text, headers }) => {
    const samples = [
      { request: { params: {} }, data: { id: '1' } },
      { request: { params: {} }, data: [{ id: '1' }] },
      {
        request: [],
        data: [
          { success_count: 1, total_count: 1 },
          { success_count: 1, total_count: 1 },
        ],
      },
      { errors: [{ code: 'X', message: 'm', parameter: 'p' }], request: { params: {} } },
      { errors: [{ code: 89, message: 'm' }] },
      { request: {}, data: ['é'], next_cursor: null },
    ]
    const inBody = samples.some((sample) => JSON.stringify(body?.(sample) ?? sample) !== JSON.stringify(sample))
    const inText = text !== undefined && text('{"a":"é"}', 400) !== '{"a":"é"}'
    const sent = { 'content-type': 'application/json', 'x-rate-limit-limit': '1' }
    const inHeaders = headers !== undefined && JSON.stringify(headers(sent)) !== JSON.stringify(sent)
    return [name, inBody || inText || inHeaders] as const
  })
  expect(changed.filter(([, does]) => !does)).toEqual([])
})
