/** Messy exports and the audience that they result in; only changes are sent afterwards. */
import { expect, test } from 'vitest'
import { audienceDigest, type Identifier } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { imbalance } from '../../support/engine.ts'
import { chance, crm, customer, customers, customersYaml, identifiersOf } from './customers.ts'

test(
  '5,000 messy customers: the audience has the identifiers of the file, an unchanged file sends nothing, a changed one its changes',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    let rows = customers(5_000, 11)
    engine.pipeline('customers', customersYaml)
    engine.write('crm.csv', crm(rows))

    const first = await engine.run('customers')
    expect(first).toMatchObject({
      status: 'succeeded',
      counts: { read: 5_000, rejected: 0, duplicates: 0, valid: 5_000, unchanged: 0, updates: 0, deletes: 0 },
    })
    expect(imbalance(first.counts)).toEqual([])
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(rows)))
    expect((await control.audience()).identifiers).toMatchObject({
      email: expect.any(Number) as number,
      handle: 0,
      device_id: 0,
      service_id: 0,
    })

    const before = await engine.mark()
    const second = await engine.run('customers')
    expect(second).toMatchObject({
      status: 'succeeded',
      counts: { unchanged: 5_000, requests: 0, creates: 0, updates: 0, deletes: 0, renewals: 0 },
    })
    expect(await engine.writes(before)).toEqual([])

    // 3 % change their address, 2 % are new, 1 % are missing.
    const random = chance(12)
    const renamed = (i: number) => i % 100 < 3
    const gone = (i: number) => i % 100 === 50
    const changed = rows.filter((_, i) => renamed(i))
    const left = rows.filter((_, i) => gone(i))
    const kept = rows.flatMap((row, i) => (gone(i) ? [] : renamed(i) ? [{ ...customer(100_000 + i, random), key: row.key }] : [row]))
    const came = customers(100, 13, 200_000)
    const touched = new Set(
      [
        ...identifiersOf(changed),
        ...identifiersOf(left),
        ...identifiersOf(kept.filter((row) => changed.some(({ key }) => key === row.key))),
        ...identifiersOf(came),
      ].map(text),
    )
    rows = [...kept, ...came]
    engine.write('crm.csv', crm(rows))
    const third = await engine.run('customers')
    expect(third).toMatchObject({ status: 'succeeded', counts: { read: 5_050, valid: 5_050, rejected: 0, withheld: 0 } })
    expect(imbalance(third.counts)).toEqual([])
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(rows)))
    const items = (await engine.writes(before)).reduce((sum, line) => sum + line.items, 0)
    // A change is a delete of the old address and an update of the new one. A shared identifier may move to another record.
    expect(items).toBeGreaterThanOrEqual(300)
    expect(items).toBeLessThanOrEqual(touched.size)
    expect(await control.violations()).toEqual([])
  },
)

test('a changed address is deleted before the new one is sent', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = customers(40, 22)
  engine.pipeline('customers', customersYaml)
  engine.write('crm.csv', crm(rows))
  await engine.run('customers')
  const before = await engine.mark()
  const next = rows.map((row, i) => (i < 5 ? { ...customer(900 + i, chance(i)), key: row.key } : row))
  engine.write('crm.csv', crm(next))
  // The answer of the delete is slow: an update that did not wait for it would arrive first.
  await control.fault({ path: '/12/accounts', nth: 1 }, { kind: 'delay', ms: 200 })
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { creates: 0 } })
  const sent = await engine.writes(before)
  expect(sent).toHaveLength(2)
  const operations = await engine.db.query<{ operation: string; sha: string }>(
    `select operation, encode(body_sha256, 'hex') as sha from sluice.batch`,
  )
  const kinds = sent.map((line) => operations.find((batch) => batch.sha === line.body_sha256)?.operation)
  expect(kinds).toEqual(['delete', 'upsert'])
  const [deleted, updated] = sent.map(({ time }) => Date.parse(time))
  expect((updated ?? 0) - (deleted ?? 0)).toBeGreaterThanOrEqual(200)
  expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(next)))
  expect(await control.violations()).toEqual([])
})

const text = ([type, value]: Identifier) => `${type} ${value}`
