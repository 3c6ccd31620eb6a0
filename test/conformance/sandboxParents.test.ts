/** Records below a deleted one, and repeated requests (spec 3.3; docs/spec-notes.md#errors; both partly assumed). */
import { describe, expect, test } from 'vitest'
import { accountCalls, expectRefusal } from '../support/account.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
const account = accountCalls(sandbox)

const ITEM = '9cqi1'
const CAMPAIGN = '8wku2'
const ids = async (path: string, query: Record<string, string | boolean> = {}): Promise<string[]> =>
  (await account.get(path, query)).body.data.map(({ id }: { id: string }) => id)

describe('below a deleted line item', () => {
  test('a promoted tweet is there with with_deleted only, and a DELETE of it finds nothing', async () => {
    const before = (await account.get('promoted_tweets/1efwlp')).body.data
    await account.del(`line_items/${ITEM}`)
    expectRefusal(await account.get('promoted_tweets/1efwlp'), [404, 'PROMOTED_TWEET_NOT_FOUND', 'promoted_tweet_id'])
    expectRefusal(await account.del('promoted_tweets/1efwlp'), [404, 'PROMOTED_TWEET_NOT_FOUND', 'promoted_tweet_id'])
    expect((await account.get('promoted_tweets/1efwlp', { with_deleted: true })).body.data).toEqual({ ...before, deleted: false })
  })
  test('targeting criteria and curated categories likewise, and nothing new is put there', async () => {
    const criterion = (
      await account.post('targeting_criteria', { line_item_id: ITEM, targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1' })
    ).body.data.id
    const category = (await account.post('line_item_curated_categories', { line_item_id: ITEM, curated_category_id: 'b0xu' })).body.data.id
    expect(await ids('targeting_criteria', { line_item_ids: ITEM })).toContain(criterion)
    await account.del(`line_items/${ITEM}`)
    expect(await ids('targeting_criteria', { line_item_ids: ITEM })).toEqual([])
    expect(await ids('targeting_criteria', { line_item_ids: ITEM, with_deleted: true })).toContain(criterion)
    for (const path of [`targeting_criteria/${criterion}`, `line_item_curated_categories/${category}`]) {
      expect([(await account.get(path)).status, (await account.del(path)).status]).toEqual([404, 404])
      expect((await account.get(path, { with_deleted: true })).body.data.deleted).toBe(false)
    }
    expect(await ids('line_item_curated_categories')).not.toContain(category)
    expectRefusal(await account.put(`line_item_curated_categories/${category}`, { curated_category_id: 'b0xu' }), [404, 'NOT_FOUND'])
    for (const [path, query] of [
      ['targeting_criteria', { targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1' }],
      ['promoted_tweets', { tweet_ids: '1166476031668015104' }],
      ['line_item_curated_categories', { curated_category_id: 'b0xu' }],
    ] as const)
      expectRefusal(await account.post(path, { line_item_id: ITEM, ...query }), [404, 'LINE_ITEM_NOT_FOUND', 'line_item_id'])
  })
})

describe('below a deleted campaign', () => {
  test('line items, and what is below them, are there with with_deleted only', async () => {
    const items = await ids('line_items', { campaign_ids: CAMPAIGN })
    expect(items.length).toBeGreaterThan(2)
    const [promoted] = await ids('promoted_tweets')
    await account.del(`campaigns/${CAMPAIGN}`)
    expect(await ids('line_items', { campaign_ids: CAMPAIGN })).toEqual([])
    expect(await ids('line_items', { campaign_ids: CAMPAIGN, with_deleted: true })).toEqual(items)
    const path = `line_items/${items[0]}`
    expect([(await account.get(path)).status, (await account.put(path, { name: 'a' })).status, (await account.del(path)).status]).toEqual([
      404, 404, 404,
    ])
    expect((await account.get(path, { with_deleted: true })).body.data.deleted).toBe(false)
    expect((await account.get(`promoted_tweets/${promoted}`)).status).toBe(404)
    expectRefusal(await account.post('promoted_tweets', { line_item_id: String(items[0]), tweet_ids: '1166476031668015104' }), [
      404,
      'LINE_ITEM_NOT_FOUND',
    ])
  })
  test('a deleted funding instrument takes no campaign, and those that have it do not serve', async () => {
    await account.del('funding_instruments/lygyi')
    expectRefusal(await account.post('campaigns', { funding_instrument_id: 'lygyi', name: 'a' }), [404, 'FUNDING_INSTRUMENT_NOT_FOUND'])
    expect((await account.get(`campaigns/${CAMPAIGN}`)).body.data).toMatchObject({
      servable: false,
      reasons_not_servable: ['FUNDING_PROBLEM'],
    })
  })
})

describe('said twice', () => {
  const post = (more: Record<string, string | boolean> = {}) => account.post('tweet', { as_user_id: '1001', text: 'Spring again', ...more })

  test('by one author is DUPLICATE_TWEET, on behalf of an advertiser and on v2', async () => {
    expect((await post()).status).toBe(200)
    expectRefusal(await post(), [400, 'DUPLICATE_TWEET', 'text'])
    expect((await post({ text: 'Spring once more' })).status).toBe(200)
    expect((await post({ media_keys: '3_1146654567674912769' })).status).toBe(200)
    const made = (text: string) => sandbox.call('POST', '/2/tweets', { json: { text } })
    expect((await made('Said freely')).status).toBe(201)
    const again = await made('Said freely')
    expect([again.status, again.body]).toMatchObject([
      403,
      { title: 'Forbidden', status: 403, detail: expect.stringContaining('duplicate') },
    ])
  })
  test('a day later it is new', async () => {
    await post()
    await sandbox.control.advance(86_401)
    expect((await post()).status).toBe(200)
  })
  test('the switch lets it pass', async () => {
    await sandbox.control.switches({ duplicate_posts: 'accept' })
    expect([(await post()).status, (await post()).status]).toEqual([200, 200])
  })
})
