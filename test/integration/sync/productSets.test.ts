/** Product sets by rule, against the sandbox: only sets that Sluice created are changed. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { FIRST } from '../../support/firstState.ts'

const sets = '/12/product_catalogs/4001/product_sets'

const feed = (rows: readonly (readonly [id: string, brand: string, label: string])[]): string =>
  `id,title,description,availability,condition,price,link,image_link,brand,custom_label_0\n${rows
    .map(
      ([id, brand, label]) =>
        `${id},Shirt ${id},All about ${id},in stock,new,10.00 EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,${brand},${label}\n`,
    )
    .join('')}`

const rule = (name: string, where: string, more = '') => `    - { name: "${name}", where: ${where}${more} }\n`
const yaml = (...rules: readonly string[]) =>
  `source: { url: "{folder}/feed.csv" }\ndestination:\n  kind: catalog\n  catalog_id: "4001"\n${rules.length === 0 ? '' : `  product_sets:\n${rules.join('')}`}`

const summer = rule('Summer', '{ custom_label_0: summer }')
const acme = rule('Acme', '{ brand: Acme }')

interface Listed {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly type: string
  readonly product_ids: readonly string[]
}

/** Returns the sets of the catalog without that of the sandbox's first state. */
async function listed(engine: EngineUnderTest): Promise<readonly Listed[]> {
  const all: readonly Listed[] = (await engine.sandbox.call('GET', sets)).body.data
  expect(all.filter(({ id }) => id === FIRST['product_set_id'])).toMatchObject([{ name: 'Sandbox set', product_ids: [] }])
  return all.filter(({ id }) => id !== FIRST['product_set_id'])
}

async function made(engine: EngineUnderTest, name: string): Promise<string> {
  const answer = await engine.sandbox.call('POST', sets, {
    json: { name, type: 'FILTERED', filters: [{ attribute: 'price', operator: 'GREATER_THAN', value: '1' }] },
  })
  return answer.body.data.id
}

async function setWrites(engine: EngineUnderTest, after = 0) {
  return (await engine.writes(after)).filter(({ path }) => path.startsWith(sets))
}

const rows = [
  ['A1', 'Acme', 'summer'],
  ['A2', 'Acme', ''],
  ['B1', 'Bolt', 'summer'],
] as const

test('product sets are created once, updated or replaced, and deleted with their rule; an unmanaged set is not changed', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer, acme))
  const unmanaged = await made(engine, 'By hand')

  const plan = await engine.plan('shop')
  expect(plan.productSets).toEqual([
    { name: 'Summer', action: 'create', outcome: 'planned' },
    { name: 'Acme', action: 'create', outcome: 'planned' },
  ])
  expect(await setWrites(engine)).toHaveLength(1)

  const first = await engine.apply(plan.planId)
  expect(first).toMatchObject({ status: 'succeeded' })
  expect(first.productSets?.map(({ outcome }) => outcome)).toEqual(['confirmed', 'confirmed'])
  expect(await listed(engine)).toMatchObject([
    { id: unmanaged },
    { name: 'Summer', type: 'FILTERED', product_ids: ['A1', 'B1'] },
    { name: 'Acme', type: 'MANUAL', product_ids: ['A1', 'A2'] },
  ])

  const mark = await engine.mark()
  expect((await engine.run('shop')).productSets?.map(({ action }) => action)).toEqual(['unchanged', 'unchanged'])
  expect(await engine.writes(mark)).toEqual([])

  // The brand has one more product, the description of one set changes, the other gets another rule.
  engine.write('feed.csv', feed([...rows, ['A3', 'acme', '']]))
  engine.pipeline(
    'shop',
    yaml(rule('Summer', '{ custom_label_0: { contains: sum } }'), rule('Acme', '{ brand: Acme }', ', description: Ours')),
  )
  const changed = await engine.run('shop')
  expect(changed.productSets).toEqual([
    { name: 'Summer', action: 'replace', outcome: 'confirmed' },
    { name: 'Acme', action: 'update', outcome: 'confirmed' },
  ])
  expect(await listed(engine)).toMatchObject([
    { id: unmanaged },
    { name: 'Acme', description: 'Ours', product_ids: ['A1', 'A2', 'A3'] },
    { name: 'Summer', product_ids: ['A1', 'B1'] },
  ])

  engine.pipeline('shop', yaml())
  const planned = await engine.plan('shop')
  expect(planned.productSets?.map(({ name, action }) => `${action} ${name}`)).toEqual(['delete Acme', 'delete Summer'])
  await engine.run('shop')
  expect(await listed(engine)).toMatchObject([{ id: unmanaged, name: 'By hand' }])
  expect((await engine.run('shop')).productSets).toBeUndefined()
  const log = await engine.db.query<{ what: string; n: number }>(
    `select what, count(*)::int as n from audit where what like 'product_set.%' group by what order by what`,
  )
  expect(log).toEqual([
    { what: 'product_set.created', n: 3 },
    { what: 'product_set.deleted', n: 3 },
    { what: 'product_set.updated', n: 1 },
  ])
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('a plan shows the set of a brand as the run leaves it, with a product whose row is now rejected', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(acme))
  await engine.run('shop')
  engine.write('feed.csv', feed(rows).replace(/(A2,.*)10.00 EUR/, '$1free'))
  const plan = await engine.plan('shop')
  expect(plan).toMatchObject({ counts: { rejected: 1, stale: 1 }, productSets: [{ name: 'Acme', action: 'unchanged' }] })
  expect((await engine.apply(plan.planId)).productSets).toMatchObject([{ name: 'Acme', action: 'unchanged' }])
})

test.for([
  ['one product', ['A2']],
  ['every product', undefined],
] as const)('a set for a brand is not confirmed while the key of %s is not known', async ([what, kept]) => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(what === 'one product' ? rows : [rows[0]]))
  engine.pipeline('shop', yaml(acme))
  // The answer confirms the first product, and has no key.
  await engine.sandbox.control.fault({ method: 'PUT', path: '/12/product_catalogs' }, { kind: 'null_key' })
  expect(await engine.run('shop')).toMatchObject({
    status: 'partial',
    productSets: [{ name: 'Acme', action: 'create', outcome: 'unresolved', code: 'PRODUCT_SET_KEYS_UNKNOWN' }],
  })
  expect((await listed(engine))[0]?.product_ids).toEqual(kept)
  const plan = await engine.plan('shop')
  const action = kept === undefined ? 'create' : 'update'
  expect(plan.productSets).toEqual([{ name: 'Acme', action, outcome: 'planned' }])
  expect(await engine.apply(plan.planId)).toMatchObject({
    status: 'partial',
    productSets: [{ name: 'Acme', action, outcome: 'unresolved', code: 'PRODUCT_SET_KEYS_UNKNOWN' }],
  })
  // The hint: the answers to the same products have their keys.
  expect(await engine.run('shop', { full: true })).toMatchObject({
    status: 'succeeded',
    productSets: [{ name: 'Acme', outcome: 'confirmed' }],
  })
  expect((await listed(engine))[0]?.product_ids).toEqual(kept === undefined ? ['A1'] : ['A1', 'A2'])
  expect((await engine.run('shop')).productSets).toMatchObject([{ action: 'unchanged', outcome: 'confirmed' }])
})

test.for(['deleted by a run', 'deleted by another program'])(
  'a product that was %s and is put again under its former key is in the set of its brand again',
  async (how) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    await control.switches({ readd_key: 'same' })
    engine.write('feed.csv', feed(rows))
    engine.pipeline('shop', yaml(acme))
    await engine.run('shop')
    if (how === 'deleted by a run') {
      engine.write('feed.csv', feed([rows[0], rows[2]]))
      await control.fault(
        { method: 'PUT', path: sets },
        { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] } },
      )
      expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { deletes: 1 } })
      engine.write('feed.csv', feed(rows))
    } else {
      const key = (await engine.sandbox.call('GET', '/12/product_catalogs/4001/products')).body.data[1].product_key
      await engine.sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: [key] } })
      const repair = await engine.audit('shop', { repair: true })
      expect(repair).toMatchObject({ drift: { notListed: 1 } })
      // The plan of a repair has no product sets.
      await engine.apply(repair.planId ?? '')
    }
    const plan = await engine.plan('shop')
    expect(plan.productSets).toEqual([{ name: 'Acme', action: 'update', outcome: 'planned' }])
    expect(await engine.apply(plan.planId)).toMatchObject({ productSets: [{ name: 'Acme', action: 'update', outcome: 'confirmed' }] })
    expect((await listed(engine))[0]?.product_ids).toEqual(['A1', 'A2'])
    expect(await engine.run('shop')).toMatchObject({ counts: { requests: 0 }, productSets: [{ action: 'unchanged' }] })
  },
)

test('an unmanaged set of the same name is neither changed nor created a second time, also after the rule was removed', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  const foreign = await made(engine, 'summer')
  engine.pipeline('shop', yaml(summer))
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'partial', productSets: [{ name: 'Summer', outcome: 'refused', code: 'PRODUCT_SET_NAME_TAKEN' }] })
  engine.pipeline('shop', yaml())
  expect((await engine.run('shop')).status).toBe('succeeded')
  expect((await listed(engine)).map(({ id }) => id)).toEqual([foreign])
  expect(await setWrites(engine)).toHaveLength(1)
})

test('the next run finds a set whose create got no answer, and does not create it again', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'commit_then_reset' })
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', productSets: [{ outcome: 'unresolved' }] })
  const plan = await engine.plan('shop')
  expect(plan.productSets).toEqual([{ name: 'Summer', action: 'create', outcome: 'planned' }])
  expect(await engine.apply(plan.planId)).toMatchObject({
    status: 'succeeded',
    productSets: [{ name: 'Summer', action: 'create', outcome: 'confirmed' }],
  })
  expect((await engine.run('shop')).productSets).toMatchObject([{ action: 'unchanged' }])
  expect(await listed(engine)).toHaveLength(1)
  engine.pipeline('shop', yaml())
  await engine.run('shop')
  expect(await listed(engine)).toEqual([])
})

test('a plan and its run show the outstanding delete of a replaced set as the rest of its replacement', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.run('shop')
  engine.pipeline('shop', yaml(rule('Summer', '{ custom_label_0: { contains: sum } }')))
  const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] }
  await engine.sandbox.control.fault({ method: 'DELETE', path: sets }, { kind: 'status', status: 400, body })
  expect(await engine.run('shop')).toMatchObject({
    status: 'partial',
    productSets: [{ name: 'Summer', action: 'replace', outcome: 'refused', code: 'INVALID_PARAMETER' }],
  })
  const plan = await engine.plan('shop')
  expect(plan.productSets).toEqual([{ name: 'Summer', action: 'replace', outcome: 'planned' }])
  expect((await engine.apply(plan.planId)).productSets).toEqual([{ name: 'Summer', action: 'replace', outcome: 'confirmed' }])
  expect(await listed(engine)).toHaveLength(1)
  expect((await engine.run('shop')).productSets).toEqual([{ name: 'Summer', action: 'unchanged', outcome: 'confirmed' }])
})

test('a removed rule is one delete, also while an earlier set of it waits for its own', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.run('shop')
  engine.pipeline('shop', yaml(rule('Summer', '{ custom_label_0: { contains: sum } }')))
  const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] }
  await engine.sandbox.control.fault({ method: 'DELETE', path: sets }, { kind: 'status', status: 400, body })
  await engine.run('shop')
  engine.pipeline('shop', yaml())
  expect((await engine.plan('shop')).productSets).toEqual([{ name: 'Summer', action: 'delete', outcome: 'planned' }])
  await engine.sandbox.control.fault({ method: 'DELETE', path: sets }, { kind: 'status', status: 400, body })
  expect((await engine.run('shop')).productSets).toMatchObject([{ name: 'Summer', action: 'delete', outcome: 'refused' }])
  expect((await engine.run('shop')).productSets).toEqual([{ name: 'Summer', action: 'delete', outcome: 'confirmed' }])
  expect(await listed(engine)).toEqual([])
})

test('a plan and its run show a replacement whose create never arrived as a replacement', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.run('shop')
  engine.pipeline('shop', yaml(rule('Summer', '{ custom_label_0: { contains: sum } }')))
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'reset', at: 'before' })
  expect((await engine.run('shop')).productSets).toMatchObject([{ action: 'replace', outcome: 'unresolved' }])
  await engine.db.execute(`update product_set set late_until = clock_timestamp()`)
  const plan = await engine.plan('shop')
  expect(plan.productSets).toEqual([{ name: 'Summer', action: 'replace', outcome: 'planned' }])
  expect((await engine.apply(plan.planId)).productSets).toEqual([{ name: 'Summer', action: 'replace', outcome: 'confirmed' }])
  expect(await listed(engine)).toHaveLength(1)
})

test('a plan and its run show a create that never arrived, and whose rule was removed, as a delete', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'reset', at: 'before' })
  await engine.run('shop')
  await engine.db.execute(`update product_set set late_until = clock_timestamp()`)
  engine.pipeline('shop', yaml())
  const plan = await engine.plan('shop')
  expect(plan.productSets).toEqual([{ name: 'Summer', action: 'delete', outcome: 'planned' }])
  expect((await engine.apply(plan.planId)).productSets).toEqual([{ name: 'Summer', action: 'delete', outcome: 'confirmed' }])
})

test('a set whose create got no answer, and whose rule was removed, is deleted once the service lists it', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await control.fault({ method: 'POST', path: sets }, { kind: 'commit_then_reset' })
  await engine.run('shop')
  await engine.db.execute(`update product_set set late_until = clock_timestamp()`)
  engine.pipeline('shop', yaml())
  await control.fault({ method: 'GET', path: sets }, { kind: 'status', status: 404, body: { errors: [] } }, 'always')
  expect((await engine.run('shop')).productSets).toMatchObject([
    { name: 'Summer', action: 'delete', outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED' },
  ])
  await control.clearFaults()
  expect((await engine.run('shop')).productSets).toEqual([{ name: 'Summer', action: 'delete', outcome: 'confirmed' }])
  expect(await listed(engine)).toEqual([])
})

test('a create that never arrived is sent again only when the first request can no longer arrive', async () => {
  await using engine = await engineUnderTest({ settings: { horizonMs: 60_000 } })
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'reset', at: 'before' })
  await engine.run('shop')
  const mark = await engine.mark()
  expect(await engine.run('shop')).toMatchObject({ productSets: [{ outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED' }] })
  expect(await setWrites(engine, mark)).toEqual([])
  await engine.db.execute(`update product_set set late_until = clock_timestamp()`)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', productSets: [{ action: 'create', outcome: 'confirmed' }] })
  expect(await listed(engine)).toHaveLength(1)
})

test('a create without an answer is sent again in time, although the clock of the database was ahead', async () => {
  await using engine = await engineUnderTest({ settings: { horizonMs: 100, httpTimeoutMs: 100 } })
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'reset', at: 'before' })
  await engine.run('shop')
  await engine.db.execute(`update product_set set late_until = clock_timestamp() + interval '2 days'`)
  expect(await engine.run('shop')).toMatchObject({ productSets: [{ outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED' }] })
  await expect.poll(async () => (await engine.run('shop')).productSets).toMatchObject([{ action: 'create', outcome: 'confirmed' }])
})

test.each(['sets.before_create', 'sets.created', 'sets.before_delete'])(
  'after a run killed at %s, each rule has exactly one set',
  { tags: ['long'] },
  async (label) => {
    await using engine = await engineUnderTest()
    engine.write('feed.csv', feed(rows))
    const unmanaged = await made(engine, 'By hand')
    engine.pipeline('shop', yaml(rule('Old', '{ custom_label_0: winter }')))
    await engine.run('shop')
    engine.pipeline('shop', yaml(summer))
    expect(await killedAt(engine, label)).toBe('SIGKILL')
    // Requests of the ended process need no wait here, because none is in flight.
    await engine.db.execute(`update product_set set late_until = clock_timestamp()`)
    await engine.run('shop')
    await engine.run('shop')
    expect((await listed(engine)).map(({ name }) => name)).toEqual(['By hand', 'Summer'])
    expect((await listed(engine))[0]?.id).toBe(unmanaged)
    expect(await engine.db.query(`select name, state from product_set`)).toEqual([{ name: 'Summer', state: 'kept' }])
  },
)

test('a set that was deleted or renamed at the service is corrected; one for a brand with over 50 products is not changed', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer, acme))
  await engine.run('shop')
  const [first, second] = await listed(engine)
  await engine.sandbox.call('DELETE', `${sets}/${first?.id}`)
  await engine.sandbox.call('PUT', `${sets}/${second?.id}`, { json: { name: 'Renamed' } })
  expect(await engine.run('shop')).toMatchObject({
    status: 'succeeded',
    productSets: [
      { name: 'Summer', action: 'create' },
      { name: 'Acme', action: 'update' },
    ],
  })
  expect((await listed(engine)).map(({ name }) => name)).toEqual(['Acme', 'Summer'])
  engine.write('feed.csv', feed([...rows, ...Array.from({ length: 50 }, (_, i) => [`C${i}`, 'Acme', ''] as const)]))
  const plan = await engine.plan('shop')
  expect(plan.productSets).toMatchObject([{ action: 'unchanged' }, { action: 'update', outcome: 'planned', code: 'PRODUCT_SET_TOO_LARGE' }])
  const large = await engine.apply(plan.planId)
  expect(large).toMatchObject({
    status: 'partial',
    productSets: [{ action: 'unchanged' }, { action: 'update', outcome: 'refused', code: 'PRODUCT_SET_TOO_LARGE' }],
  })
  expect((await listed(engine))[0]?.product_ids).toEqual(['A1', 'A2'])
})

test('products and other sets are synced although the service lists no sets and refuses one', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer, acme))
  const body = { errors: [{ code: 'NOT_FOUND', message: 'no such page' }] }
  await control.fault({ method: 'GET', path: sets }, { kind: 'status', status: 404, body }, 'always')
  await control.fault(
    { method: 'POST', path: sets },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'name' }] } },
  )
  const report = await engine.run('shop')
  expect(report).toMatchObject({
    status: 'partial',
    counts: { confirmed: 3 },
    productSets: [
      { name: 'Summer', outcome: 'refused', code: 'INVALID_PARAMETER' },
      { name: 'Acme', outcome: 'confirmed' },
    ],
  })
  const mark = await engine.mark()
  expect((await engine.run('shop')).status).toBe('succeeded')
  expect(await setWrites(engine, mark)).toHaveLength(1)
  await control.clearFaults()
  expect((await listed(engine)).map(({ name }) => name)).toEqual(['Acme', 'Summer'])
})

/** The command in a process of its own, killed at the label. */
function killedAt(engine: EngineUnderTest, label: string): Promise<string | number | null> {
  const main = join(fileURLToPath(new URL('../../..', import.meta.url)), 'src/cli/main.ts')
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [main, 'run', 'shop', '--json'], {
    cwd: engine.folder,
    env: { PATH, HOME, ...engine.env, CRASH_AT: label },
    stdio: 'ignore',
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => resolve(signal ?? code))
  })
}

test.for(['managed', 'unmanaged'])('a create whose answer has the id of an earlier %s set is unresolved', async (owner) => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', feed(rows))
  engine.pipeline('shop', yaml(summer))
  const unmanaged = await made(engine, 'Theirs')
  await engine.run('shop')
  const [managed] = (await listed(engine)).filter(({ name }) => name === 'Summer')
  engine.pipeline('shop', yaml(summer, acme))
  const id = owner === 'managed' ? managed?.id : unmanaged
  await engine.sandbox.control.fault({ method: 'POST', path: sets }, { kind: 'status', status: 200, body: { data: { id } } })
  expect((await engine.run('shop')).productSets).toMatchObject([
    { name: 'Summer', outcome: 'confirmed' },
    { name: 'Acme', action: 'create', outcome: 'unresolved', code: 'PRODUCT_SET_UNRESOLVED' },
  ])
  engine.pipeline('shop', yaml())
  await engine.run('shop')
  expect(await listed(engine)).toMatchObject([{ id: unmanaged }])
})
