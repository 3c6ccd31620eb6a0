/** Every record that a read shows has the fields of the contract, and no others. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '../../src/service/contract/endpoint.ts'
import { endpoints } from '../../src/service/contract/index.ts'
import { resources } from '../../src/service/contract/resources.ts'
import type { Field } from '../../src/service/contract/resource.ts'
import { pathOf } from '../support/firstState.ts'
import { product } from '../support/product.ts'
import { withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'

let sandbox: SandboxUnderTest
/** Ids of records that a sandbox lacks at first. */
const made: Record<string, string> = {}
beforeAll(async () => {
  sandbox = await withSandbox()
  const catalog = '/12/product_catalogs/4001'
  await sandbox.call('PUT', `${catalog}/products`, { json: { products: [product('SKU-1')] } })
  const feed = await sandbox.call('POST', `${catalog}/scheduled_feeds`, { query: { feed_url: 'https://shop.example/feed.xml' } })
  Object.assign(made, { scheduled_feed_id: feed.body.data.id })
})
afterAll(() => sandbox.close())

const PERIOD = { start_time: '2026-02-01T00:00:00Z', end_time: '2026-02-02T00:00:00Z' }
const FIGURES = {
  entity: 'LINE_ITEM',
  entity_ids: '9cqi0',
  granularity: 'HOUR',
  metric_groups: 'ENGAGEMENT',
  placement: 'ALL_ON_SERVICE',
  ...PERIOD,
}
const QUERY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'keywords.search': { granularity: 'DAY', keywords: 'mugs', start_time: new Date(Date.now() - 86_400_000).toISOString() },
  'cards.all': { card_uris: 'card://1503831318555086849' },
  'advertiserPosts.list': { tweet_type: 'PUBLISHED' },
  'curatedCategories.list': { country_codes: 'US,DE' },
  'accountHistory.list': { entity_type: 'LINE_ITEM', entity_id: '9cqi0', start_time: '2026-01-01', end_time: '2027-01-01' },
  'targetingCriteria.list': { line_item_ids: '9cqi0' },
  'statistics.get': FIGURES,
  'activeEntities.list': { entity: 'LINE_ITEM', ...PERIOD },
  'cards.list': { include_legacy_cards: 'true', count: '200' },
  'mediaLibrary.list': { count: '50' },
}

const reads = endpoints
  .filter((endpoint) => endpoint.method === 'GET' && endpoint.host === 'ads' && endpoint.auth !== 'browser')
  .map((endpoint): [string, Endpoint] => [endpoint.name, endpoint])

test.for(reads)('%s', async ([name, endpoint]) => {
  const answer = await sandbox.call('GET', pathOf(endpoint, made), { query: QUERY[name] ?? {} })
  expect(answer.status, answer.text).toBe(200)
  const { data } = answer.body as { data: unknown }
  expect(Array.isArray(data)).toBe(endpoint.answer.many)
  const records = (Array.isArray(data) ? data : [data]) as Record<string, unknown>[]
  expect(records.length).toBeGreaterThan(0)
  const fields: readonly Field[] = resources[endpoint.answer.resource as keyof typeof resources].fields
  if (fields.length === 0) return
  for (const record of records) {
    const known = new Map(fields.map((field) => [field.name, field]))
    expect(Object.keys(record).filter((key) => !known.has(key))).toEqual([])
    for (const field of fields) {
      if (field.optional !== true) expect(record, field.name).toHaveProperty(field.name)
      if (field.nullable !== true && field.name in record) expect(record[field.name], field.name).not.toBeNull()
    }
  }
})
