/** Records through the typed client: created, read alone and in lists, changed, deleted (spec 4.4, 4.5; docs/spec-notes.md#endpoints). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type Client } from '../../src/service/client/index.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const account_id = '18ce54d4x5t'
const FILM = '7_1146654567674912772'

const sandbox = sharedSandbox()
let client: Client
beforeAll(() => {
  client = createClient({ baseUrl: sandbox.url, ...sandbox.credentials })
})
afterAll(() => client.close())

const ids = (records: readonly { readonly id?: unknown }[]): string[] => records.map(({ id }) => String(id))
const gone = { code: 'SERVICE_NOT_FOUND', status: 404 }

test('videoConversationCards.create, videoConversationCards.get, videoConversationCards.list, videoConversationCards.update, videoConversationCards.delete', async () => {
  const made = await client.videoConversationCards.create({
    account_id,
    name: 'Film talk',
    first_cta: '#SpringMugs',
    first_cta_tweet: 'I like #SpringMugs',
    media_key: FILM,
    thank_you_text: 'Thank you',
    title: 'Which mug?',
  })
  expect(made).toMatchObject({
    card_type: 'VIDEO_CONVERSATION',
    card_uri: `card://${made.id}`,
    first_cta: '#SpringMugs',
    title: 'Which mug?',
    deleted: false,
  })
  const own = { account_id, card_id: made.id }
  expect((await client.videoConversationCards.get(own)).name).toBe('Film talk')
  expect(ids(await client.videoConversationCards.list({ account_id, q: 'film TALK' }).toArray())).toEqual([made.id])
  expect(await client.videoConversationCards.update({ ...own, thank_you_text: 'Many thanks' })).toMatchObject({
    thank_you_text: 'Many thanks',
    title: 'Which mug?',
  })
  expect((await client.videoConversationCards.delete(own)).deleted).toBe(true)
  await expect(client.videoConversationCards.get(own)).rejects.toMatchObject(gone)
  expect((await client.videoConversationCards.get({ ...own, with_deleted: true })).deleted).toBe(true)
})

test('scheduledPosts.create, scheduledPosts.get, scheduledPosts.list, scheduledPosts.update, scheduledPosts.delete', async () => {
  const made = await client.scheduledPosts.create({
    account_id,
    as_user_id: '1001',
    scheduled_at: '2036-01-01T10:00:00Z',
    text: 'Ä new year, 100% mugs & more',
  })
  expect(made).toMatchObject({
    text: 'Ä new year, 100% mugs & more',
    scheduled_at: '2036-01-01T10:00:00Z',
    scheduled_status: 'SCHEDULED',
    tweet_id: null,
    nullcast: true,
  })
  const own = { account_id, scheduled_tweet_id: String(made.id) }
  expect((await client.scheduledPosts.get(own)).text).toBe(made.text)
  expect(ids(await client.scheduledPosts.list({ account_id, count: 1 }).toArray())).toContain(String(made.id))
  expect(await client.scheduledPosts.update({ ...own, scheduled_at: '2036-02-01T10:00:00Z', name: 'Later' })).toMatchObject({
    scheduled_at: '2036-02-01T10:00:00Z',
    name: 'Later',
  })
  await client.scheduledPosts.delete(own)
  await expect(client.scheduledPosts.get(own)).rejects.toMatchObject(gone)
  expect(ids(await client.scheduledPosts.list({ account_id }).toArray())).not.toContain(String(made.id))
})

test('draftPosts.create, draftPosts.get, draftPosts.list, draftPosts.update, draftPosts.delete', async () => {
  const made = await client.draftPosts.create({ account_id, as_user_id: '1001', text: 'A draft' })
  expect(made).toMatchObject({ text: 'A draft', nullcast: true })
  const own = { account_id, draft_tweet_id: String(made.id) }
  expect((await client.draftPosts.get(own)).text).toBe('A draft')
  expect(ids(await client.draftPosts.list({ account_id, count: 1 }).toArray())).toContain(String(made.id))
  expect((await client.draftPosts.update({ ...own, text: 'A better draft' })).text).toBe('A better draft')
  await client.draftPosts.delete(own)
  await expect(client.draftPosts.get(own)).rejects.toMatchObject(gone)
})

test('lineItemCuratedCategories.create, lineItemCuratedCategories.get, lineItemCuratedCategories.list, lineItemCuratedCategories.update, lineItemCuratedCategories.delete', async () => {
  const categories = await client.curatedCategories.list({ account_id, country_codes: ['US', 'DE'] }).toArray()
  const [first = '', second = ''] = ids(categories)
  const line_item_id = '9cqi3'
  const [standing] = await client.lineItemCuratedCategories.list({ account_id }).toArray()
  expect(standing).toMatchObject({ line_item_id, curated_category_id: first, deleted: false })
  const made = await client.lineItemCuratedCategories.create({ account_id, line_item_id, curated_category_id: second })
  const own = { account_id, line_item_curated_category_id: made.id }
  expect(await client.lineItemCuratedCategories.get(own)).toMatchObject({ line_item_id, curated_category_id: second, deleted: false })
  expect(ids(await client.lineItemCuratedCategories.list({ account_id, count: 1 }).toArray())).toEqual([String(standing?.id), made.id])
  expect((await client.lineItemCuratedCategories.delete({ account_id, line_item_curated_category_id: String(standing?.id) })).deleted).toBe(
    true,
  )
  expect((await client.lineItemCuratedCategories.update({ ...own, curated_category_id: first })).curated_category_id).toBe(first)
  expect(ids(await client.lineItemCuratedCategories.list({ account_id, with_deleted: true }).toArray())).toHaveLength(2)
  await expect(
    client.lineItemCuratedCategories.get({ account_id, line_item_curated_category_id: String(standing?.id) }),
  ).rejects.toMatchObject(gone)
})

test('campaigns.create, campaigns.get, campaigns.list, campaigns.update, campaigns.delete', async () => {
  const [funding] = await client.fundingInstruments.list({ account_id }).toArray()
  const made = await client.campaigns.create({
    account_id,
    funding_instrument_id: String(funding?.id),
    name: 'Own',
    total_budget_amount_local_micro: 9_000_000_000n,
    daily_budget_amount_local_micro: 1_000_000n,
  })
  expect(made).toMatchObject({
    name: 'Own',
    currency: 'USD',
    funding_instrument_id: funding?.id,
    deleted: false,
    servable: expect.any(Boolean) as boolean,
  })
  const own = { account_id, campaign_id: made.id }
  expect((await client.campaigns.get(own)).id).toBe(made.id)
  expect(ids(await client.campaigns.list({ account_id, q: 'ow' }).toArray())).toEqual([made.id])
  expect(await client.campaigns.update({ ...own, name: 'Other', daily_budget_amount_local_micro: null })).toMatchObject({
    name: 'Other',
    daily_budget_amount_local_micro: null,
  })
  expect((await client.campaigns.delete(own)).deleted).toBe(true)
  await expect(client.campaigns.get(own)).rejects.toMatchObject(gone)
  expect((await client.campaigns.get({ ...own, with_deleted: true })).deleted).toBe(true)
})

test('fundingInstruments.list, fundingInstruments.create, fundingInstruments.get, fundingInstruments.delete', async () => {
  const before = await client.fundingInstruments.list({ account_id }).toArray()
  expect(before).toMatchObject([{ type: 'CREDIT_LINE', currency: 'USD', able_to_fund: true, reasons_not_able_to_fund: [] }])
  const made = await client.fundingInstruments.create({
    account_id,
    currency: 'EUR',
    start_time: '2026-01-01T00:00:00Z',
    type: 'INSERTION_ORDER',
  })
  const own = { account_id, funding_instrument_id: made.id }
  expect(await client.fundingInstruments.get(own)).toMatchObject({ currency: 'EUR', type: 'INSERTION_ORDER' })
  expect(await client.fundingInstruments.list({ account_id }).toArray()).toHaveLength(2)
  expect((await client.fundingInstruments.delete(own)).deleted).toBe(true)
  expect(ids(await client.fundingInstruments.list({ account_id }).toArray())).toEqual(ids(before))
})

test('promotedTweets.create, promotedTweets.get, promotedTweets.list, promotedTweets.delete', async () => {
  const made = await client.promotedTweets.create({ account_id, line_item_id: '9cqi1', tweet_ids: ['1166476031668015106'] })
  expect(made).toMatchObject([{ line_item_id: '9cqi1', tweet_id: '1166476031668015106', entity_status: 'ACTIVE', deleted: false }])
  const own = { account_id, promoted_tweet_id: String(made[0]?.id) }
  expect((await client.promotedTweets.get(own)).line_item_id).toBe('9cqi1')
  expect(await client.promotedTweets.list({ account_id, line_item_ids: ['9cqi1'] }).toArray()).toHaveLength(2)
  expect((await client.promotedTweets.delete(own)).deleted).toBe(true)
  await expect(client.promotedTweets.get(own)).rejects.toMatchObject(gone)
  expect(await client.promotedTweets.list({ account_id, line_item_ids: ['9cqi1'], with_deleted: true }).toArray()).toHaveLength(2)
})

describe('batches are all or nothing', () => {
  const refusedAt = (index: number) => ({ code: 'SERVICE_BATCH_REFUSED', issues: [expect.objectContaining({ index }) as object] })

  test('campaigns.batch creates, updates and deletes in one request, and names a wrong item by its index', async () => {
    const create = { operation_type: 'Create', params: { funding_instrument_id: 'lygyi', name: 'By batch' } } as const
    await expect(
      client.campaigns.batch({ account_id, body: [create, { operation_type: 'Update', params: { campaign_id: '8wku2', name: '' } }] }),
    ).rejects.toMatchObject(refusedAt(1))
    expect(await client.campaigns.list({ account_id }).toArray()).toHaveLength(2)
    const answers = await client.campaigns.batch({
      account_id,
      body: [
        create,
        { operation_type: 'Update', params: { campaign_id: '8wku2', name: 'Changed' } },
        { operation_type: 'Delete', params: { campaign_id: '8wku3' } },
      ],
    })
    expect(answers).toMatchObject([{ name: 'By batch' }, { id: '8wku2', name: 'Changed' }, { id: '8wku3', deleted: true }])
    expect((await client.campaigns.list({ account_id, sort_by: ['name-asc'] }).toArray()).map(({ name }) => name)).toEqual([
      'By batch',
      'Changed',
    ])
  })

  test('lineItems.batch creates, updates and deletes in one request, and names a wrong item by its index', async () => {
    const create = {
      operation_type: 'Create',
      params: {
        campaign_id: '8wku2',
        objective: 'ENGAGEMENTS',
        placements: ['ALL_ON_SERVICE'],
        product_type: 'PROMOTED_TWEETS',
        start_time: '2027-01-01',
        end_time: '2027-02-01',
        name: 'By batch',
      },
    } as const
    const bad = { operation_type: 'Update', params: { line_item_id: '9cqi0', bid_strategy: 'MAX' } } as const
    await expect(client.lineItems.batch({ account_id, body: [create, bad] })).rejects.toMatchObject(refusedAt(1))
    expect(await client.lineItems.list({ account_id }).toArray()).toHaveLength(11)
    const update = { operation_type: 'Update', params: { line_item_id: '9cqi0', entity_status: 'PAUSED' } } as const
    expect(
      await client.lineItems.batch({ account_id, body: [create, update, { operation_type: 'Delete', params: { line_item_id: '9cqi2' } }] }),
    ).toMatchObject([
      { name: 'By batch', campaign_id: '8wku2', start_time: '2027-01-01T00:00:00Z' },
      { id: '9cqi0', entity_status: 'PAUSED' },
      { id: '9cqi2', deleted: true },
    ])
    await expect(client.lineItems.batch({ account_id, body: Array.from({ length: 41 }, () => update) })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('40') as string,
    })
  })

  test('targetingCriteria.batch creates and deletes in one request, and names a wrong item by its index', async () => {
    const create = {
      operation_type: 'Create',
      params: { line_item_id: '9cqi1', targeting_type: 'LOCATION', targeting_value: '96683cc9126741d1', operator_type: 'EQ' },
    } as const
    await expect(
      client.targetingCriteria.batch({
        account_id,
        body: [create, { operation_type: 'Create', params: { line_item_id: '9cqi1' } as never }],
      }),
    ).rejects.toMatchObject({ code: 'SERVICE_BATCH_REFUSED' })
    expect(await client.targetingCriteria.list({ account_id, line_item_ids: ['9cqi1'] }).toArray()).toEqual([])
    const made = await client.targetingCriteria.batch({
      account_id,
      body: [create, { operation_type: 'Delete', params: { targeting_criterion_id: '2kzxg' } }],
    })
    expect(made).toMatchObject([
      { line_item_id: '9cqi1', targeting_type: 'LOCATION' },
      { id: '2kzxg', deleted: true },
    ])
    expect(ids(await client.targetingCriteria.list({ account_id, line_item_ids: ['9cqi0', '9cqi1'] }).toArray())).toEqual([
      '2kzxf',
      String(made[0]?.id),
    ])
  })
})

test('after a reset every list of the account has records', async () => {
  const lists = {
    accounts: client.accounts.list(),
    apps: client.accountApps.list({ account_id }),
    campaigns: client.campaigns.list({ account_id }),
    media: client.accountMedia.list({ account_id }),
    cards: client.cards.list({ account_id, include_legacy_cards: true }),
    library: client.mediaLibrary.list({ account_id }),
    polls: client.pollCards.list({ account_id }),
    conversations: client.videoConversationCards.list({ account_id }),
    scheduled: client.scheduledPosts.list({ account_id }),
    drafts: client.draftPosts.list({ account_id }),
    promoted: client.promotedTweets.list({ account_id }),
    criteria: client.targetingCriteria.list({ account_id, line_item_ids: ['9cqi0'] }),
    published: client.advertiserPosts.list({ account_id, tweet_type: 'PUBLISHED' }),
    audiences: client.audiences.list({ account_id }),
    exclusions: client.doNotReachLists.list({ account_id }),
  }
  const empty: string[] = []
  for (const [name, list] of Object.entries(lists)) if ((await list.toArray()).length === 0) empty.push(name)
  expect(empty).toEqual([])
})
