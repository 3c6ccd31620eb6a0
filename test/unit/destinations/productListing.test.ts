/** Pages of a listing: accepted, repeated or final. */
import { expect, test } from 'vitest'
import { productListing } from '../../../src/destinations/productListing.ts'
import type { Exchange } from '../../../src/service/client/exchange.ts'

const answer = (status: number, body: unknown): Exchange => ({
  kind: 'answer',
  status,
  headers: {},
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  durationMs: 1,
})

test('a page is requested with the maximum size and the cursor of the page before', () => {
  const target = { accountId: null, targetId: '40/01', version: '13' }
  expect(productListing.request(target, undefined)).toEqual({
    method: 'GET',
    host: 'ads',
    path: '/13/product_catalogs/40%2F01/products',
    query: { count: '100' },
  })
  expect(productListing.request(target, '17')).toMatchObject({ query: { count: '100', cursor: '17' } })
})

test('keys and cursors keep every digit, whether they are text or numbers', () => {
  expect(
    productListing.classify(answer(200, '{"data":[{"id":"a","product_key":1576769414321651714}],"next_cursor":1576769414321651715}')),
  ).toEqual({
    kind: 'page',
    products: [{ id: 'a', productKey: '1576769414321651714', fields: { id: 'a', product_key: 1576769414321651714n } }],
    cursor: '1576769414321651715',
  })
  // A number that JSON.parse and JSON.stringify write back unchanged.
  expect(productListing.classify(answer(200, '{"data":[{"id":"a","product_key":1576769414321651700}]}'))).toMatchObject({
    products: [{ productKey: '1576769414321651700' }],
  })
})

test.for([
  ['null', '{"data":null,"next_cursor":null}'],
  ['an empty text', '{"data":[],"next_cursor":""}'],
  ['nothing', '{"data":[]}'],
])('%s as cursor ends the listing', ([, body]) => {
  expect(productListing.classify(answer(200, body))).toEqual({ kind: 'page', products: [], cursor: undefined })
})

test.for([
  ['a product without an id', answer(200, { data: [{ id: 'a' }, { title: 'b' }], next_cursor: null })],
  ['a product that is none', answer(200, { data: ['a'], next_cursor: null })],
  ['another shape', answer(200, { data: { id: 'a' }, next_cursor: null })],
  ...[false, 0.5, {}, [], ['c']].map(
    (cursor) => [`the cursor ${JSON.stringify(cursor)}`, answer(200, { data: [{ id: 'a' }], next_cursor: cursor })] as const,
  ),
  ['errors beside results', answer(200, { data: [{ id: 'a' }], errors: [{ code: 'X', message: 'no' }] })],
  ['a cut answer', answer(200, '{"data":[{"id":"a"}')],
  ['a page of HTML', answer(200, '<html></html>')],
  ['a server in trouble', answer(503, '')],
  ['a limit', answer(429, { errors: [{ code: 'TOO_MANY_REQUESTS', message: 'slow down' }] })],
  ['a lost answer', { kind: 'lost', error: new Error('reset'), durationMs: 1 }],
  ['no connection', { kind: 'not-sent', error: new Error('refused'), durationMs: 1 }],
] as const)('%s proves nothing about the catalog, and is repeated', ([, exchange]) => {
  expect(productListing.classify(exchange).kind).toBe('again')
})

test.for([400, 403, 404])('%s with a reason is final', (status) => {
  expect(productListing.classify(answer(status, { errors: [{ code: 'NO', message: 'not for you' }] }))).toEqual({
    kind: 'refused',
    code: 'NO',
    reason: 'not for you',
  })
})
