/** Line items: every rule of spec 4.6, deletion by spec 3.3, and what docs/spec-notes.md#endpoints adds. */
import { describe, expect, test } from 'vitest'
import { accountCalls, expectRefusal } from '../support/account.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)

const WEBSITE = '9cqi0'
const ENGAGEMENTS = '9cqi1'
const PREROLL = '9cqi3'
const INSTALLS = '9cqi4'
const APP_ENGAGEMENTS = '9cqi5'
const REACH = '9cqi6'
const FOLLOWERS = '9cqi7'
const VIDEO_VIEWS = '9cqi8'
const PUBLISHER = '9cqi9'
const UNDER_CAMPAIGN_BUDGET = '9cqia'

const item = {
  campaign_id: '8wku2',
  objective: 'WEBSITE_CLICKS',
  placements: 'ALL_ON_SERVICE',
  product_type: 'PROMOTED_TWEETS',
  start_time: '2027-01-01T00:00:00Z',
  end_time: '2027-02-01T00:00:00Z',
}

describe('an update is taken', () => {
  test.for([
    [WEBSITE, { name: 'Café & mugs (100%)' }, { name: 'Café & mugs (100%)' }],
    [WEBSITE, { entity_status: 'PAUSED' }, { entity_status: 'PAUSED' }],
    [WEBSITE, { bid_strategy: 'MAX', bid_amount_local_micro: 1 }, { bid_strategy: 'MAX', bid_amount_local_micro: 1 }],
    [WEBSITE, { bid_strategy: 'TARGET', bid_amount_local_micro: 5 }, { bid_strategy: 'TARGET', pay_by: 'LINK_CLICK' }],
    [REACH, { bid_strategy: 'TARGET', bid_amount_local_micro: 5 }, { bid_strategy: 'TARGET' }],
    [WEBSITE, { bid_strategy: 'AUTO', bid_amount_local_micro: 5 }, { bid_strategy: 'AUTO', bid_amount_local_micro: null }],
    [WEBSITE, { advertiser_domain: 'mugs.shop.example' }, { advertiser_domain: 'mugs.shop.example' }],
    [WEBSITE, { audience_expansion: 'BROAD' }, { audience_expansion: 'BROAD' }],
    [WEBSITE, { goal: 'WEBSITE_CONVERSIONS' }, { goal: 'WEBSITE_CONVERSIONS' }],
    [PREROLL, { advertiser_user_id: '2001' }, { advertiser_user_id: '2001' }],
    [PREROLL, { categories: 'IAB1,IAB2' }, { categories: ['IAB1', 'IAB2'] }],
    [INSTALLS, { pay_by: 'IMPRESSION' }, { pay_by: 'IMPRESSION' }],
    [
      INSTALLS,
      { android_app_store_identifier: '', ios_app_store_identifier: '333903271' },
      { android_app_store_identifier: null, ios_app_store_identifier: '333903271' },
    ],
    [REACH, { frequency_cap: 3, duration_in_days: 30 }, { frequency_cap: 3, duration_in_days: 30 }],
    [ENGAGEMENTS, { frequency_cap: 3 }, { frequency_cap: 3 }],
    [VIDEO_VIEWS, { frequency_cap: 3 }, { frequency_cap: 3 }],
    [PREROLL, { frequency_cap: 3 }, { frequency_cap: 3 }],
    [
      WEBSITE,
      { start_time: '2027-01-01', end_time: '2027-02-01T00:00:00+0100' },
      { start_time: '2027-01-01T00:00:00Z', end_time: '2027-01-31T23:00:00Z' },
    ],
    [WEBSITE, { end_time: '' }, { end_time: null }],
    [
      WEBSITE,
      { total_budget_amount_local_micro: 9_000_000, daily_budget_amount_local_micro: 9_000_000 },
      { daily_budget_amount_local_micro: 9_000_000 },
    ],
  ] as const)('%s with %j', async ([id, query, expected]) => {
    const answer = await account.put(`line_items/${id}`, query)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.data).toMatchObject(expected)
    expect((await account.get(`line_items/${id}`)).body.data).toEqual(answer.body.data)
  })
})

describe('an update is refused', () => {
  test.for([
    [WEBSITE, { bid_strategy: 'MAX' }, 'MISSING_PARAMETER', 'bid_amount_local_micro'],
    [WEBSITE, { bid_strategy: 'TARGET' }, 'MISSING_PARAMETER', 'bid_amount_local_micro'],
    [WEBSITE, { bid_amount_local_micro: 0 }, 'INVALID_PARAMETER', 'bid_amount_local_micro'],
    [WEBSITE, { bid_amount_local_micro: -1 }, 'INVALID_PARAMETER', 'bid_amount_local_micro'],
    [WEBSITE, { bid_amount_local_micro: '1.5' }, 'INVALID_PARAMETER', 'bid_amount_local_micro'],
    [WEBSITE, { bid_strategy: 'CHEAP' }, 'INVALID_PARAMETER', 'bid_strategy'],
    [REACH, { bid_strategy: 'MAX', bid_amount_local_micro: 1 }, 'INVALID_PARAMETER', 'bid_strategy'],
    [FOLLOWERS, { bid_strategy: 'MAX', bid_amount_local_micro: 1 }, 'INVALID_PARAMETER', 'bid_strategy'],
    [ENGAGEMENTS, { bid_strategy: 'TARGET', bid_amount_local_micro: 1 }, 'INVALID_PARAMETER', 'bid_strategy'],
    [WEBSITE, { advertiser_domain: 'https://shop.example' }, 'INVALID_PARAMETER', 'advertiser_domain'],
    [PUBLISHER, { advertiser_domain: '' }, 'MISSING_PARAMETER', 'advertiser_domain'],
    [PUBLISHER, { categories: '' }, 'MISSING_PARAMETER', 'categories'],
    [WEBSITE, { advertiser_user_id: '2001' }, 'INVALID_PARAMETER', 'advertiser_user_id'],
    [INSTALLS, { android_app_store_identifier: '' }, 'MISSING_PARAMETER', 'android_app_store_identifier'],
    [APP_ENGAGEMENTS, { ios_app_store_identifier: '' }, 'MISSING_PARAMETER', 'android_app_store_identifier'],
    [INSTALLS, { ios_app_store_identifier: 'id333903271' }, 'INVALID_PARAMETER', 'ios_app_store_identifier'],
    [WEBSITE, { audience_expansion: 'WIDE' }, 'INVALID_PARAMETER', 'audience_expansion'],
    [WEBSITE, { frequency_cap: 3 }, 'INVALID_PARAMETER', 'frequency_cap'],
    [FOLLOWERS, { frequency_cap: 3 }, 'INVALID_PARAMETER', 'frequency_cap'],
    [REACH, { duration_in_days: 2 }, 'INVALID_PARAMETER', 'duration_in_days'],
    [PREROLL, { categories: '' }, 'MISSING_PARAMETER', 'categories'],
    [PREROLL, { categories: 'IAB1,IAB2,IAB3' }, 'INVALID_PARAMETER', 'categories'],
    [WEBSITE, { entity_status: 'DRAFT' }, 'INVALID_PARAMETER', 'entity_status'],
    [WEBSITE, { goal: 'FAME' }, 'INVALID_PARAMETER', 'goal'],
    [WEBSITE, { pay_by: 'LINK_CLICK' }, 'INVALID_PARAMETER', 'pay_by'],
    [WEBSITE, { pay_by: 'IMPRESSION', bid_strategy: 'TARGET', bid_amount_local_micro: 1 }, 'INVALID_PARAMETER', 'pay_by'],
    [WEBSITE, { pay_by: 'CLICK' }, 'INVALID_PARAMETER', 'pay_by'],
    [WEBSITE, { daily_budget_amount_local_micro: 500_000_001 }, 'INVALID_PARAMETER', 'daily_budget_amount_local_micro'],
    [UNDER_CAMPAIGN_BUDGET, { daily_budget_amount_local_micro: 1 }, 'INVALID_PARAMETER', 'daily_budget_amount_local_micro'],
    [WEBSITE, { start_time: 'soon' }, 'INVALID_PARAMETER', 'start_time'],
    [WEBSITE, { start_time: '2027-02-01', end_time: '2027-01-01' }, 'INVALID_TIME_WINDOW', 'end_time'],
    [WEBSITE, { objective: 'REACH' }, 'INVALID_PARAMETER', 'objective'],
  ] as const)('%s with %j: %s for %s, and nothing changes', async ([id, query, code, parameter]) => {
    const before = (await account.get(`line_items/${id}`)).text
    expectRefusal(await account.put(`line_items/${id}`, query), [400, code, parameter])
    expect((await account.get(`line_items/${id}`)).text).toBe(before)
  })

  test('an unknown category code is not found', async () => {
    expectRefusal(await account.put(`line_items/${PREROLL}`, { categories: 'IAB99' }), [404, 'INVALID_IAB_CATEGORY', 'categories'])
  })

  test('several faults are reported in one answer', async () => {
    const answer = await account.put(`line_items/${WEBSITE}`, { bid_strategy: 'MAX', frequency_cap: 0, colour: 'red' })
    expect(answer.body.errors.map((error: { parameter: string }) => error.parameter).toSorted()).toEqual([
      'bid_amount_local_micro',
      'colour',
      'frequency_cap',
    ])
  })
})

describe('deletion', () => {
  test('is final: the second one answers 404, and promoted tweets are not cascaded', async () => {
    expect((await account.del(`line_items/${ENGAGEMENTS}`)).body.data).toMatchObject({ id: ENGAGEMENTS, deleted: true })
    expectRefusal(await account.del(`line_items/${ENGAGEMENTS}`), [404, 'LINE_ITEM_NOT_FOUND', 'line_item_id'])
    expectRefusal(await account.put(`line_items/${ENGAGEMENTS}`, { name: 'a' }), [404, 'LINE_ITEM_NOT_FOUND'])
    expectRefusal(await account.get(`line_items/${ENGAGEMENTS}`), [404, 'LINE_ITEM_NOT_FOUND'])
    expect((await account.get(`line_items/${ENGAGEMENTS}`, { with_deleted: true })).body.data.deleted).toBe(true)
    expect((await account.get('promoted_tweets', { line_item_ids: ENGAGEMENTS })).body.data).toEqual([])
    expect((await account.get('promoted_tweets/1efwlp')).status).toBe(404)
    expect((await account.get('promoted_tweets', { line_item_ids: ENGAGEMENTS, with_deleted: true })).body.data).toMatchObject([
      { id: '1efwlp', deleted: false },
    ])
  })
})

describe('creation', () => {
  test('takes the six required parameters and fills in what depends on the objective', async () => {
    const made = await account.post('line_items', item)
    expect(made.body.data).toMatchObject({
      ...item,
      placements: ['ALL_ON_SERVICE'],
      goal: 'LINK_CLICKS',
      bid_strategy: 'AUTO',
      bid_amount_local_micro: null,
      pay_by: 'IMPRESSION',
      entity_status: 'ACTIVE',
      currency: 'USD',
      creative_source: 'MANUAL',
      categories: [],
      name: null,
      deleted: false,
    })
    expect(made.body.request.params).toMatchObject({ placements: ['ALL_ON_SERVICE'], start_time: '2027-01-01T00:00:00Z' })
  })

  test.for(Object.keys(item))('without %s it is refused', async (name) => {
    expectRefusal(await account.post('line_items', Object.fromEntries(Object.entries(item).filter(([key]) => key !== name))), [
      400,
      'MISSING_PARAMETER',
      name,
    ])
  })

  test.for([
    [{ campaign_id: 'none' }, [404, 'CAMPAIGN_NOT_FOUND', 'campaign_id']],
    [{ objective: 'FAME' }, [400, 'INVALID_PARAMETER', 'objective']],
    [{ placements: 'somewhere' }, [400, 'INVALID_PLACEMENT_TYPE', 'placements']],
    [{ placements: 'PUBLISHER_NETWORK' }, [400, 'MISSING_PARAMETER', 'advertiser_domain']],
    [{ objective: 'APP_INSTALLS' }, [400, 'MISSING_PARAMETER', 'android_app_store_identifier']],
    [{ objective: 'PREROLL_VIEWS' }, [400, 'MISSING_PARAMETER', 'categories']],
    [{ campaign_id: '8wku3', daily_budget_amount_local_micro: 1 }, [400, 'INVALID_PARAMETER', 'daily_budget_amount_local_micro']],
  ] as const)('with %j it is refused', async ([change, expected]) => {
    expectRefusal(await account.post('line_items', { ...item, ...change }), expected)
  })

  test('a campaign holds 100', async () => {
    const operations = (count: number) =>
      Array.from({ length: count }, () => ({
        operation_type: 'Create',
        params: { ...item, campaign_id: '8wku3', placements: ['ALL_ON_SERVICE'] },
      }))
    for (const count of [40, 40, 19]) expect((await account.batch('line_items', operations(count))).status).toBe(200)
    expectRefusal(await account.post('line_items', { ...item, campaign_id: '8wku3' }), [400, 'TOO_MANY_LINE_ITEMS'])
  })
})

test('an update to ACTIVE counts against the limits of active records', async () => {
  await sandbox.control.switches({ rate_limits: 'off' })
  const create = (path: string, params: object, count: number) =>
    account.batch(
      path,
      Array.from({ length: count }, () => ({ operation_type: 'Create', params })),
    )
  const active = async (path: string): Promise<number> =>
    (await account.get(path, { count: 1000 })).body.data.filter((one: { entity_status: string }) => one.entity_status === 'ACTIVE').length
  const campaign = { funding_instrument_id: 'lygyi', name: 'Many' }
  for (let left = 200 - (await active('campaigns')); left > 0; left -= 40)
    expect((await create('campaigns', campaign, Math.min(left, 40))).status).toBe(200)
  const paused = (await account.post('campaigns', { ...campaign, entity_status: 'PAUSED' })).body.data.id as string
  expectRefusal(await account.put(`campaigns/${paused}`, { entity_status: 'ACTIVE' }), [400, 'TOO_MANY_CAMPAIGNS'])
  expect((await account.get(`campaigns/${paused}`)).body.data.entity_status).toBe('PAUSED')
  const [one] = (await account.get('campaigns', { q: 'Many' })).body.data
  expect((await account.put(`campaigns/${one.id}`, { name: 'Renamed', entity_status: 'ACTIVE' })).status).toBe(200)

  const campaigns = (await account.get('campaigns', { q: 'Many' })).body.data as { id: string }[]
  const itemOf = (n: number) => ({ ...item, campaign_id: campaigns[n]?.id, placements: ['ALL_ON_SERVICE'] })
  for (let left = 256 - (await active('line_items')), n = 0; left > 0; left -= 40, n++)
    expect((await create('line_items', itemOf(n), Math.min(left, 40))).status).toBe(200)
  const waiting = await account.post('line_items', { ...item, entity_status: 'PAUSED' })
  expectRefusal(await account.put(`line_items/${waiting.body.data.id}`, { entity_status: 'ACTIVE' }), [400, 'TOO_MANY_LINE_ITEMS'])
  expect((await account.get(`line_items/${waiting.body.data.id}`)).body.data.entity_status).toBe('PAUSED')
})

test('the list is filtered by campaign, id and prefix of the name, and sorted', async () => {
  const names = async (query: Record<string, string>) =>
    (await account.get('line_items', query)).body.data.map((one: { name: string }) => one.name) as string[]
  expect(await names({ campaign_ids: '8wku3' })).toEqual(['Brand reach'])
  expect(await names({ line_item_ids: `${REACH},${WEBSITE}` })).toEqual(['Mugs, website clicks', 'Reach'])
  expect(await names({ q: 'APP' })).toEqual(['App installs', 'App engagements'])
  expect((await names({ sort_by: 'name-desc' }))[0]).toBe('Video views')
  expect((await names({ funding_instrument_ids: 'lygyi' })).length).toBe(11)
})
