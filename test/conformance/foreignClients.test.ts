/** Unmodified clients of other projects against the sandbox: requests-oauthlib, oauthlib as a second verifier, and oauth from npm. */
import fc from 'fast-check'
import { OAuth } from 'oauth'
import { describe, expect, test } from 'vitest'
import { PYTHON_CLIENTS, python, runPython } from '../support/foreign/python.ts'
import { allowed, pinOf } from '../support/authorizationPage.ts'
import { signedRequests, type SignedRequest } from '../support/foreign/signedRequests.ts'
import { type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'

const sandbox = sharedSandbox()

const account = '18ce54d4x5t'
const unauthorized = {
  errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' }],
  request: { params: {} },
}

describe.skipIf(python === undefined)(`python clients (${PYTHON_CLIENTS})`, () => {
  test('requests-oauthlib signs in, lists, creates, updates, deletes, sends batches, looks up and registers a webhook', async () => {
    await using endpoint = await webhookEndpoint()
    await sandbox.control.switches({ webhook_dev_urls: 'on' })
    const { consumerKey, consumerSecret } = sandbox.credentials
    const seen = JSON.parse(await runPython('story.py', [sandbox.url, consumerKey, consumerSecret, endpoint.url])) as Loose

    expect(seen.pin).toEqual({ user_id: '1001', screen_name: 'sandbox' })
    expect(seen.callback).toEqual({ location: 'http://127.0.0.1:9/done', from: 'shop', user_id: '1001' })

    expect(seen.accounts).toMatchObject({
      status: 200,
      body: { total_count: 2, next_cursor: null, request: { params: { with_total_count: true } } },
    })
    expect(seen.paging.pages).toBe(3)
    expect(seen.paging.names).toHaveLength(11)
    expect(new Set(seen.paging.names).size).toBe(11)
    expect(seen.search.body.request.params).toEqual({ account_id: account, count: 5, q: 'Mugs & ü' })

    expect(seen.createByForm).toMatchObject({ status: 200, body: { data: { name: "Dogs, Cats & Mice (☃)! ~*'", deleted: false } } })
    expect(seen.createByQuery).toMatchObject({ status: 200, body: { data: { name: 'a+b c%20d' } } })
    expect(seen.update).toMatchObject({ status: 200, body: { data: { name: 'Renamed', total_budget_amount_local_micro: null } } })
    expect(seen.delete).toMatchObject({ status: 200, body: { data: { deleted: true } } })
    expect(seen.deletedAgain).toMatchObject({ status: 404, body: { errors: [{ code: 'CAMPAIGN_NOT_FOUND' }] } })
    expect(seen.trailingSlash.status).toBe(200)

    expect(seen.putProducts.body.data.products_response.map((one: Loose) => one.status)).toEqual(
      Array.from({ length: 25 }, () => 'CREATE_SUCCESS'),
    )
    expect(seen.readProducts.body.data).toHaveLength(10)
    expect(seen.readProducts.body.next_cursor).toEqual(expect.any(String))
    expect(seen.deleteProducts.body.request.params).toEqual({
      product_keys: seen.deleteProducts.body.data.delete_products.map((one: Loose) => one.product_key),
    })
    expect(seen.audienceUsers.body.data).toEqual({ success_count: 3, total_count: 3 })
    expect(seen.listUsers.body.data).toEqual(Array.from({ length: 3 }, () => ({ success_count: 1, total_count: 1 })))
    expect(seen.badUsers).toMatchObject({
      status: 400,
      body: { operation_errors: [[], [], [], [{ code: 'MISSING_PARAMETER', parameter: 'users' }]] },
    })
    expect(seen.batch).toMatchObject({ status: 200, body: { data: [{ id: '8wku2', name: 'By batch' }] } })

    expect(seen.post.body.data).toMatchObject({ text: 'Dogs, Cats & Mice ☃', name: null, truncated: false })
    for (const found of [seen.lookUpByUser, seen.lookUpByBearer]) {
      expect(found.status).toBe(200)
      expect(found.body.data[0]).toMatchObject({
        id: seen.post.body.data.id_str,
        author_id: '1001',
        created_at: expect.stringMatching(/\.\d{3}Z$/) as string,
      })
      expect(found.body.includes).toMatchObject({ users: [{ id: '1001', username: 'sandbox' }], media: [{ duration_ms: 15_000 }] })
    }
    expect(seen.postV2).toMatchObject({ status: 201, body: { data: { text: 'Hello from elsewhere' } } })
    expect(seen.webhook).toMatchObject({ status: 200, body: { data: { url: endpoint.url, valid: true } } })
    expect(seen.webhooks.body).toMatchObject({ data: [{ url: endpoint.url, valid: true }], meta: { result_count: 1 } })
    expect(seen.webhookCheck.body).toEqual({ data: { valid: true } })
    expect(seen.webhookRemove.body).toEqual({ data: { deleted: true } })

    expect([seen.bearerOnAds, seen.wrongSecret, seen.plaintext]).toEqual(
      Array.from({ length: 3 }, () => ({ status: 401, body: unauthorized })),
    )
    expect(seen.badCount).toMatchObject({
      status: 400,
      body: { errors: [{ code: 'INVALID_PARAMETER', parameter: 'count', value: '1001' }] },
    })
    expect(seen.invalidate).toMatchObject({ status: 200, body: { access_token: expect.any(String) as string } })
    expect(seen.afterwards).toEqual({ status: 401, body: { errors: [{ code: 89, message: 'Invalid or expired token.' }] } })
  }, 60_000)

  test('python3-oauthlib and the sandbox agree about 200 signed requests, good and bad', async () => {
    const requests = fc.sample(signedRequests(sandbox.url), { numRuns: 200, seed: 5849 })
    // A replay is a request sent twice, so both verifications also see the first one.
    const asked = requests.flatMap((request) => (request.fault === 'replayed nonce' ? [request, request] : [request]))
    const { consumerKey, consumerSecret, accessToken, accessTokenSecret } = sandbox.credentials
    const lines = asked.map(({ method, url, body, headers }) => JSON.stringify({ method, uri: url, body, headers })).join('\n')
    const outcomes = (await runPython('outcomes.py', [consumerKey, consumerSecret, accessToken, accessTokenSecret], lines))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as boolean)
    const differences: object[] = []
    let good = 0
    for (const [index, request] of asked.entries()) {
      const ours = await letIn(request)
      if (ours) good++
      if (ours !== outcomes[index]) differences.push({ ...request, sandbox: ours, oauthlib: outcomes[index] })
    }
    expect(differences).toEqual([])
    expect(outcomes).toHaveLength(asked.length)
    expect([good > 60, asked.length - good > 60]).toEqual([true, true])
    expect(new Set(requests.map(({ fault }) => fault)).size).toBeGreaterThan(10)
  }, 60_000)
})

async function letIn({ method, url, body, headers }: SignedRequest): Promise<boolean> {
  const { status } = await fetch(url, { method, headers: { ...headers }, ...(body === undefined ? {} : { body }) })
  expect([200, 400, 401, 403, 404]).toContain(status)
  return status !== 401
}

describe('the oauth package of npm', () => {
  interface Tokens {
    readonly token: string
    readonly secret: string
  }
  type Done = (error: Loose, data?: unknown, response?: { readonly statusCode?: number }) => void
  const answered = (start: (done: Done) => unknown): Promise<{ status: number; body: Loose }> =>
    new Promise((resolve) => {
      start((error, data, response) => {
        resolve({ status: response?.statusCode ?? error?.statusCode ?? 0, body: JSON.parse(String(data ?? error?.data)) as unknown })
      })
    })
  const paired = (
    start: (done: (error: Loose, token: string, secret: string, rest: Loose) => void) => void,
  ): Promise<Tokens & { readonly rest: Loose }> =>
    new Promise((resolve, reject) => {
      start((error, token, secret, rest) => (error ? reject(new Error(JSON.stringify(error))) : resolve({ token, secret, rest })))
    })

  test('signs in, lists, creates, updates, deletes, sends a batch and looks up', async () => {
    const { consumerKey, consumerSecret } = sandbox.credentials
    const oauth = new OAuth(
      `${sandbox.url}/oauth/request_token`,
      `${sandbox.url}/oauth/access_token`,
      consumerKey,
      consumerSecret,
      '1.0',
      'oob',
      'HMAC-SHA1',
    )
    const asked = await paired((done) => oauth.getOAuthRequestToken(done))
    expect(asked.rest.oauth_callback_confirmed).toBe('true')
    const pin = pinOf(await (await allowed(`${sandbox.url}/oauth/authorize?oauth_token=${asked.token}`)).text())
    const user = await paired((done) => oauth.getOAuthAccessToken(asked.token, asked.secret, pin, done))
    expect(user.rest).toMatchObject({ user_id: '1001', screen_name: 'sandbox' })

    const get = (path: string) => answered((done) => oauth.get(sandbox.url + path, user.token, user.secret, done as never))
    const send = (method: 'put' | 'post', path: string, body: string | object) =>
      answered((done) =>
        typeof body === 'string'
          ? oauth[method](sandbox.url + path, user.token, user.secret, body, 'application/json', done as never)
          : oauth[method](sandbox.url + path, user.token, user.secret, body as never, '', done as never),
      )
    const own = `/12/accounts/${account}`

    const pages: string[][] = []
    let cursor: string | null = ''
    while (cursor !== null && pages.length < 10) {
      const page: { body: Loose } = await get(
        `${own}/line_items?count=4&sort_by=name-asc${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      pages.push(page.body.data.map((one: Loose) => one.id))
      cursor = page.body.next_cursor
    }
    expect(pages.map((page) => page.length)).toEqual([4, 4, 3])
    expect(new Set(pages.flat()).size).toBe(11)

    const made = await send('post', `${own}/campaigns`, { funding_instrument_id: 'lygyi', name: "Dogs, Cats & Mice (☃)! ~*'" })
    expect(made).toMatchObject({ status: 200, body: { data: { name: "Dogs, Cats & Mice (☃)! ~*'" } } })
    const path = `${own}/campaigns/${made.body.data.id}`
    expect((await send('put', `${path}?name=a%2Bb%20c`, {})).body.data.name).toBe('a+b c')
    expect((await answered((done) => oauth.delete(sandbox.url + path, user.token, user.secret, done as never))).body.data.deleted).toBe(
      true,
    )
    expect(await get(path)).toMatchObject({ status: 404, body: { errors: [{ code: 'CAMPAIGN_NOT_FOUND' }] } })

    const product = {
      id: 'sku',
      title: 'Mug',
      description: 'Plain',
      availability: 'in stock',
      condition: 'new',
      price: '10.00 USD',
      brand: 'Example',
      link: 'https://shop.example.com/1',
      image_link: 'https://shop.example.com/1.jpg',
    }
    expect(
      (await send('put', '/12/product_catalogs/4001/products', JSON.stringify({ products: [product] }))).body.data.products_response,
    ).toMatchObject([{ id: 'sku', status: 'CREATE_SUCCESS' }])
    const users = [
      { operation_type: 'Update', params: { users: [{ email: ['dbf1912b4cad4df9823f627874244e64b50a6ac550b9cb33b17df671a26679db'] }] } },
    ]
    expect((await send('post', `${own}/custom_audiences/1nmth/users`, JSON.stringify(users))).body.data).toEqual({
      success_count: 1,
      total_count: 1,
    })

    const found = await get(
      '/2/tweets?ids=1166476031668015106&tweet.fields=author_id%2Cattachments&expansions=author_id%2Cattachments.media_keys&user.fields=username',
    )
    expect(found.body).toMatchObject({
      data: [{ author_id: '1001' }],
      includes: { users: [{ username: 'sandbox' }], media: [{ type: 'video' }] },
    })
    const wrong = await answered((done) => oauth.get(`${sandbox.url}/12/accounts`, user.token, 'wrong', done as never))
    expect(wrong).toEqual({ status: 401, body: unauthorized })
  })
})
