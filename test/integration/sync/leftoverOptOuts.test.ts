/**
 * People opted out since an update without an answer. The update that is sent again does not contain them
 * (docs/guarantees.md#a-no-is-never-sent).
 */
import { expect, test } from 'vitest'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const names = Array.from({ length: 30 }, (_, i) => `p${i}`)
const fault = { kind: 'commit_then_reset' }

/** Returns the digest of an audience with these people, by their email addresses. */
const digestOf = (people: readonly string[]) =>
  audienceDigest([...people, ...(people.includes('p9') ? ['second'] : [])].map((name) => email(`${name}@example.com`)))

function write(engine: EngineUnderTest, rows: readonly { readonly name: string; readonly mail?: string; readonly ok: string }[]): void {
  const lines = rows.map(
    ({ name, mail = name, ok }) =>
      `${name},${mail === '' ? '' : `${mail}@example.com`},${name === 'p9' ? 'second@example.com' : ''},${ok}\n`,
  )
  engine.write('people.csv', `id,mail,mail2,ok\n${lines.join('')}`)
}

/** Runs a first load of 30 people. All answers are lost. */
async function lostAnswers(applied: boolean, more = ''): Promise<EngineUnderTest> {
  const engine = await engineUnderTest({ settings: { maxAttempts: 2, horizonMs: 300 } })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: [mail, mail2] }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth${more} }
`,
  )
  write(
    engine,
    names.map((name) => ({ name, ok: 'yes' })),
  )
  await engine.sandbox.control.fault({ path: '/12/' }, applied ? fault : { kind: 'reset', at: 'after' }, 'always')
  expect((await engine.run('people')).counts).toMatchObject({ creates: 30, ambiguous: 30, confirmed: 0 })
  await engine.sandbox.control.clearFaults()
  return engine
}

test.each([true, false])('an update is sent again without a person who opted out since (applied: %s)', async (applied) => {
  await using engine = await lostAnswers(applied)
  write(
    engine,
    names.map((name) => ({ name, ok: name === 'p7' ? 'no' : 'yes' })),
  )
  const after = await engine.mark()
  const report = await engine.run('people')
  expect(report).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, creates: 0, deletes: 1, confirmed: 1 } })
  expect(imbalance(report.counts)).toEqual([])
  // 29 people again, and one delete.
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([29, 1])
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.filter((name) => name !== 'p7')))
  expect((await engine.run('people')).counts).toMatchObject({ requests: 0, suppressed: 1 })
})

test('an opt-out that a stored plan read before holds for an unchanged file', async () => {
  await using engine = await lostAnswers(true)
  write(
    engine,
    names.map((name) => ({ name, ok: name === 'p7' ? 'no' : 'yes' })),
  )
  await engine.plan('people')
  const after = await engine.mark()
  await engine.run('people')
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([29, 1])
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.filter((name) => name !== 'p7')))
})

test('an opt-out is deleted although the clock of the database was ahead when the answer was lost', async () => {
  await using engine = await lostAnswers(true)
  await engine.db.execute(`update sluice.remote set late_until = late_until + interval '1 day'`)
  write(
    engine,
    names.map((name) => ({ name, ok: name === 'p7' ? 'no' : 'yes' })),
  )
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 1, confirmed: 1, deferred: 0 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.filter((name) => name !== 'p7')))
})

test('an opt-out without an address holds for people in operations of several', async () => {
  await using engine = await lostAnswers(false, ', users_per_operation: 10')
  await engine.sandbox.control.switches({ ledger_keys: 'on' })
  const out = names.slice(0, 3)
  write(
    engine,
    names.map((name) => (out.includes(name) ? { name, mail: '', ok: 'no' } : { name, ok: 'yes' })),
  )
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 3, valid: 27, deletes: 3 } })
  const requests: readonly { readonly keys: readonly { readonly key: string }[] }[] = await engine.sandbox.control.ledger(after)
  // Each is only in the request of its delete.
  const sent = out.map((name) =>
    requests.filter(({ keys }) => keys.some(({ key }) => key.includes(String(email(`${name}@example.com`)[1])))),
  )
  expect(sent.map((their) => their.length)).toEqual([1, 1, 1])
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.slice(3)))
})

test('an opt-out with another address holds for the address of the update', async () => {
  await using engine = await lostAnswers(true)
  write(
    engine,
    names.map((name) => (name === 'p7' ? { name, mail: 'other', ok: 'no' } : { name, ok: 'yes' })),
  )
  const after = await engine.mark()
  await engine.run('people')
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([29, 1])
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.filter((name) => name !== 'p7')))
})

test('an opt-out in the row of another key holds for one of two addresses of the update', async () => {
  await using engine = await lostAnswers(true)
  write(engine, [...names.map((name) => ({ name, ok: 'yes' })), { name: 'other', mail: 'p9', ok: 'no' }])
  const after = await engine.mark()
  await engine.run('people')
  // 29 people again, the delete of one address, and the person with the other address.
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([29, 1, 1])
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf([...names.filter((name) => name !== 'p9'), 'second']))
})

test('the guards apply to people who opted out of an update that may have been applied', async () => {
  await using engine = await lostAnswers(true)
  write(
    engine,
    names.map((name, i) => ({ name, ok: i < 20 ? 'no' : 'yes' })),
  )
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { suppressed: 20, withheld: 20 } })
  expect((await engine.writes(after)).map(({ items }) => items)).toEqual([10])
  expect(await engine.run('people', { approveDeletes: 20 })).toMatchObject({ status: 'succeeded', counts: { deletes: 20 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(digestOf(names.slice(20)))
})

test('nothing is sent again before a source that a guard stops', async () => {
  await using engine = await lostAnswers(true)
  engine.write('people.csv', `id,mail,ok,opt_in\n${names.map((name) => `${name},${name}@example.com,yes,no\n`).join('')}`)
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  expect(await engine.writes(after)).toEqual([])
})

test('rerun --failed sends nothing if consent was configured since the last read', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 1 } })
  const yaml = (consent: string) =>
    `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: mail }\n${consent}
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`
  engine.write('people.csv', 'id,mail,ok\n1,a@example.com,no\n2,b@example.com,yes\n')
  engine.pipeline('people', yaml('ignore: [ok]'))
  await engine.sandbox.control.fault({ path: '/12/' }, { kind: 'status', status: 503 }, 'always')
  const failed = await engine.run('people')
  expect(failed.counts).toMatchObject({ confirmed: 0 })
  await engine.sandbox.control.clearFaults()

  engine.pipeline('people', yaml('consent: { column: ok, values: ["yes"] }'))
  const after = await engine.mark()
  const rerun = await engine.rerun(failed.runId, { failedOnly: true })
  expect(rerun).toMatchObject({ status: 'failed', error: { code: 'PIPELINE_CHANGED', hint: 'sluice run people' } })
  expect(await engine.writes(after)).toEqual([])

  expect((await engine.run('people')).counts).toMatchObject({ suppressed: 1, confirmed: 1 })
  expect((await engine.sandbox.control.audience()).digest).toBe(audienceDigest([email('b@example.com')]))
  expect(await engine.rerun(failed.runId, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
})
