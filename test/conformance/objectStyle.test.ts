/** The object style of the official SDKs: every record is loaded, one property is changed, and all properties are sent back. */
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/service/contract/endpoint.ts'
import { fieldAccess, readerOf } from '../../src/service/contract/fieldAccess.ts'
import { endpoints } from '../../src/service/contract/index.ts'
import { pathOf } from '../support/firstState.ts'
import { joinedLists, RemoteObject, repeatedLists, send } from '../support/objectClient.ts'
import { product } from '../support/product.ts'
import type { Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = '/12/accounts/18ce54d4x5t'
const catalog = '/12/product_catalogs/4001'

/** Every update with a record that can be read at the same path. */
const updates = endpoints.filter((one) => one.method === 'PUT' && one.host !== 'core' && readerOf(one) !== undefined)

/** The property that the test changes, if it is not the name. */
const CHANGE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'lineItemCuratedCategories.update': { curated_category_id: 'b0xu' },
  'scheduledPosts.update': { text: 'Later and better' },
  'draftPosts.update': { text: 'Another draft' },
  'scheduledFeeds.update': { feed_url: 'https://shop.example/other.xml' },
  'userSettings.update': { contact_phone_extension: '7' },
  'taxSettings.update': { tax_category: 'OTHER' },
  'trackingTags.update': { tracking_tag_url: 'https://tags.example.com/2' },
}

/** Ids of records that a sandbox lacks at first. */
async function makeRecords(): Promise<Record<string, string>> {
  const put = await sandbox.call('PUT', `${catalog}/products`, { json: { products: [product('SKU-1')] } })
  const set = await sandbox.call('POST', `${catalog}/product_sets`, {
    json: { name: 'Mugs', type: 'MANUAL', product_keys: [put.body.data.products_response[0].product_key] },
  })
  const feed = await sandbox.call('POST', `${catalog}/scheduled_feeds`, { query: { feed_url: 'https://shop.example/feed.xml' } })
  return { product_set_id: set.body.data.id, scheduled_feed_id: feed.body.data.id }
}

const named = updates.map((endpoint): [string, Endpoint] => [endpoint.name, endpoint])

test('every kind of record that can be updated is loaded and saved', () => {
  expect(updates.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'campaigns.update',
      'lineItems.update',
      'scheduledPosts.update',
      'draftPosts.update',
      'videoConversationCards.update',
      'mediaLibrary.update',
      'cards.update',
      'accounts.update',
      'audiences.update',
    ]),
  )
})

describe.for([joinedLists, repeatedLists])('load, change, save with $name', (style) => {
  test.for(named)('%s', async ([name, update]) => {
    const path = pathOf(update, { ...(await makeRecords()), ...(name.startsWith('videoConv') ? { card_id: '1503831318555087000' } : {}) })
    const object = new RemoteObject(sandbox, path, style)
    const before = { ...(await object.load()) }
    const change = CHANGE[name] ?? { name: 'Changed' }
    Object.assign(object.record, change)
    const saved = await object.save(update)
    expect(saved.status, saved.text).toBe(200)
    const after: Loose = await object.load()
    const moving = { updated_at: after.updated_at, processing_status: after.processing_status }
    expect({ ...after, ...moving }).toEqual({ ...before, ...moving, ...change })
  })
})

describe('every line item', () => {
  test('of each objective is saved as it was loaded', async () => {
    const listed: Loose[] = (await sandbox.call('GET', `${account}/line_items`)).body.data
    expect(listed.length).toBeGreaterThan(10)
    const update = endpoints.find(({ name }) => name === 'lineItems.update') as Endpoint
    for (const { id } of listed) {
      const object = new RemoteObject(sandbox, `${account}/line_items/${id}`, repeatedLists)
      const before = { ...(await object.load()) }
      expect((await object.save(update)).status, JSON.stringify(before)).toBe(200)
      const after = await object.load()
      expect({ ...after, updated_at: '' }).toEqual({ ...before, updated_at: '' })
    }
  })
})

describe('what comes back but may not change', () => {
  test.for(named)('%s refuses a create-only field that differs, by name, and changes nothing', async ([name, update]) => {
    const createOnly = [...fieldAccess(update)].filter(([, access]) => access === 'create-only').map(([field]) => field)
    const path = pathOf(update, { ...(await makeRecords()), ...(name.startsWith('videoConv') ? { card_id: '1503831318555087000' } : {}) })
    for (const field of createOnly) {
      const object = new RemoteObject(sandbox, path, repeatedLists)
      const before = { ...(await object.load()) }
      const values: Readonly<Record<string, unknown>> = {
        objective: 'REACH',
        product_type: 'MEDIA',
        type: 'FILTERED',
        filters: [{ attribute: 'price' }],
      }
      Object.assign(object.record, CHANGE[name] ?? { name: 'Changed' }, { [field]: values[field] ?? 'other' })
      const refused = await object.save(update)
      expect([refused.status, refused.body.errors.map((error: Loose) => error.parameter)]).toEqual([400, [field]])
      const after = await object.load()
      expect({ ...after, processing_status: '' }).toEqual({ ...before, processing_status: '' })
    }
  })

  test('a read-only field is ignored whatever it says, and a name that is no field is refused', async () => {
    const wrong = [
      ['created_at', 'true'],
      ['currency', 'EUR'],
      ['reasons_not_servable', 'A'],
      ['reasons_not_servable', 'B'],
      ['name', 'Changed'],
    ] as const
    const saved = await send(sandbox, 'PUT', `${account}/campaigns/8wku2`, wrong)
    expect([saved.status, saved.body.data.currency, saved.body.data.name]).toEqual([200, 'USD', 'Changed'])
    const refused = await send(sandbox, 'PUT', `${account}/campaigns/8wku2`, [...wrong, ['curency', 'USD']])
    expect([refused.status, refused.body.errors.map((error: Loose) => error.parameter)]).toEqual([400, ['curency']])
  })

  test('a change of pay_by is refused but for APP_INSTALLS, and taken unchanged everywhere', async () => {
    const pay = (id: string, value: string) => send(sandbox, 'PUT', `${account}/line_items/${id}`, [['pay_by', value]])
    expect((await pay('9cqi0', 'IMPRESSION')).status).toBe(200)
    const refused = await pay('9cqi0', 'LINK_CLICK')
    expect([refused.status, refused.body.errors[0].parameter]).toEqual([400, 'pay_by'])
    expect((await pay('9cqi4', 'IMPRESSION')).body.data.pay_by).toBe('IMPRESSION')
  })
})

describe('a copy', () => {
  /** Create calls with a readable record: the path of a record to copy, and the changes to the copy. */
  const copies: readonly [path: string, change: Readonly<Record<string, string>>][] = [
    ['campaigns/8wku2', {}],
    ['line_items/9cqi0', {}],
    ['custom_audiences/1nmth', {}],
    ['scheduled_tweets/917438609065623552', { as_user_id: '1001', text: 'Copied' }],
    ['draft_tweets/994747471329873920', { as_user_id: '1001', text: 'Copied' }],
    ['cards/poll/1503831318555086900', {}],
    ['cards/video_conversation/1503831318555087000', {}],
    ['targeting_criteria/2kzxf', { targeting_value: 'f3bfc7dcc928977f' }],
  ]
  test.for(copies)('of %s is created with all properties of the original', async ([path, change]) => {
    const object = new RemoteObject(sandbox, `${account}/${path}`, joinedLists)
    await object.load()
    Object.assign(object.record, { name: 'A copy', ...change })
    const collection = `${account}/${path.slice(0, path.lastIndexOf('/'))}`
    const made = await send(sandbox, 'POST', collection, object.pairs())
    expect(made.status, made.text).toBe(200)
    expect(made.body.data.id).not.toBe(object.record.id)
    const refused = await send(sandbox, 'POST', collection, [...object.pairs(), ['no_such_field', 'x']])
    expect([refused.status, refused.body.errors.map((error: Loose) => error.parameter)]).toEqual([400, ['no_such_field']])
  })

  test('of a permission is created with all its properties, as an SDK saves it', async () => {
    const [{ id, ...properties }] = (await sandbox.call('GET', `${account}/custom_audiences/1nmth/permissions`)).body.data as Loose[]
    const pairs = Object.entries({ id, ...properties, granted_account_id: '18ce55media' }).map(
      ([name, value]) => [name, String(value)] as const,
    )
    const saved = await send(sandbox, 'POST', `${account}/custom_audiences/1nmth/permissions`, pairs)
    expect(saved.status, saved.text).toBe(200)
    expect(saved.body.data).toMatchObject({ granted_account_id: '18ce55media', permission_level: properties.permission_level })
  })

  test('of an account names what only an update writes', async () => {
    const refused = await send(sandbox, 'POST', '/12/accounts', [['name', 'Second']])
    expect([refused.status, refused.body.errors[0].parameter]).toEqual([400, 'name'])
  })
})

describe('batches in the object style', () => {
  const batch = (path: string, json: unknown) => sandbox.call('POST', `/12/batch/accounts/18ce54d4x5t/${path}`, { json })
  const loaded = async (path: string): Promise<Loose> => (await sandbox.call('GET', `${account}/${path}`)).body.data

  test('update campaigns and line items with all their properties', async () => {
    for (const [path, id, key] of [
      ['campaigns', '8wku2', 'campaign_id'],
      ['line_items', '9cqi0', 'line_item_id'],
    ] as const) {
      const record = await loaded(`${path}/${id}`)
      const joined = Object.fromEntries(
        Object.entries(record).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
      )
      const answer = await batch(path, [{ operation_type: 'Update', params: { ...joined, name: 'By batch', [key]: id } }])
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body.data[0]).toMatchObject({ id, name: 'By batch' })
      const other = await batch(path, [
        {
          operation_type: 'Update',
          params: { ...joined, [Object.keys(record).includes('objective') ? 'objective' : 'funding_instrument_id']: 'REACH' },
        },
      ])
      expect([other.status, other.body.operation_errors[0].length]).toEqual([400, 1])
    }
  })

  test('delete campaigns, line items and targeting criteria with all their properties', async () => {
    for (const [path, id, key] of [
      ['targeting_criteria', '2kzxf', 'targeting_criterion_id'],
      ['line_items', '9cqi1', 'line_item_id'],
      ['campaigns', '8wku3', 'campaign_id'],
    ] as const) {
      const record = await loaded(`${path}/${id}`)
      const answer = await batch(path, [{ operation_type: 'Delete', params: { ...record, to_delete: true, [key]: id } }])
      expect(answer.status, answer.text).toBe(200)
      expect(answer.body.data[0]).toMatchObject({ id, deleted: true })
    }
  })

  test('name what is no field of the record', async () => {
    const answer = await batch('campaigns', [{ operation_type: 'Delete', params: { campaign_id: '8wku3', no_such_field: 1 } }])
    expect([answer.status, answer.body.operation_errors[0][0].parameter]).toEqual([400, 'no_such_field'])
  })
})

describe('filters that SDKs set', () => {
  const ids = async (path: string, pairs: readonly (readonly [string, string])[]): Promise<string[]> => {
    const answer = await send(sandbox, 'GET', `${account}/${path}`, pairs)
    expect(answer.status, answer.text).toBe(200)
    return (answer.body.data as Loose[]).map((one) => String(one.id_str ?? one.id))
  }

  test('choose posts by timeline and replies, criteria by id, audiences by who owns them', async () => {
    const published = [['tweet_type', 'PUBLISHED']] as const
    const own = await sandbox.call('POST', `${account}/tweet`, { query: { as_user_id: '1001', text: 'Organic', nullcast: 'false' } })
    const all = await ids('tweets', published)
    const organic = await ids('tweets', [...published, ['timeline_type', 'ORGANIC']])
    const promotedOnly = await ids('tweets', [...published, ['timeline_type', 'NULLCAST']])
    expect(organic).toContain(own.body.data.id_str)
    expect(promotedOnly).not.toContain(own.body.data.id_str)
    expect([...organic, ...promotedOnly].toSorted()).toEqual(all.toSorted())
    expect(await ids('tweets', [...published, ['include_mentions_and_replies', 'False']])).toContain(own.body.data.id_str)
    expect(
      await ids('targeting_criteria', [
        ['line_item_ids', '9cqi0'],
        ['targeting_criterion_ids', '2kzxf'],
      ]),
    ).toEqual(['2kzxf'])
    expect(await ids('custom_audiences', [['permission_scope', 'OWNER']])).toContain('1nmth')
    expect(await ids('custom_audiences', [['permission_scope', 'SHARED']])).toEqual([])
    await sandbox.call('POST', `${account}/custom_audiences/1nmth/permissions`, {
      query: { granted_account_id: '18ce55media', permission_level: 'READ_ONLY' },
    })
    const theirs = await send(sandbox, 'GET', '/12/accounts/18ce55media/custom_audiences', [['permission_scope', 'SHARED']])
    expect(theirs.body.data.map(({ id }: Loose) => id)).toEqual(['1nmth'])
  })
})

describe('spellings of other clients', () => {
  test('booleans of Python, lists as repeated names, with_deleted where a single record is read', async () => {
    const list = await send(sandbox, 'GET', `${account}/campaigns`, [
      ['campaign_ids', '8wku2'],
      ['campaign_ids', '8wku3'],
      ['with_deleted', 'True'],
    ])
    expect([list.status, list.body.data.map((one: Loose) => one.id), list.body.request.params.campaign_ids]).toEqual([
      200,
      ['8wku2', '8wku3'],
      ['8wku2', '8wku3'],
    ])
    await sandbox.call('DELETE', `${account}/media_library/3_1146654567674912769`)
    const gone = `${account}/media_library/3_1146654567674912769`
    expect((await send(sandbox, 'GET', gone, [])).status).toBe(404)
    expect((await send(sandbox, 'GET', gone, [['with_deleted', 'true']])).body.data.deleted).toBe(true)
    for (const path of [
      'scheduled_tweets/917438609065623552',
      'draft_tweets/994747471329873920',
      'media_library',
      'cards/all/1503831318555086900',
      'features',
      'authenticated_user_access',
      'tax_settings',
    ])
      expect((await send(sandbox, 'GET', `${account}/${path}`, [['with_deleted', 'True']])).status).toBe(200)
  })

  test('a create-only list as repeated names is compared as one list', async () => {
    const item = { campaign_id: '8wku2', name: 'Two', objective: 'WEBSITE_CLICKS', product_type: 'PROMOTED_TWEETS', bid_strategy: 'AUTO' }
    const times = { start_time: '2027-01-01T00:00:00Z', end_time: '2027-02-01T00:00:00Z' }
    const made = await sandbox.call('POST', `${account}/line_items`, {
      query: { ...item, ...times, placements: 'SERVICE_SEARCH,SERVICE_TIMELINE' },
    })
    expect(made.status, made.text).toBe(200)
    const update = async (id: string, ...placements: string[]): Promise<unknown> => {
      const pairs = placements.map((one) => ['placements', one] as const)
      const { status, body } = await send(sandbox, 'PUT', `${account}/line_items/${id}`, pairs)
      return status === 200 ? status : [status, body.errors.map((error: Loose) => error.parameter)]
    }
    expect(await update(made.body.data.id, 'SERVICE_SEARCH', 'SERVICE_TIMELINE')).toBe(200)
    expect(await update(made.body.data.id, 'SERVICE_TIMELINE', 'SERVICE_SEARCH')).toBe(200)
    expect(await update(made.body.data.id, 'SERVICE_TIMELINE')).toEqual([400, ['placements']])
    expect(await update('9cqi0', 'ALL_ON_SERVICE', 'ALL_ON_SERVICE')).toBe(200)
    expect(await update('9cqi0', 'SERVICE_SEARCH', 'ALL_ON_SERVICE')).toEqual([400, ['placements']])
  })

  test('a card alone, as it is read by default, or in an array of one by choice', async () => {
    const card = () => sandbox.call('GET', `${account}/cards/1503831318555086849`)
    expect((await card()).body.data.id).toBe('1503831318555086849')
    await sandbox.control.switches({ card_response: 'array' })
    expect((await card()).body.data).toMatchObject([{ id: '1503831318555086849' }])
  })

  test('with unknown_parameters strict, only what is documented is taken', async () => {
    await sandbox.control.switches({ unknown_parameters: 'strict' })
    const refusals: [string, string, (readonly [string, string])[], string][] = [
      [
        'PUT',
        `${account}/campaigns/8wku2`,
        [
          ['name', 'x'],
          ['currency', 'USD'],
        ],
        'currency',
      ],
      ['GET', `${account}/campaigns`, [['with_deleted', 'True']], 'with_deleted'],
      [
        'GET',
        `${account}/campaigns`,
        [
          ['campaign_ids', '8wku2'],
          ['campaign_ids', '8wku3'],
        ],
        'campaign_ids',
      ],
      ['GET', `${account}/media_library/3_1146654567674912769`, [['with_deleted', 'true']], 'with_deleted'],
      ['PUT', `${account}/campaigns/8wku2`, [['standard_delivery', 'true']], 'standard_delivery'],
      [
        'POST',
        `${account}/custom_audiences`,
        [
          ['name', 'x'],
          ['owner_account_id', 'x'],
        ],
        'owner_account_id',
      ],
    ]
    for (const [method, path, pairs, parameter] of refusals) {
      const answer = await send(sandbox, method, path, pairs)
      expect([answer.status, answer.body.errors.map((error: Loose) => error.parameter)]).toEqual([400, [parameter]])
    }
    expect((await sandbox.call('GET', `${account}/cards/all/1503831318555086900`)).status).toBe(404)
  })
})
