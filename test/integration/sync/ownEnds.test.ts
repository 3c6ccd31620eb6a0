/** Rows with the end of their membership, and identifiers that several such rows share. */
import { expect, test } from 'vitest'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { email } from '../../support/digests.ts'

const yaml = (packed: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2], expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, users_per_operation: ${packed} }
guards: { max_delete_count: 100 }
`
const day = 86_400_000
const inDays = (days: number) => `${new Date(Date.now() + days * day).toISOString().slice(0, 10)}T00:00:00Z`
const soon = inDays(50)
const late = inDays(90)

/** End of the membership of each address at the service. */
async function endsAt(engine: EngineUnderTest, name: string): Promise<string | undefined> {
  const [, digest] = email(`${name}@example.com`)
  const line = (await engine.sandbox.control.identifiers()).split('\n').find((one) => one.includes(digest))
  return line?.split('\t')[2]?.replace('.000Z', 'Z')
}

async function run(engine: EngineUnderTest, ...rows: string[]) {
  engine.write('people.csv', `id,e1,e2,ends\n${rows.map((row) => `${row}\n`).join('')}`)
  return engine.run('people')
}

test.for([1, 5])('a shared address expires with the last row that has it, %i users per operation', { tags: ['long'] }, async (packed) => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml(packed))
  const a = `a,own.a@example.com,shared@example.com,${soon}`
  const b = `b,own.b@example.com,shared@example.com,${late}`
  expect((await run(engine, a, b)).status).toBe('succeeded')
  expect(await endsAt(engine, 'shared')).toBe(late)
  expect(await endsAt(engine, 'own.a')).toBe(soon)
  expect(await endsAt(engine, 'own.b')).toBe(late)
  expect((await run(engine, a, b)).counts).toMatchObject({ unchanged: 2, requests: 0 })

  // The last of them is removed, and the end of the other one stays. The row under which it was sent first makes no difference.
  expect((await run(engine, a)).status).toBe('succeeded')
  expect([await endsAt(engine, 'shared'), await endsAt(engine, 'own.b')]).toEqual([soon, undefined])
  expect((await run(engine, a, b)).status).toBe('succeeded')
  expect(await endsAt(engine, 'shared')).toBe(late)
  expect((await run(engine, b)).status).toBe('succeeded')
  expect([await endsAt(engine, 'shared'), await endsAt(engine, 'own.a')]).toEqual([late, undefined])
  expect((await run(engine, b)).counts).toMatchObject({ unchanged: 1, requests: 0 })
  expect(await engine.sandbox.control.violations()).toEqual([])
})

test('a shared address of a row without an end expires as the pipeline says', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml(1))
  const a = `a,own.a@example.com,shared@example.com,${soon}`
  const b = 'b,shared@example.com,,'
  await run(engine, a, b)
  expect(Date.parse((await endsAt(engine, 'shared')) ?? '')).toBeGreaterThan(Date.now() + 380 * day)
  expect(await endsAt(engine, 'own.a')).toBe(soon)
  // After it is removed, the end of the other one applies.
  expect((await run(engine, a)).status).toBe('succeeded')
  expect(await endsAt(engine, 'shared')).toBe(soon)
  // It returns long before that end: the address is renewed in time, and not deleted.
  expect((await run(engine, a, b)).status).toBe('succeeded')
  for (const table of ['remote', 'record', 'batch'])
    await engine.db.execute(`update sluice.${table} set expires_at = expires_at - interval '30 days'`)
  const later = await run(engine, `a,own.a@example.com,shared@example.com,${inDays(20)}`, b)
  expect(later).toMatchObject({ status: 'succeeded', counts: { renewals: 1 } })
  expect(Date.parse((await endsAt(engine, 'shared')) ?? '')).toBeGreaterThan(Date.now() + 380 * day)
})

test('an unresolved request with one expired membership is resolved for its other memberships', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml(1))
  engine.write('people.csv', `id,e1,e2,ends\na,a@example.com,,${soon}\nb,b@example.com,,\nkeep,keep@example.com,,\n`)
  await interruptedRun(engine, 'people', 'die')
  for (const table of ['batch', 'entry']) {
    const first = `where expires_at = (select min(expires_at) from sluice.${table})`
    await engine.db.execute(`update sluice.${table} set expires_at = clock_timestamp() - interval '1 day' ${first}`)
  }
  // The other two are no longer desired, but may still be at the service.
  expect(await run(engine, 'keep,keep@example.com,,')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect([await endsAt(engine, 'b'), (await endsAt(engine, 'keep')) !== undefined]).toEqual([undefined, true])
})

test.for(['csv', 'jsonl'])('a source without the column of the ends withholds the run, and prolongs no membership: %s', async (format) => {
  await using engine = await engineUnderTest()
  const settings = (more: string) => yaml(1).replace('people.csv', `people.${format}`).replace('max_delete_count: 100', more)
  const write = (column: string, ends: (i: number) => string) => {
    const rows = Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, e1: `p${i}@example.com`, e2: '', [column]: ends(i) }))
    const lines =
      format === 'csv'
        ? [`id,e1,e2,${column}`, ...rows.map((row) => Object.values(row).join(','))]
        : rows.map((row) => JSON.stringify(row, (_, value: unknown) => (value === '' ? undefined : value)))
    engine.write(`people.${format}`, `${lines.join('\n')}\n`)
    return engine.run('people')
  }
  engine.pipeline('people', settings('max_delete_count: 100'))
  // An empty cell has no end.
  expect((await write('ends', (i) => (i === 4 ? soon : ''))).status).toBe('succeeded')
  expect((await write('ends', () => soon)).status).toBe('succeeded')
  const withheld = await write('end', () => soon)
  expect(withheld).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_EXPIRY_UNKNOWN', message: expect.stringContaining('no row has the column "ends"') as string }],
  })
  expect(await endsAt(engine, 'p0')).toBe(soon)
  engine.pipeline('people', settings('accept: [EXPIRY_UNKNOWN]'))
  expect((await engine.run('people')).counts).toMatchObject({ updates: 5, confirmed: 5 })
})
