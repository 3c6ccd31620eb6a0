/**
 * Sentences of the specification, one test each: access levels, targeting, sign-in, cursors, annotations, codes, media, people and time.
 */
import { describe, expect, test } from 'vitest'
import { pinOf } from '../support/authorizationPage.ts'
import { product } from '../support/product.ts'
import { readAnswer, type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'
import { authorization, sandboxCredentials, type SignerCredentials } from '../support/signer.ts'
import { webhookEndpoint } from '../support/webhookEndpoint.ts'

const sandbox = sharedSandbox()
const account = '/12/accounts/18ce54d4x5t'
const consumer = { consumerKey: sandboxCredentials.consumerKey, consumerSecret: sandboxCredentials.consumerSecret }
const get = (path: string, query: Record<string, string> = {}): Promise<CallResult> => sandbox.call('GET', path, { query })
const refusal = ({ status, body }: CallResult): unknown => [status, body.errors?.[0].code, body.errors?.[0].parameter]
const rules = async (): Promise<string[]> => (await sandbox.control.violations()).map(({ rule }) => rule)

async function requestToken(form: Record<string, string> = {}): Promise<URLSearchParams> {
  const answer = await sandbox.call('POST', '/oauth/request_token', { credentials: consumer, form, oauth: { oauth_callback: 'oob' } })
  return new URLSearchParams(answer.text)
}

async function pinFor(token: URLSearchParams, handle = 'sandbox'): Promise<string> {
  const address = `${sandbox.url}/oauth/authorize?oauth_token=${token.get('oauth_token')}&screen_name=${handle}&decision=allow`
  return pinOf(await (await fetch(address)).text())
}

/** Signs in and returns the credentials of the user who allowed it. */
async function signIn(handle: string, form: Record<string, string> = {}): Promise<SignerCredentials & { readonly userId: string }> {
  const token = await requestToken(form)
  const answer = await sandbox.call('POST', '/oauth/access_token', {
    credentials: { ...consumer, accessToken: token.get('oauth_token') ?? '', accessTokenSecret: token.get('oauth_token_secret') ?? '' },
    form: { oauth_verifier: await pinFor(token, handle) },
  })
  const access = new URLSearchParams(answer.text)
  return {
    ...consumer,
    accessToken: access.get('oauth_token') ?? '',
    accessTokenSecret: access.get('oauth_token_secret') ?? '',
    userId: access.get('user_id') ?? '',
  }
}

test('every list of the advertising host has next_cursor, also a list of one page', async () => {
  for (const [path, query] of [
    [`${account}/features`, {}],
    [`${account}/cards/all`, { card_uris: 'card://1503831318555086849' }],
    ['/12/advertiser_business_categories', {}],
    ['/12/line_items/placements', {}],
    ['/12/content_categories', {}],
    [`${account}/curated_categories`, { country_codes: 'US' }],
    ['/12/product_catalogs', {}],
  ] as const) {
    const { body } = await get(path, query)
    expect([path, Array.isArray(body.data), body.next_cursor]).toEqual([path, true, null])
  }
})

test('every deleted record is returned with deleted true, also one that no read shows afterwards', async () => {
  const products = '/12/product_catalogs/4001'
  await sandbox.call('PUT', `${products}/products`, { json: { products: [product('a')] } })
  const [{ product_key }] = (await get(`${products}/products`)).body.data
  const set = await sandbox.call('POST', `${products}/product_sets`, { json: { name: 's', type: 'MANUAL', product_keys: [product_key] } })
  const query = {
    feed_url: 'https://shop.example/f.csv',
    feed_format: 'CSV',
    frequency: 'DAILY',
    repeat: '1',
    start_time: '2027-01-01T00:00:00Z',
    time_zone: 'Europe/Berlin',
  }
  const feed = await sandbox.call('POST', `${products}/scheduled_feeds`, { query })
  for (const path of [
    `${products}/product_sets/${set.body.data.id}`,
    `${products}/scheduled_feeds/${feed.body.data.id}`,
    `${account}/scheduled_tweets/917438609065623552`,
    `${account}/draft_tweets/994747471329873920`,
    `${account}/line_items/9cqi1`,
  ]) {
    const { status, body } = await sandbox.call('DELETE', path)
    expect([path, status, body.data.deleted]).toEqual([path, 200, true])
    expect((await get(path)).status).toBe(404)
  }
})

describe('access levels', () => {
  test('a token of level read does not write posts of v2', async () => {
    const credentials = await signIn('sandbox', { svc_auth_access_type: 'read' })
    const written = await sandbox.call('POST', '/2/tweets', { json: { text: 'no' }, credentials })
    expect([written.status, written.body.title, written.body.type]).toEqual([
      403,
      'Forbidden',
      expect.stringMatching(/\/2\/problems\/oauth1-permissions$/),
    ])
    expect((await sandbox.call('GET', '/2/users/me', { credentials })).status).toBe(200)
    expect((await sandbox.call('POST', '/1.1/oauth/invalidate_token', { credentials })).status).toBe(200)
  })
})

describe('targeting criteria', () => {
  const target = (type: string, value: string, item = `${account}/targeting_criteria`): Promise<CallResult> =>
    sandbox.call('POST', item, { query: { line_item_id: '9cqi0', targeting_type: type, targeting_value: value } })

  test('name a known targeting type', async () => {
    expect(refusal(await target('FAVOURITE_COLOUR', 'red'))).toEqual([400, 'INVALID_TARGETING_TYPE', 'targeting_type'])
    expect((await target('LANGUAGE', 'de')).status).toBe(200)
    const estimate = await sandbox.call('POST', `${account}/audience_estimate`, {
      json: [{ targeting_type: 'FAVOURITE_COLOUR', targeting_value: 'red' }],
    })
    expect(refusal(estimate)).toEqual([400, 'INVALID_TARGETING_TYPE', 'targeting_type'])
  })

  test('name an audience that is there and was not deleted', async () => {
    expect(refusal(await target('CUSTOM_AUDIENCE', 'none'))).toEqual([404, 'TAILORED_AUDIENCE_NOT_FOUND', 'targeting_value'])
    await sandbox.call('DELETE', `${account}/custom_audiences/1nmth`)
    expect((await target('CUSTOM_AUDIENCE', '1nmth')).status).toBe(404)
  })

  test('of another account need a permission, and none after it was revoked', async () => {
    const funding = { funding_instrument_id: 'lygyj', name: 'Theirs' }
    const campaign = await sandbox.call('POST', '/12/accounts/18ce55media/campaigns', { query: funding })
    const item = await sandbox.call('POST', '/12/accounts/18ce55media/line_items', {
      query: {
        campaign_id: campaign.body.data.id,
        objective: 'ENGAGEMENTS',
        placements: 'ALL_ON_SERVICE',
        product_type: 'PROMOTED_TWEETS',
        start_time: '2027-01-01T00:00:00Z',
        end_time: '2027-02-01T00:00:00Z',
      },
    })
    const share = (): Promise<CallResult> =>
      sandbox.call('POST', `${account}/custom_audiences/1nmth/permissions`, {
        query: { granted_account_id: '18ce55media', permission_level: 'READ_ONLY' },
      })
    const theirs = (): Promise<CallResult> =>
      sandbox.call('POST', '/12/accounts/18ce55media/targeting_criteria', {
        query: { line_item_id: item.body.data.id, targeting_type: 'CUSTOM_AUDIENCE', targeting_value: '1nmth' },
      })
    expect((await theirs()).status).toBe(404)
    const permission = (await share()).body.data
    const running = await theirs()
    expect(running.status, running.text).toBe(200)
    await sandbox.call('DELETE', `${account}/custom_audiences/1nmth/permissions/${permission.id}`)
    expect(refusal(await theirs())).toEqual([403, 'ACTION_NOT_ALLOWED', 'targeting_value'])
    // Running campaigns keep it.
    const kept = await get('/12/accounts/18ce55media/targeting_criteria', { line_item_ids: item.body.data.id })
    expect(kept.body.data).toHaveLength(1)
  })
})

describe('oauth/access_token', () => {
  /** Place of token and verifier, and the credentials of the request. */
  const forms: [string, 'query' | 'body', 'header' | 'beside', 'secret' | 'no secret'][] = [
    ['verifier in the query, token in the header', 'query', 'header', 'secret'],
    ['verifier in the body, token in the header', 'body', 'header', 'secret'],
    ['both in the query, signed with the secret of the request token', 'query', 'beside', 'secret'],
    ['both in the query, signed without it', 'query', 'beside', 'no secret'],
    ['both in the body, signed with the secret of the request token', 'body', 'beside', 'secret'],
    ['both in the body, signed without it', 'body', 'beside', 'no secret'],
  ]
  test.for(forms)('%s', async ([, place, tokenIn, key]) => {
    const token = await requestToken()
    const values = {
      oauth_verifier: await pinFor(token),
      ...(tokenIn === 'beside' ? { oauth_token: token.get('oauth_token') ?? '' } : {}),
    }
    const pairs = new URLSearchParams(values).toString()
    const url = `${sandbox.url}/oauth/access_token${place === 'query' ? `?${pairs}` : ''}`
    const header = authorization({
      method: 'POST',
      url,
      ...(place === 'body' ? { form: values } : {}),
      credentials: {
        ...consumer,
        ...(tokenIn === 'header' ? { accessToken: token.get('oauth_token') ?? '' } : {}),
        ...(key === 'secret' ? { accessTokenSecret: token.get('oauth_token_secret') ?? '' } : {}),
      },
    })
    const answer = await readAnswer(
      await fetch(url, {
        method: 'POST',
        headers: { authorization: header, ...(place === 'body' ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) },
        ...(place === 'body' ? { body: pairs } : {}),
      }),
    )
    expect([answer.status, new URLSearchParams(answer.text).get('user_id')]).toEqual([200, '1001'])
  })
})

describe('a cursor', () => {
  const cursorOf = async (path: string, query: Record<string, string> = {}): Promise<string> =>
    (await get(path, { count: '1', ...query })).body.next_cursor as string

  test('of another listing, account or parameters is refused, and a violation', async () => {
    const cursor = await cursorOf(`${account}/line_items`, { campaign_ids: '8wku2' })
    const foreign: [string, Record<string, string>][] = [
      [`${account}/campaigns`, {}],
      [`${account}/line_items`, {}],
      [`${account}/line_items`, { campaign_ids: '8wku2', with_deleted: 'true' }],
      ['/12/accounts/18ce55media/line_items', { campaign_ids: '8wku2' }],
    ]
    for (const [path, query] of foreign)
      expect(refusal(await get(path, { cursor, ...query }))).toEqual([400, 'INVALID_PARAMETER', 'cursor'])
    expect(await rules()).toEqual(foreign.map(() => 'cursor_of_another_listing'))
    const next = await get(`${account}/line_items`, { campaign_ids: '8wku2', cursor, count: '3' })
    expect([next.status, next.body.data.length]).toEqual([200, 3])
  })

  test('of products belongs to its catalog and its group', async () => {
    const other = (await sandbox.call('POST', '/12/product_catalogs', { query: { name: 'Other', user_id: '1001' } })).body.data
    const put = (ids: string[]): Promise<CallResult> =>
      sandbox.call('PUT', '/12/product_catalogs/4001/products', {
        json: { products: ids.map((id) => product(id, id.startsWith('g') ? { item_group_id: 'g' } : {})) },
      })
    await put(['a', 'b', 'c', 'g1', 'g2', 'g3'])
    const products = '/12/product_catalogs/4001/products'
    const first = await get(products, { count: '1' })
    const group = (await get(products)).body.data.find((one: Loose) => one.item_group_key !== null).item_group_key as string
    expect(refusal(await get(products, { cursor: first.body.next_cursor, item_group_key: group }))).toEqual([
      400,
      'INVALID_PARAMETER',
      'cursor',
    ])
    if (other !== undefined)
      expect(refusal(await get(`/12/product_catalogs/${other.id}/products`, { cursor: first.body.next_cursor }))).toEqual([
        400,
        'INVALID_PARAMETER',
        'cursor',
      ])
    const before = await rules()
    expect(before.every((rule) => rule === 'cursor_of_another_listing')).toBe(true)
    expect((await get(products, { cursor: first.body.next_cursor, count: '2' })).body.data).toHaveLength(2)
    // Listings of other types of records refuse it, and products refuse cursors of others.
    const items = await cursorOf(`${account}/line_items`)
    for (const [path, cursor] of [
      [`${account}/line_items`, first.body.next_cursor],
      [products, items],
    ] as const)
      expect(refusal(await get(path, { cursor }))).toEqual([400, 'INVALID_PARAMETER', 'cursor'])
    expect(await rules()).toEqual([...before, 'cursor_of_another_listing', 'cursor_of_another_listing'])
  })

  test('that a catalog and one of its groups both return serves both', async () => {
    const ids = ['g1', 'g2', 'g3']
    const products = '/12/product_catalogs/4001/products'
    await sandbox.control.switches({ group_reads: 'all' })
    await sandbox.call('PUT', products, { json: { products: ids.map((id) => product(id, { item_group_id: 'g' })) } })
    const group = { item_group_key: (await get(products)).body.data[0].item_group_key as string }
    const [whole, part] = [await cursorOf(products), await cursorOf(products, group)]
    expect(whole).toBe(part)
    for (const query of [{}, group]) expect((await get(products, { ...query, cursor: whole })).body.data).toHaveLength(2)
    expect(await rules()).toEqual([])
  })
})

describe('fields of posts', () => {
  test('context_annotations and annotations of entities are shown where a text names something known', async () => {
    const { body } = await get('/2/tweets', {
      ids: '1166476031668015107,1166476031668015109',
      'tweet.fields': 'context_annotations,entities',
    })
    const [asked, quiet] = body.data
    expect(asked.entities.annotations).toEqual([
      { start: 24, end: 30, probability: expect.any(Number), type: 'Place', normalized_text: 'Berlin' },
    ])
    expect(asked.context_annotations).toEqual([
      {
        domain: { id: expect.any(String), name: 'Place', description: expect.any(String) },
        entity: { id: expect.any(String), name: 'Berlin' },
      },
    ])
    expect(quiet).not.toHaveProperty('context_annotations')
  })
})

describe('a receiver of webhooks', () => {
  test.for([200, 201, 204, 302])('that answers %i has taken an event only with 200', async (status) => {
    await using endpoint = await webhookEndpoint()
    await sandbox.control.switches({ webhook_dev_urls: 'on' })
    const bearer = (
      await sandbox.call('POST', '/oauth2/token', {
        form: { grant_type: 'client_credentials' },
        headers: { authorization: `Basic ${Buffer.from(`${consumer.consumerKey}:${consumer.consumerSecret}`).toString('base64')}` },
      })
    ).body.access_token as string
    await sandbox.call('POST', '/2/webhooks', { json: { url: endpoint.url }, bearer })
    endpoint.eventStatus = status
    const sent = await sandbox.control.request('POST', 'events', {})
    expect(sent.body.deliveries).toEqual(status === 200 ? { delivered: 1, failed: 0 } : { delivered: 0, failed: 1 })
    endpoint.eventStatus = 200
    await sandbox.control.advance(60)
    expect(endpoint.events).toHaveLength(status === 200 ? 1 : 2)
  })
})

describe('codes and values by their lists', () => {
  test('countries are those of ISO 3166-1', async () => {
    expect(refusal(await get(`${account}/curated_categories`, { country_codes: 'US,XX' }))).toEqual([
      400,
      'INVALID_PARAMETER',
      'country_codes',
    ])
    const card = {
      name: 'App',
      components: [
        { type: 'MEDIA', media_key: '3_1146654567674912769' },
        {
          type: 'BUTTON',
          label: { type: 'ENUM', value: 'OPEN' },
          destination: { type: 'APP', country_code: 'ZZ', googleplay_app_id: 'com.example.mugs' },
        },
      ],
    }
    expect(refusal(await sandbox.call('POST', `${account}/cards`, { json: card }))).toEqual([
      400,
      'INVALID_PARAMETER',
      'components[1].destination.country_code',
    ])
  })

  test('the location of keyword insights is a country', async () => {
    const search = (location: string): Promise<CallResult> =>
      get('/12/insights/keywords/search', {
        granularity: 'DAY',
        keywords: 'mugs',
        start_time: new Date(Date.now() - 86_400_000).toISOString(),
        location,
      })
    expect((await search('96683cc9126741d1')).status).toBe(200)
    for (const location of ['nowhere', 'e385d4d639c6a423'])
      expect(refusal(await search(location))).toEqual([400, 'INVALID_PARAMETER', 'location'])
  })

  test('a GTIN that is none is taken with a warning, and a violation', async () => {
    const put = (gtin: string): Promise<CallResult> =>
      sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('SKU', { gtin })] } })
    for (const gtin of ['4006381333931', '036000291452', '96385074', '0306406152', '9780306406157']) {
      expect((await put(gtin)).body.data.products_response[0].warnings).toEqual([])
    }
    expect(await rules()).toEqual([])
    for (const gtin of ['4006381333932', '12345', 'abc']) {
      const [result] = (await put(gtin)).body.data.products_response
      expect([result.status, result.warnings]).toEqual(['UPDATE_SUCCESS', [expect.stringMatching(/^gtin: /)]])
    }
    expect(await rules()).toEqual(['gtin_invalid', 'gtin_invalid', 'gtin_invalid'])
  })

  test('media of a card are in the library of the account', async () => {
    const card = (key: string): unknown => ({
      name: 'Site',
      components: [
        { type: 'MEDIA', media_key: key },
        { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example' } },
      ],
    })
    expect(refusal(await sandbox.call('POST', `${account}/cards`, { json: card('3_999') }))).toEqual([
      404,
      'MEDIA_NOT_FOUND',
      'components[0].media_key',
    ])
    const made = await sandbox.call('POST', `${account}/cards`, { json: card('3_1146654567674912769') })
    expect(made.status).toBe(200)
    // The content of the card stays when its media are deleted from the library.
    await sandbox.call('DELETE', `${account}/media_library/3_1146654567674912769`)
    const saved = await sandbox.call('PUT', `${account}/cards/${made.body.data.id}`, { json: { ...made.body.data, name: 'New' } })
    expect(saved.status, saved.text).toBe(200)
  })
})

describe('several people', () => {
  test('sign in with their handles, and their tokens reach what they were given', async () => {
    const added = (
      await sandbox.control.request('POST', 'users', {
        screen_name: 'maria',
        name: 'Maria Example',
        accounts: [{ id: '18ce54d4x5t', role: 'AD_MANAGER' }],
      })
    ).body
    expect(added).toMatchObject({ screen_name: 'maria', user_id: expect.stringMatching(/^\d+$/), oauth_token: expect.any(String) })
    const maria = await signIn('maria')
    expect(maria.userId).toBe(added.user_id)
    const accounts = await sandbox.call('GET', '/12/accounts', { credentials: maria })
    expect(accounts.body.data.map(({ id }: Loose) => id)).toEqual(['18ce54d4x5t'])
    const given = { ...consumer, accessToken: added.oauth_token, accessTokenSecret: added.oauth_token_secret }
    expect((await sandbox.call('GET', '/2/users/me', { credentials: given })).body.data).toMatchObject({ username: 'maria' })
    expect((await sandbox.call('GET', '/12/accounts/18ce55media', { credentials: maria })).status).toBe(403)
    expect((await sandbox.call('GET', `${account}/authenticated_user_access`, { credentials: maria })).body.data.permissions).toEqual([
      'AD_MANAGER',
    ])
  })

  test('post as an advertiser only who gave access to the account', async () => {
    const post = (user: string): Promise<CallResult> =>
      sandbox.call('POST', `${account}/tweet`, { query: { as_user_id: user, text: `For ${user}` } })
    const outside = (await sandbox.control.request('POST', 'users', { screen_name: 'stranger' })).body.user_id as string
    expect(refusal(await post(outside))).toEqual([403, 'ACTION_NOT_ALLOWED', 'as_user_id'])
    const inside = (await sandbox.control.request('POST', 'users', { screen_name: 'friend', accounts: ['18ce54d4x5t'] })).body
      .user_id as string
    expect((await post(inside)).body.data.user.screen_name).toBe('friend')
    const own = await sandbox.call('POST', `${account}/tweet`, { query: { as_user_id: inside, text: 'Organic', nullcast: 'false' } })
    expect(refusal(own)).toEqual([403, 'ACTION_NOT_ALLOWED', 'nullcast'])
  })

  test('of a role that only reads do not write, and only premium users edit', async () => {
    const reader = (
      await sandbox.control.request('POST', 'users', { screen_name: 'reader', accounts: [{ id: '18ce54d4x5t', role: 'CAMPAIGN_ANALYST' }] })
    ).body
    const credentials = { ...consumer, accessToken: reader.oauth_token, accessTokenSecret: reader.oauth_token_secret }
    expect((await sandbox.call('GET', `${account}/campaigns`, { credentials })).status).toBe(200)
    expect(refusal(await sandbox.call('PUT', `${account}/campaigns/8wku2`, { query: { name: 'x' }, credentials }))).toEqual([
      403,
      'ACTION_NOT_ALLOWED',
      undefined,
    ])
    for (const [premium, status] of [
      [true, 201],
      [false, 403],
    ] as const) {
      const writer = (await sandbox.control.request('POST', 'users', { screen_name: `writer_${premium}`, premium })).body
      const own = { ...consumer, accessToken: writer.oauth_token, accessTokenSecret: writer.oauth_token_secret }
      const first = await sandbox.call('POST', '/2/tweets', { json: { text: 'First' }, credentials: own })
      const edit = await sandbox.call('POST', '/2/tweets', {
        json: { text: 'Second', edit_options: { previous_post_id: first.body.data.id } },
        credentials: own,
      })
      expect(edit.status).toBe(status)
    }
  })

  test('are refused at the control API for a handle in use, an unknown account, an unknown field and an inexact id', async () => {
    const unknownAccount = { screen_name: 'a', accounts: ['none'] }
    const inexactId = { screen_name: 'a', id: 2 ** 53 }
    for (const body of [{ screen_name: 'sandbox' }, unknownAccount, { screen_name: 'a', colour: 'red' }, inexactId])
      expect((await sandbox.control.request('POST', 'users', body)).status).toBe(400)
    expect((await sandbox.control.request('GET', 'users')).body.map(({ screen_name }: Loose) => screen_name)).toEqual(['sandbox'])
  })
})

describe('what takes time, by the clock where the switch says so', () => {
  test('audiences are processed after 6 hours, media after a minute, product sets after 5', async () => {
    await sandbox.control.switches({ processing_times: 'clock' })
    const users = Array.from({ length: 120 }, (_, n) => ({ partner_user_id: [`p${n}`] }))
    await sandbox.call('POST', `${account}/custom_audiences/1nmth/users`, { json: [{ operation_type: 'Update', params: { users } }] })
    const audience = async (): Promise<Loose> => (await get(`${account}/custom_audiences/1nmth`)).body.data
    expect(await audience()).toMatchObject({ audience_size: null, targetable: false, reasons_not_targetable: ['PROCESSING'] })

    const media = await sandbox.call('POST', `${account}/media_library`, { query: { media_key: '7_42' } })
    expect(media.body.data.media_status).not.toBe('TRANSCODE_COMPLETED')
    await sandbox.call('POST', `${account}/media_library`, { query: { media_key: '7_43' } })
    const deletedMedia = await sandbox.call('DELETE', `${account}/media_library/7_43`)
    expect(deletedMedia.body.data).toMatchObject({ deleted: true, media_status: media.body.data.media_status })

    const put = await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('SKU')] } })
    const keys = [put.body.data.products_response[0].product_key]
    const sets = '/12/product_catalogs/4001/product_sets'
    const set = await sandbox.call('POST', sets, { json: { name: 'Set', type: 'MANUAL', product_keys: keys } })
    const statusOfSet = async (): Promise<string> => (await get(`${sets}/${set.body.data.id}`)).body.data.processing_status
    expect([set.body.data.processing_status, await statusOfSet()]).toEqual(['PROCESSING', 'PROCESSING'])

    await sandbox.control.advance(61)
    expect((await get(`${account}/media_library/7_42`)).body.data.media_status).toBe('TRANSCODE_COMPLETED')
    await sandbox.control.advance(300)
    expect(await statusOfSet()).toBe('DONE')
    await sandbox.control.advance(6 * 3600)
    expect(await audience()).toMatchObject({ audience_size: 120, targetable: true, reasons_not_targetable: [] })
  })
})

describe('features of an account', () => {
  test('are given and taken by the control API, and gate what needs them', async () => {
    const poll = (): Promise<CallResult> =>
      sandbox.call('POST', `${account}/cards/poll`, {
        query: { duration_in_minutes: '60', first_choice: 'a', second_choice: 'b', name: 'p', media_key: '3_1146654567674912769' },
      })
    const share = (): Promise<CallResult> =>
      sandbox.call('POST', `${account}/custom_audiences/1nmth/permissions`, {
        query: { granted_account_id: '18ce54elsewhere', permission_level: 'READ_ONLY' },
      })
    expect((await get(`${account}/features`)).body.data).toContain('SHARE_AUDIENCE_OUTSIDE_BUSINESS')
    expect((await share()).status).toBe(200)
    await sandbox.control.request('PUT', 'features', { account_id: '18ce54d4x5t', remove: ['SHARE_AUDIENCE_OUTSIDE_BUSINESS'] })
    expect([refusal(await poll()), refusal(await share())]).toEqual([
      [400, 'FEATURE_NOT_AVAILABLE', 'media_key'],
      [400, 'FEATURE_NOT_AVAILABLE', 'granted_account_id'],
    ])
    const features = { account_id: '18ce54d4x5t', add: ['PROMOTED_MEDIA_POLLS', 'SHARE_AUDIENCE_OUTSIDE_BUSINESS'] }
    expect((await sandbox.control.request('PUT', 'features', features)).status).toBe(200)
    expect([(await poll()).status, (await share()).status]).toEqual([200, 200])
    expect((await get(`${account}/features`)).body.data).toContain('PROMOTED_MEDIA_POLLS')
    await sandbox.control.request('PUT', 'features', { account_id: '18ce54d4x5t', remove: ['PROMOTED_MEDIA_POLLS'] })
    expect((await poll()).status).toBe(400)
  })
})
