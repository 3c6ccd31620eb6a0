/** People who opt out are not sent, even if a guard withholds their deletes (docs/guarantees.md#a-no-is-never-sent). */
import { expect, test } from 'vitest'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const count = 30

/** Writes a row for each person; those in `no` have opted out. */
function write(engine: EngineUnderTest, no: (i: number) => boolean): void {
  const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${no(i) ? 'no' : 'yes'}\n`)
  engine.write('people.csv', `id,mail,ok\n${rows.join('')}`)
}

function pipeline(engine: EngineUnderTest, email = 'mail'): void {
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: ${email} }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, expires_in: 2 days, renew_before: 1 day }
`,
  )
}

/** Returns the number of users in the requests after `after`. */
async function sent(engine: EngineUnderTest, after: number): Promise<number> {
  return (await engine.writes(after)).reduce((sum, { items }) => sum + items, 0)
}

test('a person who opted out is not renewed while the deletes are withheld', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  write(engine, () => false)
  await engine.run('people')
  await engine.db.execute(`update batch set expires_at = expires_at - interval '30 hours'`)
  await engine.db.execute(`update remote set expires_at = expires_at - interval '30 hours'`)
  write(engine, (i) => i >= 10)
  for (let times = 0; times < 2; times++) {
    const after = await engine.mark()
    expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { renewals: times === 0 ? 10 : 0, withheld: 20 } })
    expect(await sent(engine, after)).toBe(times === 0 ? 10 : 0)
  }
  expect(await engine.run('people', { approveDeletes: 20 })).toMatchObject({ status: 'succeeded', counts: { deletes: 20 } })
  expect((await engine.sandbox.control.audience()).members).toBe(10)
})

test('a person who opted out before the first request is never sent, even if the deletes of others are withheld', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  pipeline(engine)
  write(engine, (i) => i === 0)
  await engine.run('people')
  await control.fault(
    { path: '/12/' },
    { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } },
    'always',
  )
  // The first person opts in, but the request is refused.
  write(engine, () => false)
  expect((await engine.run('people')).counts).toMatchObject({ creates: 1, confirmed: 0 })
  await control.clearFaults()
  await engine.db.execute(`update batch set status = 'superseded', settled_at = statement_timestamp() where status = 'pending'`)
  write(engine, (i) => i < 15)
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { creates: 0, withheld: 14 } })
  expect(await sent(engine, after)).toBe(0)
})

test('a plan that adds a person is stale after a read in which the person opted out, even if deletes are withheld', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  write(engine, (i) => i === 0)
  await engine.run('people')
  write(engine, () => false)
  const { planId } = await engine.plan('people')
  write(engine, (i) => i < 15)
  expect(await engine.plan('people')).toMatchObject({ status: 'withheld' })
  await expect(engine.apply(planId)).resolves.toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
})

test('a plan that adds a person is stale after a read in which the person opted out, even if a guard stopped that run', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  const stop = (no: (i: number) => boolean, domain = 'example.com') => {
    const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@${domain},${no(i) ? 'no' : 'yes'},yes\n`)
    engine.write('people.csv', `id,mail,ok,newsletter\n${rows.join('')}`)
  }
  write(engine, (i) => i === 0)
  const { planId } = await engine.plan('people')
  // Without a further opt-out, the plan stays as it is.
  stop((i) => i === 0)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNMAPPED' }] })
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', counts: { creates: 29 } })
  write(engine, () => false)
  const later = await engine.plan('people')
  stop((i) => i === 0)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  const after = await engine.mark()
  expect(await engine.apply(later.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await sent(engine, after)).toBe(0)
  // The row with the no has another address than the plan.
  write(engine, () => false)
  const last = await engine.plan('people')
  stop((i) => i === 0, 'new.example.com')
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  expect(await engine.apply(last.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
})

test('an interrupted apply does not continue after a read in which one of its people opted out, even if a guard stopped that run', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  pipeline(engine)
  write(engine, () => false)
  const { planId } = await engine.plan('people')
  await control.fault(
    { path: '/12/' },
    { kind: 'status', status: 401, body: { errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'no' }] } },
    'always',
  )
  expect(await engine.apply(planId)).toMatchObject({ status: 'failed', counts: { confirmed: 0 } })
  await control.clearFaults()
  expect(await engine.db.query('select status from plan')).toEqual([{ status: 'applying' }])
  const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${i === 0 ? 'no' : 'yes'},yes\n`)
  engine.write('people.csv', `id,mail,ok,newsletter\n${rows.join('')}`)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  const after = await engine.mark()
  expect(await engine.apply(planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await sent(engine, after)).toBe(0)
})

test('a plan that adds a person is stale after a read in which the person opted out, even if that run failed before its plan', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  write(engine, () => false)
  const { planId } = await engine.plan('people')
  await engine.db.execute(`create function sluice.fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await engine.db.execute('create trigger fail before insert on sluice.plan for each row execute function sluice.fail()')
  write(engine, (i) => i === 0)
  expect(await engine.run('people')).toMatchObject({ status: 'failed' })
  await engine.db.execute('drop trigger fail on sluice.plan')
  const after = await engine.mark()
  expect(await engine.apply(planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await sent(engine, after)).toBe(0)
})

test.for(['has another consent column', 'names another address'] as const)(
  'a rerun of failed operations and a backfill are refused after a read with a no that a guard stopped: the row %s',
  { tags: ['long'] },
  async (how) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    pipeline(engine)
    write(engine, () => false)
    await control.fault(
      { path: '/12/' },
      { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
      'always',
    )
    const failed = await engine.run('people')
    expect(failed.counts.confirmed).toBe(0)
    await control.clearFaults()
    const stopped = (no: number) => {
      // The row with the no may also be a new one, with the address of the first person.
      const extra = how === 'names another address' ? `new,p0@example.com,${no === 0 ? 'no' : 'yes'},yes\n` : ''
      const isNo = (i: number) => extra === '' && i === no
      const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${isNo(i) ? 'no' : 'yes'},yes\n`)
      engine.write('people.csv', `id,mail,ok,newsletter\n${rows.join('')}${extra}`)
    }
    stopped(0)
    expect(await engine.run('people')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNMAPPED' }] })
    const after = await engine.mark()
    expect(await engine.rerun(failed.runId, { failedOnly: true })).toMatchObject({
      status: 'failed',
      error: { code: 'OPT_OUTS_UNPLANNED', hint: 'sluice run people' },
    })
    // A backfill would send all stored records that are not confirmed, and its plan would end the refusal.
    engine.write('other.csv', 'id,mail,ok\nother,other@example.com,yes\n')
    expect(await engine.backfill('people', 'other.csv')).toMatchObject({ status: 'failed', error: { code: 'OPT_OUTS_UNPLANNED' } })
    expect(await sent(engine, after)).toBe(0)
    write(engine, (i) => i === 0)
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
    expect(await engine.rerun(failed.runId, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
    expect((await control.audience()).members).toBe(count - 1)
  },
)

test('a rerun of failed operations sends the people after a stopped read without a further no', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  pipeline(engine)
  write(engine, (i) => i === 0)
  await control.fault(
    { path: '/12/' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    'always',
  )
  const failed = await engine.run('people')
  await control.clearFaults()
  const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${i === 0 ? 'no' : 'yes'},yes\n`)
  engine.write('people.csv', `id,mail,ok,newsletter\n${rows.join('')}`)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  expect(await engine.rerun(failed.runId, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
  expect((await control.audience()).members).toBe(count - 1)
})

test('a full refresh sends the people of the source while the deletes of others are withheld', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  write(engine, () => false)
  await engine.run('people')
  write(engine, (i) => i >= 10)
  const after = await engine.mark()
  expect(await engine.run('people', { full: true })).toMatchObject({
    status: 'withheld',
    counts: { updates: 10, confirmed: 10, withheld: 20 },
  })
  expect(await sent(engine, after)).toBe(10)
  write(engine, () => false)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 0, withheld: 0 } })
  expect((await engine.sandbox.control.audience()).members).toBe(count)
})

test('people who only lose an identifier are renewed while the deletes of the identifiers are withheld', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine, '[mail, second]')
  const rows = (seconds: number) =>
    Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${i < seconds ? `q${i}@example.com` : ''},yes\n`).join('')
  engine.write('people.csv', `id,mail,second,ok\n${rows(count)}`)
  await engine.run('people')
  await engine.db.execute(`update batch set expires_at = expires_at - interval '30 hours'`)
  await engine.db.execute(`update remote set expires_at = expires_at - interval '30 hours'`)
  engine.write('people.csv', `id,mail,second,ok\n${rows(10)}`)
  expect(await engine.run('people')).toMatchObject({
    guards: [{ code: 'GUARD_IDENTIFIERS' }],
    counts: { renewals: 10, updates: 20, withheld: 20, confirmed: 30 },
  })
})

test('a read that ends before a row that says no sends nothing', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  const people = Array.from({ length: 8 }, (_, i) => `C${i},c${i}@example.com,yes\n`).join('')
  const yes = `id,mail,ok\nB,x@example.com,yes\n${people}`
  engine.write('people.csv', `${yes}A,x@example.com,no\n`)
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 8, suppressed: 2 })
  const after = await engine.mark()
  engine.write('people.csv', `${yes}A,x@exam`)
  const cut = await engine.run('people')
  expect(cut).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_OPT_OUTS_UNREAD', withheld: 0 }] })
  expect(cut.guards[0]?.message).toBe(
    'the end of the source is not proven, and 0 rows opt out, last time 1: rows that were not read may say no: nothing of this read was sent',
  )
  expect(await sent(engine, after)).toBe(0)

  // New rows are sent if no opt-out is missing.
  engine.write('people.csv', `id,mail,ok\nA,x@example.com,no\nB,x@example.com,yes\nD,d@example.com,yes\n${people}E,e@exam`)
  expect((await engine.run('people')).counts).toMatchObject({ creates: 1, deletes: 0, confirmed: 1 })
  engine.write('people.csv', `${yes}A,x@example.com,no\n`)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
})

test('a source of several that lost its opt-outs with most of its rows sends nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: [{ url: "{folder}/shop.csv" }, { url: "{folder}/letters.csv" }]
map: { key: id, email: mail }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const people = Array.from({ length: 8 }, (_, i) => `C${i},c${i}@example.com,yes\n`).join('')
  engine.write('shop.csv', `id,mail,ok\nB,x@example.com,yes\n${people}`)
  engine.write('letters.csv', 'id,mail,ok\nA,x@example.com,no\n')
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 8, suppressed: 2 })
  const after = await engine.mark()
  engine.write('letters.csv', 'id,mail,ok\n')
  const lost = await engine.run('people')
  expect(lost).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_OPT_OUTS_UNREAD', withheld: 0 }] })
  expect(lost.guards[0]?.message).toMatch(
    /^rows of .*letters\.csv fell from 1 to 0, and 0 rows opt out, last time 1: rows that were not read may say no: nothing of this read was sent$/,
  )
  expect(await sent(engine, after)).toBe(0)
  engine.write('letters.csv', 'id,mail,ok\nA,x@example.com,no\nD,d@example.com,yes\n')
  expect((await engine.run('people')).counts).toMatchObject({ creates: 1, confirmed: 1, suppressed: 2 })
})

test('a joined file that lost opt-outs with most of its rows sends nothing', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv", join: { url: "{folder}/consents.csv", on: { source: id, file: id } } }
map: { key: id, email: mail }
consent: { column: ok, values: ["yes"] }
guards: { max_reject_percent: 100 }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const numbers = Array.from({ length: 30 }, (_, i) => i)
  engine.write('people.csv', `id,mail\nA,x@example.com\nB,x@example.com\n${numbers.map((i) => `C${i},c${i}@example.com\n`).join('')}`)
  const consents = (first: string, people: number) =>
    engine.write('consents.csv', `id,ok\n${first}B,yes\n${numbers.map((i) => (i < people ? `C${i},yes\n` : '')).join('')}`)
  consents('A,no\n', 30)
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 30, suppressed: 2 })
  const after = await engine.mark()
  consents('', 10)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_OPT_OUTS_UNREAD' }] })
  expect(await sent(engine, after)).toBe(0)
  consents('A,no\n', 30)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 2 } })
})
