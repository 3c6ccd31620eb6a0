/** Mistakes that the types of the client catch before anything is sent. This file passes the type check only if they do. */
import { expect, test } from 'vitest'
import { agreesWithContract } from '../../../src/service/client/bodies.ts'
import { namesEndpoints } from '../../../src/service/client/typed.ts'
import type { Client } from '../../../src/service/client/index.ts'

const product = {
  id: 'SKU-1',
  title: 'Cup',
  description: 'A cup',
  availability: 'in stock',
  condition: 'new',
  price: '9.50 EUR',
  link: 'https://shop.example.com/cup',
  image_link: 'https://shop.example.com/cup.png',
  brand: 'Acme',
} as const
const catalog = { product_catalog_id: '4001' }
const audience = { account_id: 'a', custom_audience_id: 'b' }
const card = { account_id: 'a', name: 'Spring' }
const details = { type: 'DETAILS', title: 'Cup', destination: { type: 'WEBSITE', url: 'https://shop.example.com' } } as const
const { brand: _brand, ...unbranded } = product
const { title: _title, ...untitled } = product

/** Never called: the compiler reads it. */
async function right(client: Client): Promise<void> {
  await client.products.put({ ...catalog, products: [product, { ...unbranded, gtin: '4006381333931', gender: null }] })
  await client.audiences.users({
    ...audience,
    body: [{ operation_type: 'Update', params: { users: [{ email: ['ab'] }], expires_at: new Date() } }],
  })
  await client.cards.create({ ...card, components: [{ type: 'MEDIA', media_key: '3_1' }, details] })
  await client.productSets.create({
    ...catalog,
    name: 'n',
    type: 'FILTERED',
    filters: [{ attribute: 'price', operator: 'LESS_THAN', value: '5' }],
  })
  await client.activity.subscribe({ event_type: 'dm.sent', filter: { user_id: '1', direction: 'sent' } })
  await client.campaigns.batch({ account_id: 'a', body: [{ operation_type: 'Delete', params: { campaign_id: 'c' } }] })
}

/** Never called: the compiler reads that each requested field of v2 has its type. */
async function read(client: Client): Promise<void> {
  const { data, includes } = await client.posts.lookup({ ids: ['1'] })
  const author: string | null | undefined = data?.[0]?.author_id
  const isPaid: boolean | null | undefined = data?.[0]?.paid_partnership
  const likes: number | undefined = data?.[0]?.public_metrics?.like_count
  const media: readonly string[] | undefined = data?.[0]?.attachments?.media_keys
  const companies: readonly string[] | undefined = includes?.users?.[0]?.affiliation?.user_id
  const views: number | undefined = includes?.media?.[0]?.public_metrics?.view_count
  // @ts-expect-error a field that posts do not have
  const colour = data?.[0]?.colour
  const set = await client.productSets.get({ ...catalog, product_set_id: '4101' })
  const operator: string | undefined = set.filters[0]?.operator
  const features: readonly string[] = await client.features.list({ account_id: 'a' })
  const put = await client.products.put({ ...catalog, products: [product] })
  const errors: readonly unknown[] | undefined = put.products_response[0]?.errors
  const size = (await client.audiences.estimate({ account_id: 'a', targeting_criteria: [] })).audience_size.max.toFixed()
  const placements = (await client.lineItemPlacements.list())[0]?.placements[0]?.join()
  const made = await client.advertiserPosts.create({ account_id: 'a', as_user_id: '1', text: 'Spring' })
  void [errors, size, placements, made.user.id_str.length]
  void [features, author, isPaid, likes, media, companies, views, colour, operator]
}

async function wrong(client: Client): Promise<void> {
  // @ts-expect-error 1: a required field is missing
  await client.products.put({ ...catalog, products: [untitled] })
  // @ts-expect-error 2: a value is not one of the allowed ones
  await client.products.put({ ...catalog, products: [{ ...product, availability: 'in_stock' }] })
  // @ts-expect-error 3: a field is misspelt
  await client.products.put({ ...catalog, products: [{ ...product, image_url: 'https://shop.example.com/c.png' }] })
  // @ts-expect-error 4: a price is a number
  await client.products.put({ ...catalog, products: [{ ...product, price: 9.5 }] })
  // @ts-expect-error 5: none of brand, gtin and mpn
  await client.products.put({ ...catalog, products: [unbranded] })
  // @ts-expect-error 6: a link is not https
  await client.products.put({ ...catalog, products: [{ ...product, link: 'http://shop.example.com/cup' }] })
  // @ts-expect-error 7: an operation type in lower case
  await client.audiences.users({ ...audience, body: [{ operation_type: 'update', params: { users: [] } }] })
  // @ts-expect-error 8: an identifier that is a text instead of a list
  await client.audiences.users({ ...audience, body: [{ operation_type: 'Update', params: { users: [{ email: 'ab' }] } }] })
  // @ts-expect-error 9: an identifier type that does not exist
  await client.audiences.users({ ...audience, body: [{ operation_type: 'Update', params: { users: [{ phone: ['ab'] }] } }] })
  // @ts-expect-error 10: the users are not below params
  await client.audiences.users({ ...audience, body: [{ operation_type: 'Update', users: [{ email: ['ab'] }] }] })
  // @ts-expect-error 11: a component without its required field
  await client.cards.create({ ...card, components: [{ type: 'MEDIA' }, details] })
  await client.cards.create({
    ...card,
    // @ts-expect-error 12: a website destination in a button
    components: [{ type: 'BUTTON', label: { type: 'ENUM', value: 'SHOP' }, destination: details.destination }],
  })
  await client.productSets.create({
    ...catalog,
    name: 'n',
    type: 'FILTERED',
    // @ts-expect-error 13: a filter by an attribute that sets do not have
    filters: [{ attribute: 'brand', operator: 'EQUAL_TO', value: 'x' }],
  })
  // @ts-expect-error a direction of a subscription that does not exist
  await client.activity.subscribe({ event_type: 'dm.sent', filter: { user_id: '1', direction: 'outgoing' } })
  await client.doNotReachLists.users({
    account_id: 'a',
    do_not_reach_list_id: 'b',
    // @ts-expect-error a do-not-reach user by a handle
    body: [{ operation_type: 'Update', params: { users: [{ handle: ['ab'] }] } }],
  })
  await client.targetingCriteria.batch({
    account_id: 'a',
    // @ts-expect-error an update of a targeting criterion
    body: [{ operation_type: 'Update', params: {} }],
  })
  // @ts-expect-error a swipeable component with one media key
  await client.cards.create({ ...card, components: [{ type: 'SWIPEABLE_MEDIA', media_keys: ['3_1'] }, details] })
}

test('typical mistakes in bodies fail the type check', () => {
  expect([right, read, wrong].map(({ length }) => length)).toEqual([1, 1, 1])
})

test('fields and enumerations of the written types are those of the contract', () => {
  expect([...agreesWithContract, namesEndpoints]).not.toContain(false)
})
