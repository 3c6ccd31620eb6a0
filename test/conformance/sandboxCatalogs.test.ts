/** Catalogs, products, sets and feeds as an outside caller sees them (spec 2.2, 4.2; docs/spec-notes.md#catalogs). */
import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { product as mug } from '../support/product.ts'
import { type CallResult, type Loose } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()
beforeEach(async () => {
  await sandbox.control.switches({ rate_limits: 'off' })
})

const product = (id: string, more: Record<string, unknown> = {}): Record<string, unknown> => mug(id, { inventory: 3, ...more })
const put = (products: readonly unknown[]): Promise<CallResult> =>
  sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products } })
const results = async (products: readonly unknown[]): Promise<Loose[]> => (await put(products)).body.data.products_response
const list = (query: Record<string, string | number> = {}): Promise<CallResult> =>
  sandbox.call('GET', '/12/product_catalogs/4001/products', { query })
const drop = (keys: readonly string[]): Promise<CallResult> =>
  sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: keys } })

describe('catalogs', () => {
  test('a user has one catalog: listed, renamed, deleted, created again', async () => {
    expect((await sandbox.call('GET', '/12/product_catalogs')).body).toEqual({
      request: { params: {} },
      next_cursor: null,
      data: [{ id: '4001', name: 'Sandbox catalog' }],
    })
    const second = await sandbox.call('POST', '/12/product_catalogs', { query: { name: 'Second' } })
    expect([second.status, second.body.errors[0].code]).toEqual([403, 'ACTION_NOT_ALLOWED'])
    expect((await sandbox.call('PUT', '/12/product_catalogs/4001', { query: { name: 'Mugs' } })).body).toEqual({
      request: { params: { id: '4001', name: 'Mugs' } },
      data: { id: '4001', name: 'Mugs' },
    })
    expect((await sandbox.call('DELETE', '/12/product_catalogs/4001')).body.data).toEqual({ id: '4001', name: 'Mugs' })
    expect((await list()).status).toBe(404)
    const made = await sandbox.call('POST', '/12/product_catalogs', { form: { name: 'New' } })
    expect(made.body.data.name).toBe('New')
    expect((await sandbox.call('POST', '/12/product_catalogs')).body.errors[0]).toMatchObject({
      code: 'MISSING_PARAMETER',
      parameter: 'name',
    })
  })
})

describe('product upserts', () => {
  test('create, update, no change; products are not echoed', async () => {
    const created = await put([product('a')])
    expect(created.body).toEqual({
      request: { params: { product_catalog_id: '4001' } },
      data: {
        products_response: [
          { warnings: [], errors: [], product_key: expect.stringMatching(/^\d{19}$/), id: 'a', status: 'CREATE_SUCCESS' },
        ],
      },
    })
    const key = created.body.data.products_response[0].product_key
    expect(await results([product('a', { price: '13.00 EUR' })])).toEqual([
      { warnings: [], errors: [], product_key: key, id: 'a', status: 'UPDATE_SUCCESS' },
    ])
    expect((await results([product('a', { price: '13.00 EUR', color: null, size: '' })]))[0].status).toBe('NO_CHANGE')
  })
  test('a put replaces the whole product, and merges by choice', async () => {
    await put([product('a', { color: 'blue' })])
    await put([product('a')])
    expect((await sandbox.control.products())[0].color).toBeUndefined()
    await sandbox.control.switches({ product_put: 'merge' })
    await put([product('a', { color: 'red' })])
    await put([{ id: 'a', size: 'L' }])
    expect((await sandbox.control.products())[0]).toMatchObject({ color: 'red', size: 'L', title: 'A mug' })
  })
  test('with merge, a put breaks no rule by a field that it leaves as it is', async () => {
    await sandbox.control.switches({ product_put: 'merge' })
    await put([product('a', { gtin: '123' })])
    expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['gtin_invalid'])
    await put([{ id: 'a', size: 'L' }])
    expect(await sandbox.control.violations()).toHaveLength(1)
    await put([{ id: 'a', title: '' }, { id: 'new' }])
    const missing = (await sandbox.control.violations()).slice(1)
    expect(missing.map(({ detail }) => detail)).toEqual(
      ['title', 'title', 'description', 'availability', 'condition', 'price', 'link', 'image_link'].map((name) => `${name} is missing`),
    )
  })
  test('all instances of a repeated id are ignored, and the violation is noted', async () => {
    const answered = await results([product('a'), product('b'), product('a', { title: 'Other' })])
    expect(answered.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'ERROR'],
      ['b', 'CREATE_SUCCESS'],
      ['a', 'ERROR'],
    ])
    expect((await sandbox.control.catalog()).products).toBe(1)
    expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['duplicate_in_request'])
  })
  test.for([
    ['title', { title: 'x'.repeat(151) }],
    ['title', { title: null }],
    ['description', { description: 'x'.repeat(5001) }],
    ['description', { description: 'A <b>mug</b>' }],
    ['availability', { availability: 'in_stock' }],
    ['condition', { condition: 'New' }],
    ['price', { price: '12,90 EUR' }],
    ['price', { price: '12.90' }],
    ['price', { price: '12.90 XYZ' }],
    ['link', { link: 'http://shop.example/a' }],
    ['mobile_link', { mobile_link: 'http://m.shop.example' }],
    ['image_link', { image_link: 'a.jpg' }],
    ['image_link', { image_link: 'https://shop.example/a.svg?v=2' }],
    ['additional_image_link', { additional_image_link: 'https://shop.example/1.jpg,https://shop.example/2.bmp' }],
    ['additional_image_link', { additional_image_link: Array.from({ length: 11 }, (_, n) => `https://shop.example/${n}.jpg`).join(',') }],
    ['inventory', { inventory: 0 }],
    ['inventory', { inventory: '3' }],
    ['inventory', { inventory: 1.5 }],
    ['sale_price', { sale_price: '12.90 EUR' }],
    ['sale_price', { sale_price: '9.90 USD' }],
    ['sale_price_effective_date', { sale_price_effective_date: '2027-01-01T00:00:00/2027-01-02T00:00:00' }],
    ['gender', { gender: 'men' }],
    ['age_group', { age_group: 'Adult' }],
    ['color', { color: '#ff0000' }],
    ['color', { color: '#ff000080' }],
    ['color', { color: '#f008' }],
    ['brand', { brand: null }],
    ['shipping', { shipping: 'free' }],
    ['id', { id: 'x'.repeat(101) }],
  ] as const)('a wrong %s is an ERROR of that product alone: %o', async ([field, change]) => {
    const [bad, good] = await results([product('a', change), product('b')])
    expect(bad.status).toBe('ERROR')
    expect(bad.product_key).toBeNull()
    expect(bad.errors.some((error: string) => error.startsWith(`${field}:`))).toBe(true)
    expect(good.status).toBe('CREATE_SUCCESS')
  })
  test.for([
    [{ sale_price: '9.90 EUR', sale_price_effective_date: '2027-01-01T00:00:00+0100/2027-02-01T00:00:00Z' }],
    [{ availability: 'out of stock', inventory: 0 }],
    [{ inventory: null }],
    [{ brand: null, mpn: 'M-1' }],
    [{ title: '☃'.repeat(150) }],
    [{ description: 'under 5 < 6 mugs' }],
    [{ product_key: '1' }],
    [{ price: '1000 JPY' }],
  ] as const)('is taken: %o', async ([change]) => {
    expect((await results([product('a', change)]))[0]).toMatchObject({ status: 'CREATE_SUCCESS', errors: [] })
  })
  test('a link is https in any case of the scheme', async () => {
    expect(await results([product('a', { link: 'HTTPS://shop.example/a' })])).toMatchObject([{ status: 'CREATE_SUCCESS' }])
    expect(await sandbox.control.violations()).toEqual([])
  })
  test('products of a repeated id are checked for violations too', async () => {
    await put([product('a', { link: 'http://shop.example/a', gtin: '1' }), product('a')])
    expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(expect.arrayContaining(['link_not_https', 'gtin_invalid']))
  })
  test('new products that are applied later have keys of their own in the answer', async () => {
    await sandbox.control.fault({ method: 'PUT' }, { kind: 'warnings', apply: 'later:60000' })
    const keys = (await results([product('a'), product('b')])).map(({ product_key }) => String(product_key))
    expect([new Set(keys).size, keys.every((key) => /^\d{16,19}$/.test(key))]).toEqual([2, true])
  })
  test('a deleted product that is not applied again has its former key in the answer (readd_key: same)', async () => {
    await sandbox.control.switches({ readd_key: 'same' })
    const [{ product_key: key }] = await results([product('a')])
    await sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: [key] } })
    await sandbox.control.fault({ method: 'PUT' }, { kind: 'warnings', apply: 'none' })
    expect(await results([product('a')])).toMatchObject([{ status: 'CREATE_SUCCESS', product_key: key }])
  })
  test('a put of 26 products and a delete without an operator are violations', async () => {
    await put(Array.from({ length: 25 }, (_, n) => product(`p${n}`)))
    await put(Array.from({ length: 26 }, (_, n) => product(`q${n}`)))
    await sandbox.call('DELETE', '/12/product_catalogs/4001', { headers: { 'x-operator': 'Jane' } })
    await sandbox.call('DELETE', '/12/product_catalogs/4001')
    expect((await sandbox.control.violations()).map(({ rule }) => rule)).toEqual(['over_25_products', 'catalog_delete_without_operator'])
  })
  test('26 products, none, or no array are refused as a whole', async () => {
    const many = await put(Array.from({ length: 26 }, (_, n) => product(`p${n}`)))
    expect([many.status, many.body.errors[0]]).toMatchObject([400, { code: 'INVALID_PARAMETER', parameter: 'products' }])
    expect((await put([])).status).toBe(400)
    expect((await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: {} })).body.errors[0]).toMatchObject({
      code: 'MISSING_PARAMETER',
      parameter: 'products',
    })
    expect((await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: '{"products":' })).status).toBe(400)
    expect(
      (await sandbox.call('PUT', '/12/product_catalogs/4001/products', { json: { products: [product('a')], dry_run: true } })).status,
    ).toBe(400)
    expect((await sandbox.control.catalog()).products).toBe(0)
  })
})

describe('product reads and deletes', () => {
  test('a read has every field, null when unset, and a cursor like the last key plus one', async () => {
    await put(Array.from({ length: 5 }, (_, n) => product(`p${n}`)))
    const first = await list({ count: 2 })
    expect(Object.keys(first.body.data[0])).toHaveLength(30)
    expect(first.body.data[0]).toMatchObject({ id: 'p0', gtin: null, item_group_key: null, inventory: 3 })
    expect(first.body.next_cursor).toBe(String(BigInt(first.body.data[1].product_key) + 1n))
    expect(first.body.request.params).toEqual({ product_catalog_id: '4001', count: 2 })
    const second = await list({ count: 2, cursor: first.body.next_cursor })
    const third = await list({ count: 2, cursor: second.body.next_cursor })
    expect([...second.body.data, ...third.body.data].map(({ id }) => id)).toEqual(['p2', 'p3', 'p4'])
    expect(third.body.next_cursor).toBeNull()
  })
  test.for([[{ count: 101 }], [{ count: 0 }], [{ count: 'x' }], [{ cursor: 'abc' }], [{ colour: 'red' }]] as const)(
    '%o is refused, never clamped or guessed',
    async ([query]) => {
      const answer = await list(query)
      expect([answer.status, answer.body.errors[0].code]).toEqual([400, 'INVALID_PARAMETER'])
    },
  )
  test('several wrong parameters are reported in one answer', async () => {
    expect((await list({ count: 0, cursor: 'x', a: 1, b: 2 })).body.errors.map(({ parameter }: Loose) => parameter)).toEqual([
      'count',
      'a',
      'b',
    ])
  })
  test('a group is read as its first-submitted product only', async () => {
    await put([product('v1', { item_group_id: 'g' }), product('v2', { item_group_id: 'g' }), product('w')])
    const read = (await list()).body.data
    expect(read.map(({ id }: Loose) => id)).toEqual(['v1', 'w'])
    expect((await list({ item_group_key: read[0].item_group_key })).body.data.map(({ id }: Loose) => id)).toEqual(['v1', 'v2'])
    expect((await sandbox.control.products()).map(({ id }) => id)).toEqual(['v1', 'v2', 'w'])
  })
  test('a key as a number is refused: beyond 2^53 it would name another product', async () => {
    const answer = await sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: '{"product_keys":[1576769414321651714]}' })
    expect([answer.status, answer.body.errors[0].code, answer.body.errors[0].parameter]).toEqual([400, 'INVALID_PARAMETER', 'product_keys'])
  })
  test('deletes by key; an unknown key fails alone; the echo names the keys only', async () => {
    const key = (await results([product('a')]))[0].product_key
    const answer = await drop([key, '999'])
    expect(answer.body).toEqual({
      request: { params: { product_keys: [key, '999'] } },
      data: {
        delete_products: [
          { product_key: key, failed_product_key: null, message: null },
          { product_key: null, failed_product_key: '999', message: expect.any(String) },
        ],
      },
    })
    expect((await sandbox.control.catalog()).products).toBe(0)
    expect((await results([product('a')]))[0].product_key).not.toBe(key)
    await sandbox.control.switches({ delete_unknown_key: 'not_found' })
    expect((await drop(['999'])).status).toBe(404)
  })
  test('the digest is what independent code makes of the products written', async () => {
    const written = [product('b', { color: 'blue', inventory: 7 }), product('a', { title: 'Grün ☃' }), product('Z', { size: null })]
    await put(written)
    const lines = written
      .map((one) => {
        const { product_key: _, item_group_key: __, ...fields } = one as Loose
        const kept = Object.keys(fields)
          .filter((name) => fields[name] !== null)
          .sort()
        return [
          one['id'] as string,
          `{${kept.map((name) => `${JSON.stringify(name)}:${JSON.stringify(fields[name])}`).join(',')}}`,
        ] as const
      })
      .sort(([x], [y]) => Buffer.compare(Buffer.from(x), Buffer.from(y)))
    const digest = createHash('sha256')
      .update(lines.map(([id, json]) => `${id}\t${json}\n`).join(''))
      .digest('hex')
    expect(await sandbox.control.catalog()).toEqual({ products: 3, digest })
  })
})

describe('product sets and feeds', () => {
  const sets = '/12/product_catalogs/4001/product_sets'
  test('a manual set: PROCESSING, then DONE; changed, deleted, gone', async () => {
    const [a, b] = await results([product('a'), product('b')])
    const made = (await sandbox.call('POST', sets, { json: { name: 'Two', type: 'MANUAL', product_keys: [a.product_key, b.product_key] } }))
      .body.data
    expect(made).toMatchObject({
      name: 'Two',
      description: null,
      type: 'MANUAL',
      filters: [],
      product_ids: ['a', 'b'],
      processing_status: 'PROCESSING',
    })
    expect((await sandbox.call('GET', `${sets}/${made.id}`)).body).toMatchObject({
      request: { params: { product_catalog_id: '4001', id: made.id } },
      data: { processing_status: 'DONE' },
    })
    expect(
      (await sandbox.call('PUT', `${sets}/${made.id}`, { json: { product_keys: [a.product_key], description: 'one' } })).body.data,
    ).toMatchObject({ product_ids: ['a'], description: 'one' })
    const twice = { json: { product_keys: [b.product_key, a.product_key, b.product_key] } }
    expect((await sandbox.call('PUT', `${sets}/${made.id}`, twice)).body.data.product_ids).toEqual(['b', 'a'])
    expect((await sandbox.call('DELETE', `${sets}/${made.id}`)).status).toBe(200)
    expect((await sandbox.call('DELETE', `${sets}/${made.id}`)).status).toBe(404)
  })
  test('a refused update changes nothing of a set', async () => {
    const [a, b] = await results([product('a'), product('b')])
    const json = { name: 'Two', type: 'MANUAL', product_keys: [a.product_key, b.product_key] }
    const { id } = (await sandbox.call('POST', sets, { json })).body.data
    const before = (await sandbox.call('GET', `${sets}/${id}`)).body.data
    expect((await sandbox.call('PUT', `${sets}/${id}`, { json: { name: 'One', product_keys: [a.product_key, '99'] } })).status).toBe(400)
    expect((await sandbox.call('GET', `${sets}/${id}`)).body.data).toEqual(before)
  })
  test('a filtered set needs filters of known attributes and operators', async () => {
    await put([product('a', { product_type: 'Mugs' }), product('b', { price: '99.00 EUR' })])
    const made = await sandbox.call('POST', sets, {
      json: { name: 'Dear', type: 'FILTERED', filters: [{ attribute: 'price', operator: 'GREATER_THAN', value: '50' }] },
    })
    expect(made.body.data.product_ids).toEqual(['b'])
    expect((await sandbox.call('POST', sets, { json: { name: 'x', type: 'FILTERED' } })).body.errors[0]).toMatchObject({
      code: 'MISSING_PARAMETER',
      parameter: 'filters',
    })
    expect((await sandbox.call('POST', sets, { json: { name: 'x', type: 'MANUAL' } })).body.errors[0]).toMatchObject({
      code: 'MISSING_PARAMETER',
      parameter: 'product_keys',
    })
    expect(
      (
        await sandbox.call('POST', sets, {
          json: { name: 'x', type: 'FILTERED', filters: [{ attribute: 'color', operator: 'IS', value: 1 }] },
        })
      ).body.errors,
    ).toHaveLength(3)
    expect((await sandbox.call('PUT', `${sets}/${made.body.data.id}`, { json: { product_keys: [] } })).status).toBe(400)
  })
  test('a set refuses filters and product keys that are not texts', async () => {
    const { product_key: key } = (await results([product('a')]))[0]
    const made = (await sandbox.call('POST', sets, { json: { name: 'x', type: 'MANUAL', product_keys: [key] } })).body.data
    for (const wrong of [{ toString: 1, valueOf: 1 }, [key], Number(key)]) {
      const refusals = [
        await sandbox.call('POST', sets, { json: { name: 'x', type: 'MANUAL', product_keys: [wrong] } }),
        await sandbox.call('PUT', `${sets}/${made.id}`, { json: { product_keys: [wrong] } }),
      ]
      for (const { status, body } of refusals)
        expect([status, body.errors[0].code, body.errors[0].parameter]).toEqual([400, 'INVALID_PARAMETER', 'product_keys'])
    }
    for (const wrong of [{ toString: 1, valueOf: 1 }, ['price'], ['EQUAL_TO']]) {
      const filters = [{ attribute: wrong, operator: wrong, value: '1' }]
      const { status, body } = await sandbox.call('POST', sets, { json: { name: 'x', type: 'FILTERED', filters } })
      expect([status, body.errors.map(({ details }: Loose) => details)]).toEqual([400, ['filters[0]', 'filters[0]']])
    }
  })
  test.for([
    ['custom_label_0', 'EQUAL_TO', '10', []],
    ['custom_label_0', 'GREATER_THAN', '9', []],
    ['custom_label_1', 'EQUAL_TO', '7', []],
    ['custom_label_1', 'EQUAL_TO', '007', ['a']],
    ['price', 'EQUAL_TO', '12', ['a']],
    ['price', 'EQUAL_TO', '12.0 EUR', ['a']],
    ['price', 'EQUAL_TO', '12 USD', []],
    ['price', 'LESS_THAN', '13 USD', []],
    ['price', 'LESS_THAN', '13 EUR', ['a']],
    ['price', 'LESS_THAN', '13x', []],
    ['inventory', 'EQUAL_TO', '5.0', ['a']],
  ] as const)('a set with %s %s %s', async ([attribute, operator, value, ids]) => {
    await put([product('a', { price: '12.00 EUR', inventory: 5, custom_label_0: '10abc', custom_label_1: '007' })])
    const json = { name: 'Set', type: 'FILTERED', filters: [{ attribute, operator, value }] }
    expect((await sandbox.call('POST', sets, { json })).body.data.product_ids).toEqual(ids)
  })
  test('one scheduled feed a user', async () => {
    const feeds = '/12/product_catalogs/4001/scheduled_feeds'
    const made = await sandbox.call('POST', feeds, { query: { feed_url: 'https://shop.example/feed.xml', frequency: 'DAILY', repeat: 1 } })
    expect(made.body.data).toMatchObject({ feed_url: 'https://shop.example/feed.xml', frequency: 'DAILY', repeat: 1, time_zone: null })
    expect((await sandbox.call('POST', feeds, { query: { feed_url: 'https://shop.example/2.xml' } })).status).toBe(403)
    expect((await sandbox.call('GET', feeds)).body.data).toHaveLength(1)
    expect((await sandbox.call('DELETE', `${feeds}/${made.body.data.id}`)).status).toBe(200)
  })
})
