/** Campaign management as an outside caller sees it (spec 2.5, 3.3, 4.5; docs/spec-notes.md#endpoints). Line items have a file of their own. */
import { describe, expect, test } from 'vitest'
import { accountFeatures } from '../../src/service/contract/campaignResources.ts'
import { ACCOUNT, accountCalls, expectRefusal } from '../support/account.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)

const ids = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map((one) => one.id)

test.for([
  ['account_apps', {}],
  ['line_item_curated_categories', {}],
  ['campaigns', {}],
  ['line_items', {}],
  ['funding_instruments', {}],
  ['promoted_tweets', {}],
  ['targeting_criteria', { line_item_ids: '9cqi0' }],
] as const)('%s pages with count 1 to 1000, counts on request, and refuses what it does not know', async ([path, query]) => {
  const all = await account.get(path, { ...query, with_total_count: true })
  expect(all.body.data.length).toBeGreaterThan(0)
  expect(all.body.total_count).toBe(all.body.data.length)
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page = await account.get(path, { ...query, count: 1, ...(cursor === null ? {} : { cursor }) })
    expect(page.body.request.params).toMatchObject({ account_id: ACCOUNT, count: 1 })
    seen.push(...ids(page))
    cursor = page.body.next_cursor as string | null
  } while (cursor !== null)
  expect(seen).toEqual(ids(all))
  expectRefusal(await account.get(path, { ...query, count: 0 }), [400, 'INVALID_PARAMETER', 'count'])
  expectRefusal(await account.get(path, { ...query, count: 1001 }), [400, 'INVALID_PARAMETER', 'count'])
  expectRefusal(await account.get(path, { ...query, count: 'many' }), [400, 'INVALID_PARAMETER', 'count'])
  expectRefusal(await account.get(path, { ...query, with_deleted: 'perhaps' }), [400, 'INVALID_PARAMETER', 'with_deleted'])
  expectRefusal(await account.get(path, { ...query, with_total_count: true, cursor: 'x' }), [400, 'EXCLUSIVE_PARAMETERS'])
  expectRefusal(await account.get(path, { ...query, colour: 'red' }), [400, 'INVALID_PARAMETER', 'colour'])
})

describe('accounts', () => {
  test('are listed by id and by prefix of the name, without what only the sandbox knows', async () => {
    const one = await sandbox.call('GET', '/12/accounts', { query: { account_ids: ACCOUNT } })
    expect(one.body.data).toEqual([
      expect.objectContaining({
        id: ACCOUNT,
        approval_status: 'ACCEPTED',
        industry_type: 'RETAIL',
        business_id: null,
        timezone: expect.any(String),
        timezone_switch_at: expect.any(String),
        deleted: false,
      }),
    ])
    expect(one.body.data[0]).not.toHaveProperty('userIds')
    expect((await sandbox.call('GET', '/12/accounts', { query: { q: 'SANDBOX media' } })).body.data.length).toBe(1)
    expect((await sandbox.call('GET', '/12/accounts', { query: { q: 'media' } })).body.data).toEqual([])
    expect((await sandbox.call('GET', '/12/accounts/abc1')).status).toBe(403)
  })

  test('change name and industry', async () => {
    const changed = await sandbox.call('PUT', `/12/accounts/${ACCOUNT}`, { query: { name: 'Mugs & more', industry_type: 'TRAVEL' } })
    expect(changed.body.data).toMatchObject({ name: 'Mugs & more', industry_type: 'TRAVEL' })
    expect((await sandbox.call('GET', `/12/accounts/${ACCOUNT}`)).body.data.name).toBe('Mugs & more')
    expectRefusal(await sandbox.call('PUT', `/12/accounts/${ACCOUNT}`, { query: { industry_type: 'POTTERY' } }), [
      400,
      'INVALID_PARAMETER',
      'industry_type',
    ])
  })

  test('are created in an array of one and deleted, on the sandbox host', async () => {
    const made = await sandbox.call('POST', '/12/accounts')
    expect(made.body).toMatchObject({ data: [{ deleted: false }], next_cursor: null })
    const id = made.body.data[0].id as string
    expect((await sandbox.call('DELETE', `/12/accounts/${id}`)).body.data).toMatchObject({ id, deleted: true })
    const gone = await sandbox.call('GET', `/12/accounts/${id}`)
    expect([gone.status, gone.body.errors[0].code]).toEqual([404, 'ACCOUNT_NOT_FOUND'])
    expect((await sandbox.call('GET', `/12/accounts/${id}/cards`)).status).toBe(403)
    expect((await sandbox.call('GET', `/12/stats/jobs/accounts/${id}`)).status).toBe(403)
    expect((await sandbox.call('GET', `/12/accounts/${id}`, { query: { with_deleted: true } })).body.data.deleted).toBe(true)
    expect((await sandbox.call('DELETE', `/12/accounts/${id}`)).status).toBe(404)
  })
})

describe('what belongs to an account', () => {
  test('apps have the fields of the specification', async () => {
    expect((await account.get('account_apps')).body.data[0]).toEqual({
      id: 'app1a',
      app_store_identifier: 'com.example.mugs',
      conversion_tracking_enabled: true,
      deep_link_pattern: null,
      os_type: 'Android',
      created_at: expect.any(String) as string,
      updated_at: expect.any(String) as string,
      deleted: false,
    })
  })

  test('the history holds creations and changes within whole hours', async () => {
    await account.put('line_items/9cqi0', { name: 'Renamed' })
    const query = { entity_type: 'LINE_ITEM', entity_id: '9cqi0', start_time: '2020-01-01T00:00:00Z', end_time: '2099-01-01T00:00:00Z' }
    const entries = (await account.get('account_history', query)).body.data
    expect(entries.map((entry: { change_type: string }) => entry.change_type)).toEqual(['CREATE', 'UPDATE'])
    expect(entries[1]).toMatchObject({
      change_by: { user_id: '1001', platform: expect.any(String) as string },
      changes: { name: { before: 'Mugs, website clicks', after: 'Renamed' } },
      entity: 'LINE_ITEM',
      entity_id: '9cqi0',
      entity_data: { id: '9cqi0', name: 'Renamed' },
    })
    expect((await account.get('account_history', { ...query, user_id: '7' })).body.data).toEqual([])
    expect((await account.get('account_history', { ...query, end_time: '2020-01-02' })).body.data).toEqual([])
    for (const name of Object.keys(query)) {
      const { [name as keyof typeof query]: _, ...rest } = query
      expectRefusal(await account.get('account_history', rest), [400, 'MISSING_PARAMETER', name])
    }
    expectRefusal(await account.get('account_history', { ...query, start_time: '2026-01-01T00:30:00Z' }), [
      400,
      'INVALID_PARAMETER',
      'start_time',
    ])
    expectRefusal(await account.get('account_history', { ...query, end_time: '2026-01-01T00:00:01Z' }), [
      400,
      'INVALID_PARAMETER',
      'end_time',
    ])
    expectRefusal(await account.get('account_history', { ...query, entity_type: 'CARD' }), [400, 'INVALID_PARAMETER', 'entity_type'])
    expectRefusal(await account.get('account_history', { ...query, end_time: query.start_time }), [400, 'INVALID_TIME_WINDOW', 'end_time'])
  })

  test('the history of an update that sends a stored list again shows only what changed', async () => {
    const before = (await account.get('line_items/9cqi3')).body.data
    expect(before.categories).not.toEqual([])
    await account.put('line_items/9cqi3', { name: 'Renamed too', categories: before.categories.join(',') })
    const query = { entity_type: 'LINE_ITEM', entity_id: '9cqi3', start_time: '2020-01-01T00:00:00Z', end_time: '2099-01-01T00:00:00Z' }
    const entries = (await account.get('account_history', query)).body.data
    expect(entries.at(-1)).toMatchObject({ change_type: 'UPDATE' })
    expect(entries.at(-1).changes).toEqual({ name: { before: before.name, after: 'Renamed too' } })
  })

  test('features are granted and taken away on the sandbox host, and filtered in reads', async () => {
    expect((await account.get('features', { feature_keys: 'REACH_FREQUENCY_CAP,WEBSITE_CLICKS_CPM_BILLING' })).body.data).toEqual([
      'REACH_FREQUENCY_CAP',
    ])
    expectRefusal(await account.get('features', { feature_keys: 'DR_TAP' }), [400, 'INVALID_PARAMETER', 'feature_keys'])
    expect((await account.post('features', { feature_keys: accountFeatures.join(',') })).body.data).toEqual(
      expect.arrayContaining([...accountFeatures]),
    )
    expect((await account.del('features', { feature_keys: 'DR_TAP' })).body.data).not.toContain('DR_TAP')
    expectRefusal(await account.post('features', { feature_keys: 'PROMOTED_MEDIA_POLLS' }), [400, 'INVALID_PARAMETER', 'feature_keys'])
    expectRefusal(await account.post('features'), [400, 'MISSING_PARAMETER', 'feature_keys'])
  })
})

describe('categories', () => {
  test('business categories carry their codes', async () => {
    expect((await sandbox.call('GET', '/12/advertiser_business_categories')).body.data[0]).toEqual({
      id: expect.any(String) as string,
      name: expect.any(String) as string,
      iab_categories: expect.arrayContaining(['IAB1']) as string[],
    })
  })

  test('curated categories are listed by country', async () => {
    expect(ids(await account.get('curated_categories', { country_codes: 'GB' }))).toEqual(['b0xt'])
    expect((await account.get('curated_categories/b0xt')).body.data).toMatchObject({
      country_codes: ['US', 'GB'],
      publisher_user_ids: ['2001', '2002'],
      videos_monetized_in_last_thirty_days: 1250,
    })
    expectRefusal(await account.get('curated_categories'), [400, 'MISSING_PARAMETER', 'country_codes'])
    const noCountry = await account.get('curated_categories', { country_codes: 'us,usa' })
    expectRefusal(noCountry, [400, 'INVALID_PARAMETER', 'country_codes'])
    expect(noCountry.body.errors[0].value).toBe('usa')
    const unknown = await account.get('curated_categories/none')
    expectRefusal(unknown, [404, 'NOT_FOUND', 'curated_category_id'])
    expect(unknown.body.errors[0].message).toBe('curated category none was not found')
  })

  test('line item curated categories are created, changed and deleted', async () => {
    const made = (await account.post('line_item_curated_categories', { line_item_id: '9cqi3', curated_category_id: 'b0xu' })).body.data
    expect(made).toMatchObject({ line_item_id: '9cqi3', curated_category_id: 'b0xu', deleted: false })
    const path = `line_item_curated_categories/${made.id}`
    expect((await account.put(path, { curated_category_id: 'b0xv' })).body.data).toMatchObject({
      id: made.id,
      line_item_id: '9cqi3',
      curated_category_id: 'b0xv',
    })
    expectRefusal(await account.get('line_item_curated_categories', { sort_by: 'name-asc' }), [400, 'INVALID_PARAMETER', 'sort_by'])
    expect((await account.del(path)).body.data.deleted).toBe(true)
    expectRefusal(await account.get(path), [404, 'NOT_FOUND'])
    expect((await account.get(path, { with_deleted: true })).body.data.deleted).toBe(true)
    expectRefusal(await account.post('line_item_curated_categories', { line_item_id: 'none', curated_category_id: 'b0xu' }), [
      404,
      'LINE_ITEM_NOT_FOUND',
      'line_item_id',
    ])
    expectRefusal(await account.post('line_item_curated_categories', { line_item_id: '9cqi3', curated_category_id: 'none' }), [
      404,
      'NOT_FOUND',
      'curated_category_id',
    ])
    expectRefusal(await account.post('line_item_curated_categories', { line_item_id: '9cqi3' }), [
      400,
      'MISSING_PARAMETER',
      'curated_category_id',
    ])
    expectRefusal(await account.post('line_item_curated_categories', { curated_category_id: 'b0xu' }), [
      400,
      'MISSING_PARAMETER',
      'line_item_id',
    ])
  })

  test('placements are listed by product type', async () => {
    const all = await sandbox.call('GET', '/12/line_items/placements')
    expect(all.body.data.map((one: { product_type: string }) => one.product_type)).toEqual(['PROMOTED_TWEETS', 'PROMOTED_ACCOUNT', 'MEDIA'])
    const media = await sandbox.call('GET', '/12/line_items/placements', { query: { product_type: 'MEDIA' } })
    expect(media.body.data).toEqual([{ product_type: 'MEDIA', placements: [['ALL_ON_SERVICE'], ['PUBLISHER_NETWORK']] }])
  })
})

describe('campaigns', () => {
  test('are created, changed, paused and deleted; amounts beyond 2^53 keep every digit', async () => {
    const made = await account.post('campaigns', {
      funding_instrument_id: 'lygyi',
      name: 'Summer',
      total_budget_amount_local_micro: '9007199254740995',
      daily_budget_amount_local_micro: '9007199254740993',
    })
    expect(made.text).toContain('"total_budget_amount_local_micro":9007199254740995')
    expect(made.text).toContain('"daily_budget_amount_local_micro":9007199254740993')
    expect(made.body.data).toMatchObject({
      budget_optimization: 'CAMPAIGN',
      entity_status: 'ACTIVE',
      effective_status: 'RUNNING',
      servable: true,
      reasons_not_servable: [],
      currency: 'USD',
    })
    const path = `campaigns/${made.body.data.id}`
    expect((await account.put(path, { entity_status: 'PAUSED' })).body.data).toMatchObject({
      servable: false,
      reasons_not_servable: ['PAUSED_BY_ADVERTISER'],
      effective_status: 'PAUSED',
    })
    expect((await account.put(path, { daily_budget_amount_local_micro: '' })).body.data.daily_budget_amount_local_micro).toBeNull()
    expect((await account.del(path)).body.data).toMatchObject({
      deleted: true,
      reasons_not_servable: ['DELETED', 'PAUSED_BY_ADVERTISER'],
      effective_status: 'DELETED',
    })
    expectRefusal(await account.del(path), [404, 'CAMPAIGN_NOT_FOUND', 'campaign_id'])
  })

  test.for([
    [{ name: 'a' }, [400, 'MISSING_PARAMETER', 'funding_instrument_id']],
    [{ funding_instrument_id: 'lygyi' }, [400, 'MISSING_PARAMETER', 'name']],
    [{ funding_instrument_id: 'none', name: 'a' }, [404, 'FUNDING_INSTRUMENT_NOT_FOUND', 'funding_instrument_id']],
    [
      { funding_instrument_id: 'lygyi', name: 'a', daily_budget_amount_local_micro: 2, total_budget_amount_local_micro: 1 },
      [400, 'INVALID_PARAMETER', 'daily_budget_amount_local_micro'],
    ],
    [{ funding_instrument_id: 'lygyi', name: 'a', budget_optimization: 'NONE' }, [400, 'INVALID_PARAMETER', 'budget_optimization']],
    [
      { funding_instrument_id: 'lygyi', name: 'a', total_budget_amount_local_micro: 0 },
      [400, 'INVALID_PARAMETER', 'total_budget_amount_local_micro'],
    ],
  ] as const)('%j is refused', async ([query, expected]) => {
    expectRefusal(await account.post('campaigns', query), expected)
  })

  test('a refused amount is repeated as it was sent, without added quotes', async () => {
    const refused = await account.post('campaigns', {
      funding_instrument_id: 'lygyi',
      name: 'a',
      daily_budget_amount_local_micro: 2,
      total_budget_amount_local_micro: 1,
    })
    expect(refused.body.errors[0]).toMatchObject({
      value: '2',
      message: 'Expected at most total_budget_amount_local_micro, got "2" for daily_budget_amount_local_micro',
    })
    const tooSmall = await account.post('campaigns', { funding_instrument_id: 'lygyi', name: 'a', total_budget_amount_local_micro: 0 })
    expect(tooSmall.body.errors[0].message).toBe('Expected long from 1, got "0" for total_budget_amount_local_micro')
  })

  test('are filtered by id, funding and prefix of the name', async () => {
    expect(ids(await account.get('campaigns', { campaign_ids: '8wku3' }))).toEqual(['8wku3'])
    expect(ids(await account.get('campaigns', { q: 'SPRING' }))).toEqual(['8wku2'])
    expect(ids(await account.get('campaigns', { funding_instrument_ids: 'none' }))).toEqual([])
  })

  test('at most 200 are active', async () => {
    await sandbox.control.switches({ rate_limits: 'off' })
    const operations = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        operation_type: 'Create',
        params: { funding_instrument_id: 'lygyi', name: `c${index}` },
      }))
    for (const count of [40, 40, 40, 40, 38]) expect((await account.batch('campaigns', operations(count))).status).toBe(200)
    expectRefusal(await account.post('campaigns', { funding_instrument_id: 'lygyi', name: 'one more' }), [400, 'TOO_MANY_CAMPAIGNS'])
    expect((await account.post('campaigns', { funding_instrument_id: 'lygyi', name: 'paused', entity_status: 'PAUSED' })).status).toBe(200)
  })
})

describe('funding instruments', () => {
  test('are created and deleted on the sandbox host', async () => {
    const made = (
      await account.post('funding_instruments', { currency: 'EUR', start_time: '2026-01-01T00:00:00+01:00', type: 'CREDIT_CARD' })
    ).body.data
    expect(made).toMatchObject({
      currency: 'EUR',
      type: 'CREDIT_CARD',
      able_to_fund: true,
      reasons_not_able_to_fund: [],
      start_time: '2025-12-31T23:00:00Z',
    })
    expect((await account.del(`funding_instruments/${made.id}`)).body.data.deleted).toBe(true)
    expectRefusal(await account.get(`funding_instruments/${made.id}`), [404, 'FUNDING_INSTRUMENT_NOT_FOUND'])
    expectRefusal(await account.post('funding_instruments', { currency: 'EURO', start_time: '2026-01-01', type: 'CREDIT_CARD' }), [
      400,
      'INVALID_PARAMETER',
      'currency',
    ])
    expectRefusal(await account.post('funding_instruments', { currency: 'ZZZ', start_time: '2026-01-01', type: 'CREDIT_CARD' }), [
      400,
      'INVALID_DENOMINATION',
      'currency',
    ])
    expectRefusal(await account.post('funding_instruments', { currency: 'EUR', start_time: 'soon', type: 'CREDIT_CARD' }), [
      400,
      'INVALID_PARAMETER',
      'start_time',
    ])
  })
})

describe('promoted tweets', () => {
  test('are created as an array with a total, and deleted', async () => {
    const made = await account.post('promoted_tweets', { line_item_id: '9cqi1', tweet_ids: '1166476031668015106,1166476031668015104' })
    expect(made.body.total_count).toBe(2)
    expect(made.body.data).toMatchObject([
      { line_item_id: '9cqi1', tweet_id: '1166476031668015106', entity_status: 'ACTIVE', approval_status: 'ACCEPTED' },
      { tweet_id: '1166476031668015104' },
    ])
    const path = `promoted_tweets/${made.body.data[0].id}`
    expect((await account.put(path, { line_item_id: '9cqi0' })).status).toBe(405)
    expect((await account.del(path)).body.data.deleted).toBe(true)
    expectRefusal(await account.del(path), [404, 'PROMOTED_TWEET_NOT_FOUND'])
    expectRefusal(await account.post('promoted_tweets', { line_item_id: '9cqi1', tweet_ids: '7' }), [404, 'TWEET_NOT_FOUND', 'tweet_ids'])
    expectRefusal(
      await account.post('promoted_tweets', {
        line_item_id: '9cqi1',
        tweet_ids: Array.from({ length: 51 }, (_, index) => index).join(','),
      }),
      [400, 'INVALID_PARAMETER', 'tweet_ids'],
    )
    expectRefusal(await account.post('promoted_tweets', { tweet_ids: '1166476031668015106' }), [400, 'MISSING_PARAMETER', 'line_item_id'])
  })
})

describe('targeting criteria', () => {
  test('are created with an operator and deleted', async () => {
    const made = (
      await account.post('targeting_criteria', { line_item_id: '9cqi1', targeting_type: 'AGE', targeting_value: 'AGE_OVER_25' })
    ).body.data
    expect(made).toMatchObject({
      line_item_id: '9cqi1',
      targeting_type: 'AGE',
      targeting_value: 'AGE_OVER_25',
      operator_type: 'EQ',
      deleted: false,
    })
    expect(ids(await account.get('targeting_criteria', { line_item_ids: '9cqi1' }))).toEqual([made.id])
    expect((await account.del(`targeting_criteria/${made.id}`)).body.data.deleted).toBe(true)
    expectRefusal(await account.get(`targeting_criteria/${made.id}`), [404, 'TARGETING_CRITERION_NOT_FOUND'])
    expectRefusal(await account.get('targeting_criteria'), [400, 'MISSING_PARAMETER', 'line_item_ids'])
    expectRefusal(
      await account.post('targeting_criteria', { line_item_id: '9cqi1', targeting_type: 'AGE', targeting_value: 'x', operator_type: 'IS' }),
      [400, 'INVALID_PARAMETER', 'operator_type'],
    )
    expectRefusal(await account.post('targeting_criteria', { line_item_id: '9cqi1', targeting_type: 'no type', targeting_value: 'x' }), [
      400,
      'INVALID_TARGETING_TYPE',
      'targeting_type',
    ])
    expectRefusal(await account.post('targeting_criteria', { line_item_id: 'none', targeting_type: 'AGE', targeting_value: 'x' }), [
      404,
      'LINE_ITEM_NOT_FOUND',
      'line_item_id',
    ])
  })
})

describe('batches', () => {
  const good = { operation_type: 'Create', params: { funding_instrument_id: 'lygyi', name: 'Batch' } }

  test('answer in the order of the request', async () => {
    const answer = await account.batch('campaigns', [
      good,
      { operation_type: 'Update', params: { campaign_id: '8wku2', name: 'Changed' } },
      { operation_type: 'Delete', params: { campaign_id: '8wku3' } },
    ])
    expect(answer.body.data).toMatchObject([{ name: 'Batch' }, { id: '8wku2', name: 'Changed' }, { id: '8wku3', deleted: true }])
    expect(answer.body.request).toMatchObject([
      { operation_type: 'Create', params: { name: 'Batch', account_id: ACCOUNT } },
      { operation_type: 'Update' },
      { operation_type: 'Delete' },
    ])
  })

  test('apply all or nothing, and name each bad operation by its place', async () => {
    const before = (await account.get('campaigns')).text
    const answer = await account.batch('campaigns', [
      good,
      { operation_type: 'Create', params: { name: 'No funding' } },
      { operation_type: 'Delete', params: { campaign_id: 'none' } },
    ])
    expect([answer.status, answer.body.errors]).toEqual([400, undefined])
    expect(answer.body.operation_errors).toMatchObject([
      [],
      [{ code: 'MISSING_PARAMETER', parameter: 'funding_instrument_id' }],
      [{ code: 'CAMPAIGN_NOT_FOUND' }],
    ])
    expect((await account.get('campaigns')).text).toBe(before)
    await sandbox.control.switches({ operation_errors: 'flat' })
    expect((await account.batch('campaigns', [good, { operation_type: 'Rename', params: {} }])).body.operation_errors).toMatchObject([
      null,
      { code: 'INVALID_PARAMETER', parameter: 'operation_type' },
    ])
  })

  test('refuse objects and nested lists as values, and store none of them', async () => {
    const before = (await account.get('campaigns')).text
    for (const wrong of [{ name: 'x' }, { toString: 1, valueOf: 1 }, [{ a: 1 }], [['x']]]) {
      const answer = await account.batch('campaigns', [
        { operation_type: 'Create', params: { funding_instrument_id: 'lygyi', name: wrong } },
        { operation_type: 'Update', params: { campaign_id: '8wku2', name: wrong } },
        { operation_type: 'Update', params: { campaign_id: wrong, name: 'x' } },
      ])
      expect([answer.status, answer.body.operation_errors]).toMatchObject([
        400,
        [
          [{ code: 'INVALID_PARAMETER', parameter: 'name' }],
          [{ code: 'INVALID_PARAMETER', parameter: 'name' }],
          [{ code: 'INVALID_PARAMETER', parameter: 'campaign_id' }],
        ],
      ])
    }
    const items = await account.batch('line_items', [
      { operation_type: 'Update', params: { line_item_id: '9cqi0', categories: [['IAB10']] } },
      { operation_type: 'Update', params: { line_item_id: '9cqi0', categories: [null] } },
    ])
    expect(items.body.operation_errors).toMatchObject([[{ parameter: 'categories' }], [{ parameter: 'categories' }]])
    expect((await account.get('campaigns')).text).toBe(before)
  })

  test.for([
    ['campaigns', 40],
    ['line_items', 40],
    ['targeting_criteria', 500],
  ] as const)('%s take %i operations and no more', async ([path, limit]) => {
    const operations = Array.from({ length: limit + 1 }, () => ({ operation_type: 'Create', params: {} }))
    expectRefusal(await account.batch(path, operations), [400, 'REQUEST_TOO_COMPLEX'])
    expect((await account.batch(path, operations.slice(1))).body.operation_errors.length).toBe(limit)
  })

  test('line items and targeting criteria follow the rules of their single calls', async () => {
    const items = await account.batch('line_items', [
      {
        operation_type: 'Update',
        params: { line_item_id: '9cqi0', bid_strategy: 'MAX', bid_amount_local_micro: 1_500_000, categories: ['IAB10'] },
      },
      { operation_type: 'Delete', params: { line_item_id: '9cqi1' } },
    ])
    expect(items.body.data).toMatchObject([
      { bid_amount_local_micro: 1_500_000, categories: ['IAB10'] },
      { id: '9cqi1', deleted: true },
    ])
    const refused = await account.batch('line_items', [
      { operation_type: 'Update', params: { line_item_id: '9cqi0', bid_strategy: 'MAX' } },
    ])
    expect(refused.body.operation_errors).toMatchObject([[{ code: 'MISSING_PARAMETER', parameter: 'bid_amount_local_micro' }]])
    const criteria = await account.batch('targeting_criteria', [
      {
        operation_type: 'Create',
        params: { line_item_id: '9cqi0', targeting_type: 'AGE', targeting_value: 'AGE_OVER_25', operator_type: 'NE' },
      },
      { operation_type: 'Delete', params: { targeting_criterion_id: '2kzxf' } },
    ])
    expect(criteria.body.data).toMatchObject([{ operator_type: 'NE' }, { id: '2kzxf', deleted: true }])
  })
})
