/** `explain` for changed identifiers and products. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { loadPlanChanges } from '../../../src/sync/reports/planChanges.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss } from '../acceptance/products.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const csv = (...rows: string[]) => `id,mail\n${rows.map((row) => `${row}\n`).join('')}`

/** Returns the digest of the key of a row of people.csv, by which the rows of a plan are ordered. */
const rowKey = (n: number) => createHash('sha256').update(`k${n}`).digest('hex').slice(0, 32)

async function explain(engine: EngineUnderTest, name: string, key: string) {
  return explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), name), key)
}

test('explain reports a replaced email, and one whose row is missing, as deleted by its run', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,old@example.com', 'k2,gone@example.com'))
  await engine.run('people')
  const live = await explain(engine, 'people', 'old@example.com')
  expect(live.headline).toMatch(/^Live: /)
  expect(live.events.map(({ what }) => what)).toEqual(['read', 'planned', 'sent', 'answered', 'confirmed'])
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,new@example.com'))
  const { runId } = await engine.run('people')
  const replaced = await explain(engine, 'people', 'old@example.com')
  expect(replaced.headline).toBe(`Not live: deleted at the service: its row, now line 3 of the source, has other identifiers (${runId})`)
  expect(replaced.events).toContainEqual(expect.objectContaining({ what: 'planned', change: 'delete', outcome: 'confirmed', runId }))
  expect(replaced.events).toContainEqual(expect.objectContaining({ what: 'answered', httpStatus: 200, outcome: 'confirmed', runId }))
  const gone = await explain(engine, 'people', ' GONE@example.com ')
  expect(gone.headline).toBe(`Not live: deleted at the service: no row that may be sent has this identifier any more (${runId})`)
  // Its replacement, an unknown value, and the key of the customer get the same answers as before.
  expect((await explain(engine, 'people', 'new@example.com')).headline).toMatch(/^Live: /)
  expect((await explain(engine, 'people', 'k1')).headline).toMatch(/^Live: /)
  expect((await explain(engine, 'people', 'never@example.com')).headline).toMatch(/^Not live: unknown key/)
  for (const { headline, events } of [replaced, gone]) expect(JSON.stringify([headline, events])).not.toMatch(/@example/)
})

test('explain finds a phone number of a do-not-reach list that may be national or international, as it is in the file', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'list',
    `source: { url: "{folder}/list.csv" }
map: { phone_number: { column: phone, default_country: DE } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  engine.write('list.csv', 'phone\n491712345678\n')
  await engine.run('list')
  for (const text of ['491712345678', '+491712345678', '+49491712345678'])
    expect((await explain(engine, 'list', text)).headline).toMatch(/^Live: /)
})

test.for(['shop', 'people'] as const)('explain reports that a guard withholds the delete of a missing row (%s)', async (name) => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  const write = (some: readonly number[]) => {
    engine.write('people.csv', csv(...some.map((n) => `k${n},m${n}@example.com`)))
    engine.write('feed.xml', rss(some.flatMap((n) => products(1, n)).map((row) => item(row))))
  }
  const key = (n: number) => (name === 'people' ? `m${n}@example.com` : (products(1, n)[0]?.id ?? ''))
  const headline = async (n: number) => (await explain(engine, name, key(n))).headline
  write(numbers)
  await engine.run(name)
  write(numbers.slice(20))
  const { runId } = await engine.run(name)
  expect(await headline(0)).toBe(`Live: its row is missing from the source, and ${runId} withheld its delete (GUARD_DELETES)`)
  expect(await headline(30)).toMatch(/^Live: confirmed at /)
  expect(await explain(engine, name, 'never@example.com')).toMatchObject({
    headline: expect.stringMatching(/^Not live: unknown key/),
    events: [],
  })
  const story = await explain(engine, name, key(0))
  expect(story.events).toContainEqual(expect.objectContaining({ what: 'withheld', runId, code: 'GUARD_DELETES' }))
  // A later run of the same source withholds again.
  await engine.run(name)
  expect(await headline(0)).toMatch(/withheld its delete/)
  await engine.run(name, { approveDeletes: 20 })
  expect(await headline(0)).toMatch(/^Not live: /)
  expect(await headline(30)).toMatch(/^Live: confirmed at /)
})

test('with missing: out-of-stock, the guard and explain do not call the withheld change a delete', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml', ', missing: out-of-stock'))
  const rows = products(60)
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(rows.slice(20).map((row) => item(row))))
  const { runId, guards, counts } = await engine.run('shop')
  // One of the missing products is out of stock already.
  const out = rows.slice(0, 20).filter(({ availability }) => availability === 'out of stock').length
  expect(guards).toMatchObject([{ code: 'GUARD_DELETES', withheld: 20 - out, outOfStock: 20 - out }])
  expect(counts).toMatchObject({ withheld: 20 - out })
  expect((await explain(engine, 'shop', rows[1]?.id ?? '')).headline).toBe(
    `Live: its row is missing from the source, and ${runId} withheld its update to out of stock (GUARD_DELETES)`,
  )
})

test('explain lists the attempts of every batch in which a record was sent while its batch was split', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  const numbers = Array.from({ length: 8 }, (_, n) => n)
  engine.write('people.csv', csv(...numbers.map((n) => `k${n},m${n}@example.com`)))
  const digests = numbers.map((n) => createHash('sha256').update(`m${n}@example.com`).digest('hex'))
  // Rows are sent in the order of the digests of their keys.
  const order = numbers.toSorted((a, b) => (rowKey(a) < rowKey(b) ? -1 : 1))
  const [first = 0] = order
  await engine.sandbox.control.fault(
    { contains_key: digests[first] ?? '' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'bad' }] } },
    'always',
  )
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 7, refused: 1 })
  const outcomes = async (place: number) => {
    const { events } = await explain(engine, 'people', `m${order[place]}@example.com`)
    return events.filter(({ what }) => what === 'answered').map(({ outcome }) => outcome)
  }
  // Batches of 8, 4, 2 and 1 users are refused in turn; then the other users are sent together.
  expect(await outcomes(0)).toEqual(['refused', 'refused', 'refused', 'refused'])
  expect(await outcomes(1)).toEqual(['refused', 'refused', 'refused', 'confirmed'])
  for (const place of [2, 3]) expect(await outcomes(place)).toEqual(['refused', 'refused', 'confirmed'])
  for (const place of [4, 5, 6, 7]) expect(await outcomes(place)).toEqual(['refused', 'confirmed'])
})

test('explain lists the events of a confirmed product in their order', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.run('shop')
  const id = products(1)[0]?.id ?? ''
  expect((await explain(engine, 'shop', id)).events.map(({ what }) => what)).toEqual(['read', 'planned', 'sent', 'answered', 'confirmed'])
})

test('explain names the apply as the run that sent and deleted a planned product', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { min_rows: 0 }\n`)
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  const { planId, runId: planned } = await engine.plan('shop')
  const { runId: applied } = await engine.apply(planId)
  const story = () => explain(engine, 'shop', products(1)[0]?.id ?? '')
  expect((await story()).events.flatMap(({ what, runId }) => (what === 'confirmed' ? [] : [[what, runId]]))).toEqual([
    ['read', planned],
    ['planned', planned],
    ['sent', applied],
    ['answered', applied],
  ])
  engine.write(
    'feed.xml',
    rss(
      products(2)
        .slice(1)
        .map((row) => item(row)),
    ),
  )
  const { runId } = await engine.apply((await engine.plan('shop')).planId)
  expect((await story()).headline).toContain(`(${runId})`)
})

test('explain reports that a person is on a do-not-reach list, sent before or never, unless the audience has no suppression', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.pipeline(
    'out',
    'source: { url: "{folder}/out.csv" }\nmap: { email: mail }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,was@example.com'))
  engine.write('out.csv', 'mail\nwas@example.com\nnever@example.com\n')
  await engine.run('people')
  await engine.run('out')
  const why = 'on a do-not-reach list of the account: it is not sent'
  expect((await explain(engine, 'people', 'was@example.com')).headline).toBe(`Live: until the next run deletes it (${why})`)
  await engine.run('people')
  for (const email of ['was@example.com', 'never@example.com'])
    expect((await explain(engine, 'people', email)).headline).toBe(`Not live: ${why}`)
  expect((await explain(engine, 'people', 'keep@example.com')).headline).toMatch(/^Live: /)
  expect((await explain(engine, 'out', 'never@example.com')).headline).toMatch(/^Live: /)
  engine.pipeline('people', peopleYaml.replace('1nmth', '1nmth, suppress: none'))
  expect((await explain(engine, 'people', 'never@example.com')).headline).toMatch(/^Not live: unknown key/)
})

test('explain reports a deleted email on a do-not-reach list as not live, although its customer is live with another', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.pipeline(
    'optouts',
    'source: { url: "{folder}/optouts.csv" }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\nmap: { email: mail }\n',
  )
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,old@example.com'))
  await engine.run('people')
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,new@example.com'))
  await engine.run('people')
  engine.write('optouts.csv', 'mail\nold@example.com\n')
  await engine.run('optouts')
  await engine.run('people')
  expect((await explain(engine, 'people', 'old@example.com')).headline).toBe(
    'Not live: on a do-not-reach list of the account: it is not sent',
  )
  expect((await explain(engine, 'people', 'k1')).headline).toMatch(/^Live: confirmed/)
})

test('explain lists the possible reasons for a key that no stored row has, and how to find the one', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', `${peopleYaml}consent: { column: ok, values: ["yes"] }\nonly: { ok: ["yes", "no"] }\n`)
  engine.pipeline(
    'out',
    'source: { url: "{folder}/out.csv" }\nmap: { email: mail }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('people.csv', 'id,mail,ok\nk0,keep@example.com,yes\nk1,no@example.com,no\nk2,listed@example.com,yes\n')
  engine.write('out.csv', 'mail\nlisted@example.com\n')
  await engine.run('out')
  await engine.run('people')
  const reasons = 'No row has it, or its row opts out or is on a do-not-reach list, or left out by only:'
  for (const key of ['no@example.com', 'k1', 'k2', 'k3'])
    expect(await explain(engine, 'people', key)).toMatchObject({
      headline: `Not live: unknown key, and nothing was sent for it. ${reasons}`,
      hint: 'look for the row in the source, and compare its consent: sluice check people; sluice explain out EMAIL',
    })
  expect(await explain(engine, 'people', 'keep@example.com')).not.toHaveProperty('hint')
  expect((await explain(engine, 'out', 'k1')).headline).toBe(
    'Not live: unknown key. No row that may be sent has it, and nothing was sent for it',
  )
})

test('explain finds a phone number without country code by the default country of the pipeline', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml.replace('email: mail', 'phone_number: { column: phone, default_country: US }'))
  engine.pipeline(
    'out',
    'source: { url: "{folder}/out.csv" }\nmap: { phone_number: phone }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('people.csv', 'id,phone\nk0,(212) 555-0100\nk1,(212) 555-0101\n')
  engine.write('out.csv', 'phone\n+1-212-555-0102\n')
  await engine.run('people')
  await engine.run('out')
  expect((await explain(engine, 'people', '(212) 555-0100')).headline).toMatch(/^Live: /)
  expect((await explain(engine, 'people', '(212) 555-0102')).headline).toBe(
    'Not live: on a do-not-reach list of the account: it is not sent',
  )
})

test('explain reports a refused delete of a product until the delete is confirmed', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(12).map((row) => item(row))))
  await engine.run('shop')
  const [taken] = (await engine.sandbox.control.products()).filter(({ id }) => id === 'SKU-1')
  await engine.sandbox.call('DELETE', '/12/product_catalogs/4001/products', { json: { product_keys: [taken.product_key] } })
  engine.write('feed.xml', rss([...products(1), ...products(10, 2)].map((row) => item(row))))
  const headlines: string[] = []
  for (let i = 0; i < 3; i++) {
    await engine.run('shop')
    headlines.push((await explain(engine, 'shop', 'SKU-1')).headline)
  }
  expect(headlines).toEqual([
    expect.stringMatching(/^Live: .*refused/),
    expect.stringMatching(/^Live: .*waits to be deleted/),
    expect.stringMatching(/^Not live: /),
  ])
})

test('explain reports a product whose update was refused as live with its previous version', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(3).map((row) => item(row))))
  await engine.run('shop')
  await engine.sandbox.control.fault(
    { path: '/12/product_catalogs/' },
    { kind: 'product_error', ids: ['SKU-1', 'SKU-9'], message: 'no' },
    'always',
  )
  engine.write('feed.xml', rss([...products(3), ...products(1, 9)].map((row) => item({ ...row, title: 'Changed' }))))
  expect((await engine.run('shop')).counts).toMatchObject({ confirmed: 2, refused: 2 })
  expect((await explain(engine, 'shop', 'SKU-1')).headline).toMatch(
    /^Live: previous version, as product_key \d+ was refused by the service: no/,
  )
  expect((await explain(engine, 'shop', 'SKU-9')).headline).toMatch(/^Not live: the product was refused by the service: no/)
})

test('explain reports the deletion of a product, not an older reject, until the product is back', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const feed = (second: readonly string[]) => engine.write('feed.xml', rss([...products(1).map((row) => item(row)), ...second]))
  const [other] = products(1, 1)
  if (other === undefined) throw new Error('a second product')
  const good = item(other)
  const bad = item({ ...other, price: 'much' })
  const headline = async () => (await explain(engine, 'shop', other.id)).headline
  for (const second of [[good], [bad], [good]]) {
    feed(second)
    await engine.run('shop')
  }
  feed([])
  const { runId } = await engine.run('shop')
  expect(await headline()).toBe(`Not live: deleted at the service: its row was no longer in the source (${runId})`)
  feed([bad])
  await engine.run('shop')
  expect(await headline()).toMatch(/^Not live: line \d+ rejected: /)
  feed([good])
  await engine.run('shop')
  expect(await headline()).toMatch(/^Live: /)
})

test('explain and the plan report that a filter may have left out the row of a deleted product', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `except: { "g:title": Other }\n${catalogYaml('feed.xml')}`)
  engine.write('feed.xml', rss(products(12).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(12).map((row, i) => item(i === 0 ? { ...row, title: 'Other' } : row))))
  const { counts, runId, planId = '' } = await engine.run('shop')
  expect(counts).toMatchObject({ filtered: 1, deletes: 1, confirmed: 1 })
  expect(await Array.fromAsync(loadPlanChanges(engine.db, planId))).toMatchObject([
    { reason: 'its row is not in the source, or left out by only: or except:' },
  ])
  const why = 'its row was no longer in the source, or left out by except:'
  expect((await explain(engine, 'shop', 'SKU-0')).headline).toBe(`Not live: deleted at the service: ${why} (${runId})`)
})

test('explain --json has the full digests of the identifiers, and the row hash in its own key', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml.replace('email: mail', 'email: mail, partner_user_id: loyalty'))
  engine.write('people.csv', 'id,mail,loyalty\nk1,jane@example.com,L-77\n')
  await engine.run('people')
  const digest = createHash('sha256').update('jane@example.com').digest('hex')
  const story = await explain(engine, 'people', 'Jane@Example.com')
  expect(story).toMatchObject({ live: true, keys: [expect.stringMatching(/^[0-9a-f]{32}$/)] })
  expect(story.identifiers).toContainEqual({ type: 'email', digest })
  const events = (what: string) => story.events.filter((event) => event.what === what)
  expect(events('confirmed').map((event) => event.digest)).toEqual([digest, undefined])
  for (const what of ['read', 'planned'])
    expect(events(what)).toEqual([expect.objectContaining({ identifiers: [{ type: 'email', digest }, { type: 'partner_user_id' }] })])
  expect(events('read')).toEqual([expect.objectContaining({ contentHash: expect.stringMatching(/^[0-9a-f]{32}$/) })])
  for (const event of story.events) expect(event.digest ?? digest).toBe(digest)
  expect(JSON.stringify(story)).not.toMatch(/jane|L-77/i)
})

test('explain reports no refused delete of a person whose update was refused and whose delete is only planned', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k0,keep@example.com', 'k1,was@example.com'))
  await engine.run('people')
  await engine.sandbox.control.fault(
    { method: 'POST', path: '/12/accounts' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    'always',
  )
  expect((await engine.run('people', { full: true })).counts).toMatchObject({ refused: 2 })
  expect((await explain(engine, 'people', 'was@example.com')).headline).toMatch(/^Live: previous version, as .*refused/)
  engine.write('people.csv', csv('k0,keep@example.com'))
  await engine.plan('people')
  expect((await explain(engine, 'people', 'was@example.com')).headline).toMatch(/^Live: .*waits to be deleted$/)
})

test('explain does not report a person as live whose only update may have been applied, and who waits to be deleted', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k1,ann@example.com'))
  const { control } = engine.sandbox
  const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await control.fault({ path: '/custom_audiences/', nth: 1 }, { kind: 'commit_then_reset' })
  await control.fault({ path: '/custom_audiences/', nth: 2 }, { kind: 'status', status: 400, body })
  const { runId } = await engine.run('people')
  engine.write('people.csv', csv('k2,bob@example.com'))
  await engine.plan('people')
  const { headline } = await explain(engine, 'people', 'ann@example.com')
  expect(headline).toMatch(/^Not live: not certain, .* may have been applied, because the answer to an attempt was lost/)
  expect(headline).toContain(`(${runId}), and it waits to be deleted`)
})

test('explain reports no confirmation of a person whose only update may have been applied', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k1,ann@example.com'))
  await engine.sandbox.control.fault({ path: '/custom_audiences/', nth: 1 }, { kind: 'commit_then_reset' })
  await engine.sandbox.control.fault(
    { path: '/custom_audiences/', nth: 2 },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )
  expect((await engine.run('people')).counts).toMatchObject({ refused: 1, confirmed: 0 })
  const { events, headline } = await explain(engine, 'people', 'k1')
  expect(events.map(({ what }) => what)).not.toContain('confirmed')
  expect(events.find(({ what }) => what === 'invalidated')?.message).toMatch(
    /may have been applied, because the answer to an attempt was lost$/,
  )
  expect(headline).toMatch(/^Not live: not certain, .*refused by the service: no/)
})

test('explain lists the attempts of a person before its batch was split', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k1,ann@example.com', 'k2,bob@example.com'))
  await engine.sandbox.control.fault(
    { path: '/custom_audiences/', nth: 1 },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { requests: 3, confirmed: 2 } })
  const attempts = (await explain(engine, 'people', 'k1')).events.filter(({ what }) => what === 'answered')
  expect(attempts.map(({ httpStatus }) => httpStatus)).toEqual([400, 200])
})

test('explain names the field of a rejected row once', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(12).map((row, i) => item(i === 0 ? { ...row, price: 'free' } : row))))
  await engine.run('shop')
  const rejected = (await explain(engine, 'shop', 'SKU-0')).events.find(({ what }) => what === 'rejected')
  expect(rejected?.message).toMatch(/^line \d+ rejected: price (?!.*price:)/)
})

test('explain reports the reject of a run that was requested before an earlier run read the row', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(12).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(12).map((row, i) => item(i === 0 ? { ...row, price: 'free' } : row))))
  const { runId } = await engine.run('shop')
  await engine.db.execute(`update run set created_at = created_at - interval '1 hour' where id = $1`, [Number(runId.slice(2))])
  const { headline, events } = await explain(engine, 'shop', 'SKU-0')
  expect(headline).toMatch(/^Live: previous version, as line \d+ rejected: /)
  expect(events.map(({ what }) => what)).toEqual(['read', 'planned', 'sent', 'answered', 'confirmed', 'rejected'])
})

test.for(['shop', 'people'] as const)('explain shows no delete in the future after an attempt that may arrive late (%s)', async (name) => {
  await using engine = await engineUnderTest({ settings: { horizonMs: 600_000 } })
  engine.pipeline('people', peopleYaml)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const write = (first: number) => {
    engine.write('people.csv', csv(...['k0,m0@example.com', 'k1,m1@example.com'].slice(first)))
    engine.write('feed.xml', rss(products(12 - first, first).map((row) => item(row))))
  }
  write(0)
  await engine.run(name)
  write(1)
  await engine.sandbox.control.fault({ path: '/12/', method: name === 'shop' ? 'DELETE' : 'POST', nth: 1 }, { kind: 'commit_then_reset' })
  expect((await engine.run(name)).counts).toMatchObject({ deletes: 1, confirmed: 1 })
  const { events } = await explain(engine, name, name === 'shop' ? 'SKU-0' : 'm0@example.com')
  const [now] = await engine.db.query<{ at: Date }>('select statement_timestamp() as at')
  expect(events.at(-1)?.what).toBe('deleted')
  expect(Date.parse(events.at(-1)?.at ?? '')).toBeLessThanOrEqual(now?.at.getTime() ?? 0)
})

test.for(['the file as before', 'another file'] as const)(
  'explain reports no reject of a run that planned nothing once a later run read the row (%s)',
  async (corrected) => {
    await using engine = await engineUnderTest()
    engine.pipeline('shop', catalogYaml('feed.xml'))
    const [one, two, three] = products(3).map((product) => item({ ...product, price: product.sent }))
    const write = (...items: (string | undefined)[]) => engine.write('feed.xml', rss(items.filter((text) => text !== undefined)))
    write(one, two)
    await engine.run('shop')
    write(one?.replace(' EUR', ''), two?.replace(' EUR', ''))
    const { runId } = await engine.run('shop')
    expect(await explain(engine, 'shop', 'SKU-1')).toMatchObject({
      headline: expect.stringMatching(new RegExp(`^Live: previous version, as line \\d+ rejected: .*\\(${runId}\\)$`)),
    })
    write(one, two, corrected === 'another file' ? three : undefined)
    expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { rejected: 0 } })
    const { headline, isConfirmed, events } = await explain(engine, 'shop', 'SKU-1')
    expect([headline, isConfirmed]).toEqual([expect.stringMatching(/^Live: confirmed at /), true])
    // The history still has the reject.
    expect(events).toContainEqual(expect.objectContaining({ what: 'rejected', runId }))
  },
)

test('explain finds a product by its id with surrounding space or in another Unicode form', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const [product] = products(1)
  if (product === undefined) throw new Error('a product')
  engine.write('feed.xml', rss([item({ ...product, id: 'CAF\u00c9-1', price: product.sent })]))
  await engine.run('shop')
  for (const typed of ['CAF\u00c9-1', ' CAF\u00c9-1\u00a0', 'CAFE\u0301-1'])
    expect(await explain(engine, 'shop', typed)).toMatchObject({ live: true, keys: ['CAF\u00c9-1'] })
})

test('explain shows an operation that was sent and is unresolved as ambiguous', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('k1,ann@example.com'))
  const { control } = engine.sandbox
  const body = { errors: [{ code: 'FORBIDDEN', message: 'no' }] }
  await control.fault({ path: '/custom_audiences/', nth: 1 }, { kind: 'commit_then_reset' })
  await control.fault({ path: '/custom_audiences/', nth: 2 }, { kind: 'status', status: 403, body })
  expect((await engine.run('people')).counts).toMatchObject({ ambiguous: 1, pending: 0 })
  const planned = (await explain(engine, 'people', 'k1')).events.find(({ what }) => what === 'planned')
  expect(planned).toMatchObject({ outcome: 'ambiguous', message: expect.stringMatching(/, ambiguous$/) })
})

test.for(['shop', 'people'] as const)('explain shows the time of a refusal (%s)', async (name) => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('people.csv', csv('k1,ann@example.com'))
  engine.write('feed.xml', rss(products(1).map((row) => item(row))))
  const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await engine.sandbox.control.fault(
    { path: '/12/', method: name === 'shop' ? 'PUT' : 'POST' },
    name === 'shop' ? { kind: 'product_error', ids: ['SKU-0'], message: 'no' } : { kind: 'status', status: 400, body },
    'always',
  )
  const report = await engine.run(name)
  expect(report.counts).toMatchObject({ refused: 1 })
  const { events } = await explain(engine, name, name === 'shop' ? 'SKU-0' : 'k1')
  expect(events.map(({ what }) => what)).toEqual(['read', 'planned', 'sent', 'answered', 'refused', 'desired'])
  expect(events.find(({ what }) => what === 'refused')?.at.localeCompare(report.finishedAt)).toBeLessThan(0)
})
