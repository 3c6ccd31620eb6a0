/** Every record that the sandbox has from the start carries the fields that the contract describes, and no others. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { campaignEndpoints } from '../../src/service/contract/campaigns.ts'
import { creativeEndpoints } from '../../src/service/contract/creatives.ts'
import type { Endpoint } from '../../src/service/contract/endpoint.ts'
import { resources } from '../../src/service/contract/resources.ts'
import type { Field } from '../../src/service/contract/resource.ts'
import { withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'

let sandbox: SandboxUnderTest
beforeAll(async () => {
  sandbox = await withSandbox()
})
afterAll(() => sandbox.close())

const FIRST: Readonly<Record<string, string>> = {
  account_id: '18ce54d4x5t',
  account_media_id: 'amed1',
  card_id: '1503831318555086849',
  media_key: '3_1146654567674912769',
  scheduled_tweet_id: '917438609065623552',
  draft_tweet_id: '994747471329873920',
  curated_category_id: 'b0xt',
  line_item_curated_category_id: 'yav',
  line_item_id: '9cqi0',
  campaign_id: '8wku2',
  funding_instrument_id: 'lygyi',
  promoted_tweet_id: '1efwlo',
  targeting_criterion_id: '2kzxf',
}
const OWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'pollCards.get': { card_id: '1503831318555086900' },
  'videoConversationCards.get': { card_id: '1503831318555087000' },
}
const QUERY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'cards.all': { card_uris: 'card://1503831318555086849' },
  'advertiserPosts.list': { tweet_type: 'PUBLISHED' },
  'curatedCategories.list': { country_codes: 'US,DE' },
  'accountHistory.list': { entity_type: 'LINE_ITEM', entity_id: '9cqi0', start_time: '2026-01-01', end_time: '2027-01-01' },
  'targetingCriteria.list': { line_item_ids: '9cqi0' },
  'cards.list': { include_legacy_cards: 'true', count: '200' },
  'mediaLibrary.list': { count: '50' },
}

const reads = [...creativeEndpoints, ...campaignEndpoints]
  .filter((endpoint) => endpoint.method === 'GET')
  .map((endpoint): [string, Endpoint] => [endpoint.name, endpoint])

test.for(reads)('%s', async ([name, endpoint]) => {
  const path = endpoint.path.replaceAll(/:(\w+)/g, (_, parameter: string) => OWN[name]?.[parameter] ?? FIRST[parameter] ?? '')
  const answer = await sandbox.call('GET', path, { query: QUERY[name] ?? {} })
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
