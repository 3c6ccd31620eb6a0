/** Each limit of spec 8 from both sides: the maximum is accepted, and one more is refused with the parameter. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { hasPages, parameterOf } from '../../src/service/contract/endpoint.ts'
import { endpoints } from '../../src/service/contract/index.ts'
import { accountCalls, expectRefusal } from '../support/account.ts'
import { FIRST, pathOf } from '../support/firstState.ts'
import { type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)

const long = (length: number): string => 'é'.repeat(length)
const many = (length: number): string => Array.from({ length }, (_, index) => `id${index}`).join(',')
const FILM = '7_1146654567674912772'
const taken = (answer: CallResult): void => expect(answer.status, answer.text).toBe(200)

describe('count bounds: 1 and the greatest count are taken, 0 and one more are refused', () => {
  const lists = endpoints
    .filter((endpoint) => endpoint.host === 'ads' && hasPages(endpoint) && parameterOf(endpoint, 'count') !== undefined)
    .map((endpoint) => [endpoint.name, endpoint] as const)
  const more: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'advertiserPosts.list': { tweet_type: 'PUBLISHED' },
    'targetingCriteria.list': { line_item_ids: FIRST['line_item_id'] ?? '' },
    'accountHistory.list': { entity_type: 'LINE_ITEM', entity_id: '9cqi0', start_time: '2026-01-01', end_time: '2027-01-01' },
  }
  test('there are lists', () => expect(lists.length).toBeGreaterThan(20))

  test.for(lists)('%s', async ([name, endpoint]) => {
    const { min: countMin = 1, max: countMax = 1000 } = parameterOf(endpoint, 'count') ?? {}
    const read = (count: number): Promise<CallResult> => sandbox.call('GET', pathOf(endpoint), { query: { ...more[name], count } })
    for (const count of [countMin, countMax]) {
      const answer = await read(count)
      taken(answer)
      expect(answer.body.request.params.count).toBe(count)
      expect(answer.body.data.length).toBeLessThanOrEqual(count)
    }
    for (const count of [countMin - 1, countMax + 1]) expectRefusal(await read(count), [400, 'INVALID_PARAMETER', 'count'])
  })
})

describe('lists in pages: each record once, the last cursor null', () => {
  const pageable = [
    'accounts.list',
    'lineItems.list',
    'campaigns.list',
    'cards.list',
    'mediaLibrary.list',
    'accountMedia.list',
    'promotedTweets.list',
    'audiences.list',
  ]
  test.for(pageable)('%s', async (name) => {
    const endpoint = endpoints.find((one) => one.name === name)!
    const whole = (await sandbox.call('GET', pathOf(endpoint), {})).body.data.map((record: Loose) => record.id ?? record.media_key)
    const read: string[] = []
    let cursor: string | null = null
    do {
      const page: Loose = (await sandbox.call('GET', pathOf(endpoint), { query: { count: 1, ...(cursor === null ? {} : { cursor }) } }))
        .body
      read.push(...page.data.map((record: Loose) => record.id ?? record.media_key))
      cursor = page.next_cursor
    } while (cursor !== null && read.length < 100)
    expect(read).toEqual(whole)
    expect(new Set(read).size).toBe(read.length)
  })
})

/** Further required parameters of a list. */
const BESIDE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'targetingCriteria.list': { line_item_ids: 'ab1' },
  'advertiserPosts.list': { tweet_type: 'PUBLISHED' },
  'activeEntities.list': { entity: 'LINE_ITEM', start_time: '2026-02-01T00:00:00Z', end_time: '2026-02-02T00:00:00Z' },
}

test('ids in a filter: 200 are taken, 201 refused, in every list that filters by ids', async () => {
  const filters = endpoints.flatMap((endpoint) =>
    endpoint.parameters
      .filter((one) => one.in === 'query' && one.maxItems === 200 && one.name.endsWith('_ids'))
      .map(({ name }) => ({ endpoint, name })),
  )
  expect(filters.length).toBeGreaterThan(10)
  for (const { endpoint, name } of filters) {
    const more = BESIDE[endpoint.name] ?? {}
    const ids = (length: number): string => Array.from({ length }, (_, index) => String(index + 1)).join(',')
    taken(await sandbox.call('GET', pathOf(endpoint), { query: { ...more, [name]: ids(200) } }))
    expectRefusal(await sandbox.call('GET', pathOf(endpoint), { query: { ...more, [name]: ids(201) } }), [400, 'INVALID_PARAMETER', name])
  }
  for (const name of ['card_id', 'card_uris'])
    expectRefusal(await account.get('cards', { [name]: many(201) }), [400, 'INVALID_PARAMETER', name])
})

test('card name and q: 80 characters', async () => {
  const components = [
    { type: 'MEDIA', media_key: '3_1146654567674912769' },
    { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example' } },
  ]
  taken(await account.json('POST', 'cards', { name: long(80), components }))
  expectRefusal(await account.json('POST', 'cards', { name: long(81), components }), [400, 'INVALID_PARAMETER', 'name'])
  for (const path of ['cards', 'cards/poll', 'cards/video_conversation']) {
    taken(await account.get(path, { q: long(80) }))
    expectRefusal(await account.get(path, { q: long(81) }), [400, 'INVALID_PARAMETER', 'q'])
  }
})

test('swipeable media: 2 to 6 items', async () => {
  const { body } = await account.get('media_library', { media_type: 'IMAGE', count: 50 })
  const [key] = body.data.map((one: Loose) => one.media_key) as string[]
  const card = (count: number): Promise<CallResult> =>
    account.json('POST', 'cards', {
      name: 'Carousel',
      components: [
        { type: 'SWIPEABLE_MEDIA', media_keys: Array.from({ length: count }, () => key) },
        { type: 'DETAILS', title: 'Mugs', destination: { type: 'WEBSITE', url: 'https://shop.example' } },
      ],
    })
  for (const count of [2, 6]) taken(await card(count))
  for (const count of [1, 7]) expect((await card(count)).status).toBe(400)
})

test.for([
  ['name', 100],
  ['file_name', 255],
  ['title', 70],
  ['description', 200],
] as const)('media library %s: %i characters', async ([name, length]) => {
  taken(await account.put(`media_library/${FILM}`, { [name]: long(length) }))
  expectRefusal(await account.put(`media_library/${FILM}`, { [name]: long(length + 1) }), [400, 'INVALID_PARAMETER', name])
})

test('media library q: 1 to 255 characters', async () => {
  for (const q of ['a', long(255)]) taken(await account.get('media_library', { q }))
  for (const q of ['', long(256)]) expectRefusal(await account.get('media_library', { q }), [400, 'INVALID_PARAMETER', 'q'])
})

test('poll duration: 5 to 10080 minutes; choices: 25 characters', async () => {
  const poll = (more: Record<string, string | number>): Promise<CallResult> =>
    account.post('cards/poll', { duration_in_minutes: 5, first_choice: 'a', second_choice: 'b', name: 'Poll', ...more })
  for (const minutes of [5, 10_080]) taken(await poll({ duration_in_minutes: minutes }))
  for (const minutes of [4, 10_081])
    expectRefusal(await poll({ duration_in_minutes: minutes }), [400, 'INVALID_PARAMETER', 'duration_in_minutes'])
  const all = { third_choice: 'c', fourth_choice: 'd' }
  for (const name of ['first_choice', 'second_choice', 'third_choice', 'fourth_choice']) {
    taken(await poll({ ...all, [name]: long(25) }))
    expectRefusal(await poll({ ...all, [name]: long(26) }), [400, 'INVALID_PARAMETER', name])
  }
})

test('video conversation: call to action 20 characters without #, title 23, thanks 23', async () => {
  const card = (more: Record<string, string>): Promise<CallResult> =>
    account.post('cards/video_conversation', {
      first_cta: '#a',
      first_cta_tweet: 'a',
      media_key: FILM,
      name: 'Card',
      thank_you_text: 'Thanks',
      title: 'Title',
      ...more,
    })
  taken(await card({ first_cta: `#${'a'.repeat(20)}`, title: long(23), thank_you_text: long(23) }))
  taken(await card({ first_cta: `#${'a'.repeat(10)}#${'b'.repeat(10)}` }))
  expectRefusal(await card({ first_cta: `#${'a'.repeat(21)}` }), [400, 'INVALID_PARAMETER', 'first_cta'])
  expectRefusal(await card({ first_cta: `#${'a'.repeat(10)}#${'b'.repeat(11)}` }), [400, 'INVALID_PARAMETER', 'first_cta'])
  for (const name of ['second', 'third', 'fourth']) {
    const more = Object.fromEntries(
      ['second', 'third', 'fourth'].flatMap((one) => [
        [`${one}_cta`, '#b'],
        [`${one}_cta_tweet`, 'b'],
      ]),
    )
    taken(await card({ ...more, [`${name}_cta`]: `#${'a'.repeat(20)}` }))
    expectRefusal(await card({ ...more, [`${name}_cta`]: `#${'a'.repeat(21)}` }), [400, 'INVALID_PARAMETER', `${name}_cta`])
  }
  for (const name of ['title', 'thank_you_text']) expectRefusal(await card({ [name]: long(24) }), [400, 'INVALID_PARAMETER', name])
})

test('post: name 80, video title 70, video description 200 characters; up to 4 images, or 1 GIF, or 1 video', async () => {
  let posts = 0
  const post = (more: Record<string, string>): Promise<CallResult> =>
    account.post('tweet', { as_user_id: '1001', text: `Post ${++posts}`, ...more })
  for (const [name, length] of [
    ['name', 80],
    ['video_title', 70],
    ['video_description', 200],
  ] as const) {
    taken(await post({ media_keys: FILM, [name]: long(length) }))
    expectRefusal(await post({ media_keys: FILM, [name]: long(length + 1) }), [400, 'INVALID_PARAMETER', name])
  }
  taken(await account.put('tweets/1166476031668015104/name', { name: long(80) }))
  expectRefusal(await account.put('tweets/1166476031668015104/name', { name: long(81) }), [400, 'INVALID_PARAMETER', 'name'])
  const image = '3_1146654567674912769'
  taken(await post({ media_keys: image }))
  for (const keys of [Array.from({ length: 5 }, () => image).join(','), `${FILM},${image}`, `${FILM},${FILM}`])
    expect((await post({ media_keys: keys })).body.errors[0].parameter).toBe('media_keys')
})

test('products: 25 in a request, title 150, description 5000 characters, 10 additional images', async () => {
  const product = (id: string, more: object = {}) => ({
    id,
    title: 'Mug',
    description: 'Plain',
    availability: 'in stock',
    condition: 'new',
    price: '10.00 USD',
    link: 'https://shop.example.com/1',
    image_link: 'https://shop.example.com/1.jpg',
    brand: 'Example',
    ...more,
  })
  const put = (products: readonly object[]): Promise<CallResult> =>
    sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products } })
  const images = (count: number): string => Array.from({ length: count }, (_, index) => `https://shop.example.com/${index}.jpg`).join(',')
  taken(await put(Array.from({ length: 25 }, (_, index) => product(`p${index}`))))
  expectRefusal(await put(Array.from({ length: 26 }, (_, index) => product(`p${index}`))), [400, 'INVALID_PARAMETER', 'products'])
  const bounds = [
    ['title', long(150), long(151)],
    ['description', long(5000), long(5001)],
    ['additional_image_link', images(10), images(11)],
  ] as const
  for (const [field, fits, exceeds] of bounds) {
    const { body } = await put([product(`${field}-fits`, { [field]: fits }), product(`${field}-exceeds`, { [field]: exceeds })])
    expect(body.data.products_response.map((one: Loose) => [one.status, one.errors.length])).toEqual([
      ['CREATE_SUCCESS', 0],
      ['ERROR', 1],
    ])
    expect(body.data.products_response[1].errors[0]).toContain(field)
  }
})

test('user-list operations: 2,500 are taken, 2,501 refused as a whole; a body of 5,000,000 bytes is taken, one more refused', async () => {
  const operations = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      operation_type: 'Update',
      params: { users: [{ email: [createHash('sha256').update(`a${index}@example.com`).digest('hex')] }] },
    }))
  const send = (json: unknown): Promise<CallResult> => account.json('POST', 'custom_audiences/1nmth/users', json)
  expect((await send(operations(2500))).body.data.total_count).toBe(2500)
  const refused = await send(operations(2501))
  expect([refused.status, refused.body.errors[0].code]).toEqual([400, 'REQUEST_TOO_COMPLEX'])
  const body = JSON.stringify(operations(10))
  taken(await send(body + ' '.repeat(5_000_000 - body.length)))
  const heavy = await send(body + ' '.repeat(5_000_001 - body.length))
  expect([heavy.status, heavy.body.errors[0].code]).toEqual([413, 'REQUEST_TOO_COMPLEX'])
})

test('keyword insights: 7 days, 10 keywords in total, 30 related ones', async () => {
  const search = (more: Record<string, string>): Promise<CallResult> =>
    sandbox.call('GET', '/12/insights/keywords/search', {
      query: { granularity: 'DAY', keywords: 'mugs', start_time: '2026-03-01T00:00:00Z', end_time: '2026-03-08T00:00:00Z', ...more },
    })
  expect((await search({ keywords: 'a,b,c,d,e,f,g', negative_keywords: 'h,i,j' })).body.data.related_keywords).toHaveLength(30)
  expect((await search({ keywords: 'a,b,c,d,e,f,g', negative_keywords: 'h,i,j,k' })).status).toBe(400)
  expect((await search({ end_time: '2026-03-08T01:00:00Z' })).status).toBe(400)
})

test('account history times: whole hours', async () => {
  const read = (more: Record<string, string>): Promise<CallResult> =>
    account.get('account_history', {
      entity_type: 'LINE_ITEM',
      entity_id: '9cqi0',
      start_time: '2026-01-15T11:00:00Z',
      end_time: '2026-01-16T11:00:00Z',
      ...more,
    })
  expect((await read({})).body.data.length).toBeGreaterThan(0)
  for (const [name, value] of [
    ['start_time', '2026-01-15T11:00:01Z'],
    ['end_time', '2026-01-16T11:30:00Z'],
  ] as const)
    expectRefusal(await read({ [name]: value }), [400, 'INVALID_PARAMETER', name])
})

test('each list with with_total_count has the lower rate of 200 in 15 minutes', async () => {
  const read = (): Promise<CallResult> => account.get('campaigns', { with_total_count: true })
  expect((await read()).headers.get('x-rate-limit-limit')).toBe('200')
  for (let index = 1; index < 200; index++) await read()
  const over = await read()
  expect([over.status, over.body.errors[0].code, over.headers.get('x-rate-limit-remaining')]).toEqual([429, 'TOO_MANY_REQUESTS', '0'])
  taken(await account.get('campaigns'))
  const another = await account.get('line_items', { with_total_count: true })
  expect([another.status, another.headers.get('x-rate-limit-remaining')]).toEqual([200, '199'])
})
