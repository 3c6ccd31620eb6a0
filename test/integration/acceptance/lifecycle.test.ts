/** Memberships and products over their life: renewal, suppression, consent, invalid rows, missing rows. */
import { describe, expect, test } from 'vitest'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { chance, crm, customer, customers, customersYaml, identifiersOf } from './customers.ts'
import { goodProduct, item, products, rss, expectedProduct } from './products.ts'
import { everyKey } from '../../support/everyKey.ts'

const people = (names: readonly string[], more = '') =>
  `customer_id,email,ok${more === '' ? '' : ',more'}\n${names.map((name) => `${name.split(':')[0]},${name.split(':')[0]}@example.com,${name.split(':')[1] ?? 'yes'}`).join('\n')}\n`
const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: customer_id, email: email }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 1000 }
`
const listYaml = `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["resubscribed"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`
const mails = (...names: string[]) => audienceDigest(names.map((name) => email(`${name}@example.com`)))

/** Moves all confirmations back by that time. */
async function age(engine: EngineUnderTest, interval: string, seconds: number): Promise<void> {
  await engine.db.execute(
    `update sluice.remote set expires_at = expires_at - interval '${interval}', synced_at = synced_at - interval '${interval}'`,
  )
  await engine.db.execute(`update sluice.batch set expires_at = expires_at - interval '${interval}' where status = 'settled'`)
  await engine.sandbox.control.advance(seconds)
}

const day = 86_400

test('memberships are renewed before they expire, spread over days; expired ones are sent again', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = customers(400, 61)
  engine.pipeline('customers', customersYaml)
  engine.write('crm.csv', crm(rows))
  await engine.run('customers')
  await age(engine, '300 days', 0)
  expect((await engine.run('customers')).counts).toMatchObject({ renewals: 0, requests: 0 })
  // 13 months are at least 395 days. From 45 days before the end some are renewed each day, and all by 30 days before it.
  const renewed: number[] = []
  for (let i = 0; i < 8; i++) {
    await age(engine, i === 0 ? '49 days' : '3 days', 0)
    const report = await engine.run('customers')
    expect([i, report.status, report.error]).toEqual([i, 'succeeded', undefined])
    expect(report.counts).toMatchObject({ creates: 0, updates: 0, deletes: 0 })
    expect(imbalance(report.counts)).toEqual([])
    renewed.push(report.counts.renewals)
  }
  expect(renewed.reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(rows.length)
  expect(renewed.filter((n) => n > 0).length).toBeGreaterThanOrEqual(4)
  expect(Math.max(...renewed)).toBeLessThan(rows.length / 2)

  // After fourteen months without a run all memberships have ended, and all are sent again.
  await age(engine, '430 days', 430 * day)
  expect((await control.audience()).members).toBe(0)
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
  // The clock of the sandbox is ahead of Sluice, so the test only checks that all were sent.
  const [open] = await engine.db.query<{ n: string }>(`select count(*) as n from ${everyKey} m where expires_at < clock_timestamp()`)
  expect(Number(open?.n)).toBe(0)
})

describe.for(['user', 'identifier'])('with a delete that reaches the %s', (reach) => {
  test.for([1, 40])('shared and changed identifiers are synced, %i users per operation', async (packed) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    await control.switches({ delete_reach: reach })
    engine.pipeline(
      'customers',
      `${customersYaml.replace('1nmth }', `1nmth, users_per_operation: ${packed} }`)}guards: { max_delete_count: 1000 }\n`,
    )
    // Families share addresses, so that a delete may affect identifiers of other rows.
    let rows = customers(80, 62).map((row, i) =>
      i % 4 === 0
        ? row
        : {
            ...row,
            cells: [row.cells[0], `family.${i % 7}@example.org`, '', 'US', ''] as const,
            identifiers: [row.identifiers[0] ?? email(''), email(`family.${i % 7}@example.org`)],
          },
    )
    for (let wave = 0; wave < 5; wave++) {
      engine.write('crm.csv', crm(rows))
      const report = await engine.run('customers')
      expect([wave, report.status]).toEqual([wave, 'succeeded'])
      expect(imbalance(report.counts)).toEqual([])
      expect([wave, (await control.audience()).digest]).toEqual([wave, audienceDigest(identifiersOf(rows))])
      rows = rows.flatMap((row, i) =>
        i % 11 === wave ? [] : i % 7 === wave ? [{ ...customer(1_000 * (wave + 1) + i, chance(i)), key: row.key }] : [row],
      )
    }
    expect(await control.violations()).toEqual([])
  })
})

test('a person on the do-not-reach list is deleted from the audience, and added again after their removal from the list', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.pipeline('optouts', listYaml)
  engine.write('people.csv', people(['ann', 'ben', 'cat']))
  await engine.run('people')
  engine.write('optouts.csv', 'email,status\n BEN@example.com ,out\n')
  expect((await engine.run('optouts')).status).toBe('succeeded')
  expect((await control.audience('2dnr')).digest).toBe(mails('ben'))

  // The file is the same as before, but there are pending changes.
  const report = await engine.run('people')
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, suppressed: 1, valid: 2, deletes: 1 } })
  expect(imbalance(report.counts)).toEqual([])
  expect((await control.audience()).digest).toBe(mails('ann', 'cat'))
  // Another source has him too, and he is still not sent.
  engine.write('people.csv', people(['ben', 'ann', 'cat', 'dan']))
  expect(await engine.run('people')).toMatchObject({ counts: { suppressed: 1, creates: 1, deletes: 0 } })
  expect((await control.audience()).digest).toBe(mails('ann', 'cat', 'dan'))

  // A missing row does not remove him from the list; `remove` does.
  engine.write('optouts.csv', 'email,status\neve@example.com,out\n')
  expect(await engine.run('optouts')).toMatchObject({ counts: { deletes: 0 } })
  expect((await control.audience('2dnr')).digest).toBe(mails('ben', 'eve'))
  engine.write('optouts.csv', 'email,status\nben@example.com,resubscribed\neve@example.com,out\n')
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect((await control.audience('2dnr')).digest).toBe(mails('eve'))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 0, creates: 1 } })
  expect((await control.audience()).digest).toBe(mails('ann', 'ben', 'cat', 'dan'))
  expect(await control.violations()).toEqual([])
})

test('a person on either of two lists of an account is not sent, also after the newer list was created again', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.pipeline('optouts', listYaml)
  engine.write('people.csv', people(['ann', 'ben', 'cat']))
  engine.write('optouts.csv', 'email,status\nben@example.com,out\n')
  await engine.run('optouts')
  await engine.run('people')
  expect((await control.audience()).digest).toBe(mails('ann', 'cat'))
  // The list was deleted at the service and created again with another id, without ben.
  engine.pipeline('optouts', listYaml.replace('2dnr', '3dnr').replace('optouts.csv', 'anew.csv'))
  engine.write('anew.csv', 'email,status\ncat@example.com,out\n')
  // Its run is refused, because the sandbox has no such list, but its content applies immediately.
  await engine.run('optouts')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 2, deletes: 1, pending: 0 } })
  expect((await control.audience()).digest).toBe(mails('ann'))
  expect(await engine.run('people')).toMatchObject({ counts: { requests: 0 } })
  engine.write('people.csv', people(['ann', 'ben', 'cat', 'dan']))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1, pending: 0 } })
  expect((await control.audience()).digest).toBe(mails('ann', 'dan'))
})

test('people without consent are not sent, and revoked consent is a delete', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', people(['ann', 'ben:no', 'cat:YES', 'dan:']))
  expect(await engine.run('people')).toMatchObject({ counts: { read: 4, suppressed: 2, valid: 2, creates: 2 } })
  expect((await control.audience()).digest).toBe(mails('ann', 'cat'))
  engine.write('people.csv', people(['ann:no', 'ben', 'cat']))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, deletes: 1, creates: 1 } })
  expect((await control.audience()).digest).toBe(mails('ben', 'cat'))
})

test('a row that became invalid keeps its synced record', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', people(['ann', 'ben', 'cat']))
  await engine.run('people')
  engine.write('people.csv', people(['ann', 'ben', 'cat']).replace('ben@example.com', 'ben at home'))
  expect(await engine.run('people')).toMatchObject({
    status: 'succeeded',
    counts: { read: 3, rejected: 1, valid: 2, stale: 1, deletes: 0 },
  })
  expect((await control.audience()).digest).toBe(mails('ann', 'ben', 'cat'))
  engine.write('people.csv', people(['ann', 'cat']))
  expect(await engine.run('people')).toMatchObject({ counts: { stale: 0, deletes: 1 } })
  expect((await control.audience()).digest).toBe(mails('ann', 'cat'))
})

test.for(['out-of-stock', 'keep'] as const)('missing: %s', async (missing) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(12)
  engine.pipeline('shop', catalogYaml('feed.xml', `, missing: ${missing}`))
  const feed = (some: typeof rows) => engine.write('feed.xml', rss(some.map((row) => item(row))))
  feed(rows)
  await engine.run('shop')
  feed(rows.slice(3))
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'succeeded', counts: { deletes: 0, updates: missing === 'keep' ? 0 : 2 } })
  expect(imbalance(report.counts)).toEqual([])
  const gone = (row: (typeof rows)[number]) =>
    missing === 'keep' ? expectedProduct(row) : { ...expectedProduct(row), availability: 'out of stock' }
  expect((await control.catalog()).digest).toBe(catalogDigest([...rows.slice(0, 3).map(gone), ...rows.slice(3).map(expectedProduct)]))
  expect((await engine.run('shop')).counts.requests).toBe(0)
  // The audience has its first content again.
  feed(rows)
  expect((await engine.run('shop')).status).toBe('succeeded')
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.map(expectedProduct)))
})

test('two sources of a pipeline are one catalog, and a run fails without either of them', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline(
    'shop',
    'source: [{ url: "{folder}/a.xml" }, { url: "{folder}/b.xml" }]\ndestination: { kind: catalog, catalog_id: "4001" }\n',
  )
  const feed = (file: string, some: ReturnType<typeof products>) => engine.write(file, rss(some.map((row) => item(row))))
  feed('a.xml', products(10))
  feed('b.xml', [...products(5, 100), goodProduct(3)])
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { read: 16, duplicates: 1, valid: 15, creates: 15 } })
  feed('b.xml', products(4, 100))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 1, updates: 0 } })
  expect((await control.catalog()).digest).toBe(catalogDigest([...products(10), ...products(4, 100)].map(expectedProduct)))
})
