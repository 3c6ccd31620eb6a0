/** Erasure of a person (docs/erasure.md): suppressed immediately, deleted in every audience, and nowhere stored afterwards. */
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ExchangeRequest } from '../../../src/service/client/exchange.ts'
import { exportErasures, missingErasures, parseExport } from '../../../src/sync/erasure/exportFile.ts'
import { erasedKeysOf, type Person } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import type { Progress } from '../../../src/model/report.ts'
import type { Database } from '../../../src/db/database.ts'
import { pauseDestination } from '../../../src/db/destinations.ts'
import { listReceipts, storeErasure } from '../../../src/db/erasures.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { audienceDigest, email, phone, sha256 } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { sluiceHere } from '../cli/support.ts'

const canary = 'jane.canary@example.com'
const noPerson: Person = { emails: [], phones: [], keys: [] }

async function setUp(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'visitors' } })
  for (const [name, id] of [
    ['customers', '1nmth'],
    ['visitors', made.body.data.id],
  ])
    engine.pipeline(
      name,
      `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail, phone_number: phone }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${id} }
`,
    )
  write(engine)
  return engine
}

const rows = ['k1,ann@example.com,', `k2,${canary},+12025550123`, 'k3,bob@example.com,', 'k4,eve@example.com,+12025550144']
const write = (engine: EngineUnderTest, more: readonly string[] = []) =>
  engine.write('people.csv', `id,mail,phone\n${[...rows, ...more].join('\n')}\n`)

const forgets = async (
  engine: EngineUnderTest,
  person: Partial<Person>,
  options: { readonly pipeline?: string; readonly wait?: boolean } = {},
) =>
  forget(
    engine.deps,
    await erasedKeysOf(
      engine.deps,
      { ...noPerson, ...person },
      options.pipeline === undefined ? undefined : await loadPipeline(join(engine.folder, 'pipelines'), options.pipeline),
    ),
    { actor: 'test', reason: 'request 1', wait: options.wait ?? true },
  )

/** All rows of all tables as text, with the names of the tables. */
async function dump(db: Database): Promise<ReadonlyMap<string, string>> {
  const tables = await db.query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'sluice'`)
  const all = new Map<string, string>()
  for (const { name } of tables) {
    const found = await db.query<{ text: string | null }>(`select string_agg(t::text, E'\\n') as text from sluice."${name}" t`)
    all.set(name, (found[0]?.text ?? '').toLowerCase())
  }
  return all
}

/** Tables that hold the text, its bytes in hex, or the hex of it as bytes. */
async function tablesWith(db: Database, text: string): Promise<readonly string[]> {
  const needles = [text.toLowerCase(), Buffer.from(text.toLowerCase()).toString('hex')]
  return [...(await dump(db))].flatMap(([name, content]) => (needles.some((needle) => content.includes(needle)) ? [name] : []))
}

const digest = sha256
/** First 4 bytes of the digest: as much as the search for implied keys stores. */
const prefix = (text: string) => digest(text).slice(0, 8)
const held = async (engine: EngineUnderTest) => (await engine.sandbox.control.audience()).digest
const without = audienceDigest([email('ann@example.com'), email('bob@example.com'), email('eve@example.com'), phone('+12025550144')])

test('an erased person is deleted from every audience and table, and a new file does not add them again', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await engine.run('visitors')
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(expect.arrayContaining(['record', 'batch_entries', 'implied_key']))
  const receipt = await forgets(engine, { emails: [` ${canary.toUpperCase()} `] })
  expect(receipt).toMatchObject({ id: 'e_1', identifiers: 1, audiences: 2, deletes: { planned: 4, confirmed: 4 }, reason: 'request 1' })
  expect(receipt.purgedAt).not.toBeNull()
  expect(JSON.stringify(receipt)).not.toMatch(/[0-9a-f]{12}/)
  expect(await held(engine)).toBe(without)
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
  expect(await tablesWith(engine.db, canary)).toEqual([])

  write(engine, ['k5,fay@example.com,'])
  const again = await engine.run('customers', { full: true })
  expect(again).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, valid: 4 } })
  expect(imbalance(again.counts)).toEqual([])
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
  const customers = await loadPipeline(join(engine.folder, 'pipelines'), 'customers')
  expect((await explainKey(engine.deps, customers, canary)).headline).toBe('Not live: erased by e_1: it is not sent')
  expect((await explainKey(engine.deps, customers, 'k2')).headline).toBe('Not live: erased by e_1: it is not sent')
  const audit = await engine.db.query<{ what: string }>(`select what from sluice.audit where what like 'erasure.%' order by id`)
  expect(audit.map(({ what }) => what)).toEqual(['erasure.requested', 'erasure.purged'])
})

test('an erasure that is repeated before its deletes are confirmed sends them, and counts them in its receipt', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await engine.run('visitors')
  expect(await forgets(engine, { emails: [canary] }, { wait: false })).toMatchObject({ deletes: { planned: 4, confirmed: 0 } })
  // An erasure whose process ended before its deletes were planned.
  const ann = await erasedKeysOf(engine.deps, { ...noPerson, emails: ['ann@example.com'] }, undefined)
  await storeErasure(engine.db, { ...ann, service: engine.deps.service.origin, actor: 'test' })

  for (const [emails, id] of [
    [[canary], 'e_3'],
    [['ann@example.com'], 'e_4'],
  ] as const) {
    const again = await forgets(engine, { emails })
    expect(again).toMatchObject({ id, audiences: 2, deletes: { planned: 4, confirmed: 4 } })
    expect(again.purgedAt).not.toBeNull()
  }
  expect(await held(engine)).toBe(audienceDigest([email('bob@example.com'), email('eve@example.com'), phone('+12025550144')]))
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
  expect((await listReceipts(engine.db)).every(({ purgedAt }) => purgedAt !== null)).toBe(true)
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ audiences: 0, deletes: { planned: 0, confirmed: 0 } })
})

test('a short partner id is erased without a change to other data', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'customers',
    `source: { url: "{folder}/people.csv" }
map: { key: id, partner_user_id: partner }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const write = (...partners: readonly string[]) =>
    engine.write('people.csv', `id,partner\n${partners.map((partner, i) => `k${i},${partner}\n`).join('')}`)
  write('a', 'b')
  await engine.run('customers')
  // The plan stores the version 37. Its digits equal the bytes of the partner id in hex.
  await engine.db.execute('update sluice.destination set desired_version = 36')
  write('a', 'b', '7')
  await engine.run('customers')
  // The times of the first request have the digit 7 too.
  const first = () => engine.db.query(`select from sluice.batch where id = (select min(id) from sluice.batch) and body is not null`)
  expect(await first()).toHaveLength(1)
  const receipt = await forgets(engine, { keys: ['k2'] }, { pipeline: 'customers' })
  expect(receipt).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
  expect(receipt.purgedAt).not.toBeNull()
  const versions = await engine.db.query<{ version: string }>(
    `select review ->> 'desiredVersion' as version from sluice.plan order by created_at`,
  )
  expect(versions.map(({ version }) => version)).toContain('37')
  expect(await first()).toHaveLength(1)
})

test('a digest that begins with decimal digits is erased without a change to numbers', async () => {
  await using engine = await setUp()
  let n = 0
  while (!/^[1-9]\d{11}/.test(sha256(`m${n}@example.com`))) n++
  const address = `m${n}@example.com`
  write(engine, [`k5,${address},`])
  await engine.run('customers')
  const version = Number(sha256(address).slice(0, 12))
  const note = `email ${version}…`
  await engine.db.execute(`update plan set review = review || jsonb_build_object('desiredVersion', $1::bigint, 'note', $2::text)`, [
    version,
    note,
  ])
  expect((await forgets(engine, { emails: [address] })).purgedAt).not.toBeNull()
  const found = `select review -> 'desiredVersion' as version, review -> 'note' as note from plan where review ? 'note'`
  expect(await engine.db.query(found)).toEqual([{ version, note: 'email erased' }])
})

test('expired data is deleted although a purge of an erased person fails', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await forgets(engine, { emails: [canary] }, { wait: false })
  await engine.db.execute(`create function sluice.fail() returns trigger language plpgsql as $$ begin raise exception 'not now'; end $$`)
  await engine.db.execute('create trigger fail before update on sluice.erasure_delete execute function sluice.fail()')
  await engine.db.execute('delete from sluice.tick')
  await engine.db.execute(
    `insert into sluice.audit (at, actor, what, detail) values (statement_timestamp() - interval '20 years', 'test', 'test.old', '{}')`,
  )
  await engine.run('customers')
  expect(await engine.db.query(`select from sluice.audit where what = 'test.old'`)).toEqual([])
})

/** Requests that contain the person, oldest first: the hash of that entry. */
async function sendings(engine: EngineUnderTest): Promise<readonly string[]> {
  const lines = await engine.sandbox.control.ledger()
  return lines.flatMap(({ keys = [] }: { keys?: readonly { key: string; value: string }[] }) =>
    keys.filter(({ key }) => key.includes(digest(canary))).map(({ value }) => value),
  )
}

test('deletes that were planned while the clock of the database was ahead are sent after two horizons', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await control.fault({ path: '/custom_audiences/' }, { kind: 'commit_then_reset' })
  await interruptedRun(engine, 'customers', 'stop')
  await forgets(engine, { emails: [canary] }, { wait: false })
  await engine.db.execute(`update batch set next_attempt_at = next_attempt_at + interval '3 days' where phase = 0`)
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
  await engine.deps.clock.sleep(2 * engine.deps.settings.horizonMs + 20)
  await engine.run('customers')
  expect(await held(engine)).toBe(without)
  expect(await engine.db.query(`select from batch where phase = 0 and status <> 'settled'`)).toEqual([])
})

test('a person with an update in flight is deleted after it, and never sent again', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await control.switches({ ledger_keys: 'on' })
  await control.fault({ path: '/custom_audiences/' }, { kind: 'hold', name: 'update' })
  const run = engine.run('customers')
  await expect.poll(async () => (await control.holds()).length).toBe(1)
  const erasing = forgets(engine, { emails: [canary] })
  await expect.poll(async () => (await engine.db.query('select from sluice.erasure where planned_at is not null')).length).toBe(1)
  await control.release('update')
  await run
  expect((await erasing).deletes).toEqual({ planned: 2, confirmed: 2 })
  await engine.run('customers', { full: true })
  expect(await held(engine)).toBe(without)
  const [update, ...later] = await sendings(engine)
  expect(later).toHaveLength(2)
  expect(new Set(later).size).toBe(1)
  expect(later).not.toContain(update)
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
})

test('an update whose answer was lost is sent again without the person, who is deleted', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await control.fault({ path: '/custom_audiences/' }, { kind: 'commit_then_reset' })
  await interruptedRun(engine, 'customers', 'stop')
  await forgets(engine, { emails: [canary] })
  expect(await held(engine)).toBe(without)
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
  expect(await held(engine)).toBe(without)
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
})

test('an identifier that a second row shared is deleted with that row, although no answer confirmed it', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await control.switches({ delete_reach: 'identifier' })
  write(engine, ['k6,mum@example.com,+12025550123'])
  await control.fault({ path: '/custom_audiences/' }, { kind: 'commit_then_reset' })
  await interruptedRun(engine, 'customers', 'stop')
  // The shared number stays, because k6 has it. Its update is not sent again, so its state is unknown.
  await forgets(engine, { emails: [canary] })
  engine.write('people.csv', `id,mail,phone\n${rows.filter((row) => !row.includes(canary)).join('\n')}\n`)
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
  expect(await held(engine)).toBe(without)
})

test('each user object of an erased person is deleted as one', async () => {
  await using engine = await setUp()
  const bodies: string[] = []
  const transport = {
    ...engine.deps.transport,
    exchange: (request: ExchangeRequest) => {
      bodies.push(String(request.body))
      return engine.deps.transport.exchange(request)
    },
  }
  const recorded = { ...engine, deps: { ...engine.deps, transport } }
  // The number of k6 is a user object without the address, which is sent with k2.
  write(engine, [`k6,${canary},+12025550155`])
  await engine.run('customers')
  await forgets(recorded, { emails: [canary] })
  expect(await held(engine)).toBe(without)
  const users = [{ email: [digest(canary)], phone_number: [digest('+12025550123')] }, { phone_number: [digest('+12025550155')] }]
  expect(bodies.map((body) => JSON.parse(body))).toEqual([1, 2].map(() => [{ operation_type: 'Delete', params: { users } }]))
})

test('a frozen batch is sent without the person', async () => {
  await using engine = await setUp()
  const plan = await engine.plan('customers')
  await forgets(engine, { emails: [canary] })
  await engine.apply(plan.planId)
  expect(await held(engine)).toBe(without)
})

test('an attempt after the erasure, and before its deletes are planned, is sent without the person', async () => {
  await using engine = await setUp()
  const plan = await engine.plan('customers')
  const { identifiers } = await erasedKeysOf(engine.deps, { ...noPerson, emails: [canary] }, undefined)
  await storeErasure(engine.db, { service: engine.deps.service.origin, actor: 'test', identifiers, records: [] })
  await engine.apply(plan.planId)
  expect(await held(engine)).toBe(without)
  await engine.run('customers')
  expect(await held(engine)).toBe(without)
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
})

test('a record whose person is erased while its run reads counts as suppressed only, not as stale or missing too', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  // k2 is missing and k4 is rejected. Both people are erased after the start of the run, which plans the deletes of earlier erasures.
  engine.write('people.csv', `id,mail,phone\n${rows[0]}\n${rows[2]}\nk4,broken,\n`)
  const { identifiers } = await erasedKeysOf(engine.deps, { ...noPerson, emails: [canary, 'eve@example.com'] }, undefined)
  const erasing = engine.db.transaction(async (tx) => {
    await tx.execute('lock table snapshot in exclusive mode')
    const run = engine.run('customers')
    await expect.poll(() => engine.db.query(`select from pg_locks where not granted and relation = 'snapshot'::regclass`)).toHaveLength(1)
    await storeErasure(engine.db, { service: engine.deps.service.origin, actor: 'test', identifiers, records: [] })
    return { run }
  })
  const report = await (await erasing).run
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, valid: 2, rejected: 1, unchanged: 2, stale: 0, deletes: 2 } })
  expect((await engine.sandbox.control.audience()).members).toBe(2)
})

test('the row of a person who is erased between read and plan counts as suppressed in the next read', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const { identifiers } = await erasedKeysOf(engine.deps, { ...noPerson, emails: [canary] }, undefined)
  const erasing = engine.db.transaction(async (tx) => {
    await tx.query('select from destination for share')
    const run = engine.run('customers', { full: true })
    const planning = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'select state_version, all_changed%'`
    await expect.poll(() => engine.db.query(planning), { timeout: 10_000 }).toHaveLength(1)
    await storeErasure(engine.db, { service: engine.deps.service.origin, actor: 'test', identifiers, records: [] })
    return { run }
  })
  expect(await (await erasing).run).toMatchObject({ status: 'succeeded', counts: { read: 4 } })
  write(engine, ['k5,new@example.com,'])
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { read: 5, valid: 4, suppressed: 1 } })
})

test('a customer key erases all identifiers of its row, and suppresses the row with new ones', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  expect(await forgets(engine, { keys: ['k2'] }, { pipeline: 'customers' })).toMatchObject({ identifiers: 2, audiences: 1 })
  engine.write('people.csv', `id,mail,phone\n${rows.join('\n').replace(canary, 'new@example.com')}\n`)
  await engine.run('customers')
  expect(await held(engine)).toBe(without)
})

test('an identifier that another row shares is sent again without the person', async () => {
  await using engine = await setUp()
  write(engine, ['k6,mum@example.com,+12025550123'])
  await engine.run('customers')
  await forgets(engine, { emails: [canary] })
  await engine.run('customers')
  expect(await held(engine)).toBe(
    audienceDigest([
      ...['ann@example.com', 'bob@example.com', 'eve@example.com', 'mum@example.com'].map(email),
      phone('+12025550144'),
      phone('+12025550123'),
    ]),
  )
})

test('a restored backup gets later erasures from the copy beside it', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await forgets(engine, { emails: [canary] })
  const copy = JSON.stringify(await exportErasures(engine.db, new Date(0)))
  expect(await missingErasures(engine.db, parseExport(copy, 'x'))).toEqual([])
  // Rows that a backup from before the erasure does not have.
  await engine.db.execute('truncate sluice.erasure cascade')
  const missing = await missingErasures(engine.db, parseExport(copy, 'x'))
  expect(missing).toHaveLength(1)
  for (const { keys } of missing) await forget(engine.deps, keys, { actor: 'test', wait: true })
  await engine.run('customers', { full: true })
  expect(await held(engine)).toBe(without)
  // The file may be any file of the user, so the hint does not write to it.
  expect(() => parseExport('{}', 'customers.csv')).toThrow(
    expect.objectContaining({
      message: 'customers.csv is not a file of sluice forget --export. Nothing was erased.',
      hint: 'sluice forget --export FILE   (in the environment that has the erasures)',
    }) as Error,
  )
})

test('the command prints a receipt, lists and exports without identifiers, and rejects wrong input', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const call = (...args: string[]) => sluiceHere(['forget', ...args], { cwd: engine.folder, env: engine.env })
  const planned = await call('--email', canary, '--no-wait', '--json')
  expect([planned.code, planned.stderr]).toEqual([0, ''])
  expect(JSON.parse(planned.stdout)).toMatchObject({ id: 'e_1', identifiers: 1, deletes: { planned: 2, confirmed: 0 }, purgedAt: null })
  const listed = await call('--list')
  expect(listed.stdout).toMatch(/^e_1 .*deletes 0\/2/)
  expect(JSON.parse((await call('--export', 'erased.json', '--json')).stdout)).toEqual({ file: 'erased.json', erasures: 1 })
  expect(statSync(join(engine.folder, 'erased.json')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(engine.folder, 'erased.json'), 'utf8')).toContain(digest(canary))
  expect((await call('--replay', 'erased.json')).stdout).toContain('Nothing to replay')
  const elsewhere = await sluiceHere(['forget', '--replay', 'erased.json', '--json'], {
    cwd: engine.folder,
    env: { ...engine.env, SLUICE_BASE_URL: 'http://127.0.0.1:1' },
  })
  expect(JSON.parse(elsewhere.stdout)).toMatchObject({
    error: { code: 'INVALID_VALUE', message: expect.stringContaining('is from') as string },
  })
  for (const [args, code, where] of [
    [[], 'MISSING_OPTION', 'forget'],
    [['--email', 'not an address'], 'INVALID_VALUE', '--email'],
    [['--phone', '3035550123'], 'INVALID_VALUE', '--phone'],
    [['--key', 'k2'], 'MISSING_OPTION', '--pipeline'],
    [['--list', '--email', canary], 'INVALID_VALUE', 'forget'],
  ] as const) {
    const wrong = await call(...args, '--json')
    expect([wrong.code, JSON.parse(wrong.stdout)]).toMatchObject([2, { error: { code, where } }])
    expect(wrong.stdout + wrong.stderr).not.toMatch(/not an address|3035550123/)
  }
}, 60_000)

test('the command needs no --pipeline for a customer key if there is one audience', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'customers',
    'source: { url: "{folder}/people.csv" }\nmap: { key: id, email: mail, phone_number: phone }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  write(engine)
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
  const { code, stdout } = await sluiceHere(['forget', '--key', 'k2', '--no-wait', '--json'], { cwd: engine.folder, env: engine.env })
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { identifiers: 2, audiences: 1 }])
})

test('the receipt counts the suppressed customer keys, also of a customer that was never sent', async () => {
  await using engine = await setUp()
  const call = (...args: string[]) => sluiceHere(['forget', ...args], { cwd: engine.folder, env: engine.env })
  expect((await call('--key', 'k8', '--key', 'k9', '--pipeline', 'customers')).stdout).toContain('suppressed   2 customer keys:')
  expect((await call('--key', 'k7', '--email', canary, '--pipeline', 'customers')).stdout).toContain(
    'suppressed   1 digest and 1 customer key:',
  )
})

test('the next run counts an erased person as suppressed, although the source is unchanged', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await forgets(engine, { emails: [canary] })
  for (const run of [1, 2]) {
    const { counts } = await engine.run('customers')
    expect([run, counts]).toMatchObject([run, { read: 4, suppressed: 1, valid: 3, unchanged: 3 }])
    expect(imbalance(counts)).toEqual([])
  }
})

test('the receipt of a refused delete does not count it as confirmed after its operations have expired', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await engine.sandbox.control.fault(
    { path: '/users' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    'always',
  )
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ deletes: { planned: 2, confirmed: 0 } })
  await engine.db.execute(`update batch set settled_at = settled_at - interval '40 days' where status = 'settled'`)
  await applyRetention(engine.db)
  expect(await listReceipts(engine.db)).toMatchObject([{ deletes: { planned: 2, confirmed: 0 } }])
})

test('the next run deletes every identifier of an erased person whose delete was refused', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const refusal = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 400, body: refusal }, 4)
  for (const emails of [[canary], ['ann@example.com']]) await forgets(engine, { emails })
  await engine.run('customers')
  expect(await held(engine)).toBe(audienceDigest([email('bob@example.com'), email('eve@example.com'), phone('+12025550144')]))
  expect((await listReceipts(engine.db)).map(({ purgedAt }) => purgedAt === null)).toEqual([false, false])
  expect(await tablesWith(engine.db, prefix(canary))).toEqual(['erased_key'])
})

test('an erased person whose delete was refused is deleted, although the key is no longer marked as changed', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const refusal = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 400, body: refusal }, 2)
  await forgets(engine, { emails: [canary] })
  // Earlier versions deleted the mark.
  await engine.db.execute('delete from sluice.changed_key')
  for (let i = 0; i < 2; i++) await engine.run('customers')
  expect(await held(engine)).toBe(without)
  expect((await listReceipts(engine.db))[0]?.purgedAt).not.toBeNull()
})

test('an erasure that is repeated after a refused delete is not complete', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const refusal = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 400, body: refusal }, 2)
  const unconfirmed = { audiences: 1, deletes: { planned: 2, confirmed: 0 }, purgedAt: null }
  expect(await forgets(engine, { emails: [canary] })).toMatchObject(unconfirmed)
  expect(await forgets(engine, { emails: [canary] })).toMatchObject(unconfirmed)
  await engine.run('customers')
  expect(await held(engine)).toBe(without)
  // The run deleted the person by other requests, so nothing is left to wait for.
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ deletes: { planned: 0, confirmed: 0 } })
})

test('a run that ends at its read deletes erased people', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const settle = () => engine.deps.clock.sleep(engine.deps.settings.horizonMs + 20)
  await forgets(engine, { emails: [canary] }, { wait: false })
  await settle()
  const withheld = ['k1,broken,', 'k2,broken,', 'k3,broken,', 'k4,broken,']
  engine.write('people.csv', `id,mail,phone\n${withheld.join('\n')}\n`)
  expect(await engine.run('customers')).toMatchObject({ status: 'withheld' })
  expect(await listReceipts(engine.db)).toMatchObject([{ deletes: { planned: 2, confirmed: 2 } }])
  expect(await held(engine)).toBe(without)

  await forgets(engine, { emails: ['ann@example.com'] }, { wait: false })
  await settle()
  rmSync(join(engine.folder, 'people.csv'))
  expect(await engine.run('customers')).toMatchObject({ status: 'failed' })
  expect((await listReceipts(engine.db)).map(({ deletes }) => deletes.confirmed)).toEqual([2, 2])
  expect(await held(engine)).toBe(audienceDigest([email('bob@example.com'), email('eve@example.com'), phone('+12025550144')]))
})

test('an erasure that is repeated sends deletes that had no attempts left', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const fewAttempts = { ...engine, deps: { ...engine.deps, settings: { ...engine.deps.settings, maxAttempts: 2 } } }
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 503 }, 2)
  expect(await forgets(fewAttempts, { emails: [canary] })).toMatchObject({ deletes: { planned: 2, confirmed: 0 } })
  expect(await engine.db.query(`select from batch where status = 'parked'`)).toHaveLength(2)
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
  expect(await held(engine)).toBe(without)
})

test('an erasure sends its deletes during the pause of a cancelled run, and does not end this pause', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  const reasons = () => engine.db.query('select paused_reason from destination where paused_at is not null')
  const cancelled = { code: 'RUN_CANCELLED', text: 'the run was cancelled by an operator' }
  await engine.db.transaction((tx) => pauseDestination(tx, 1, cancelled, 'jane'))
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
  expect(await held(engine)).toBe(without)
  expect(await reasons()).toEqual([{ paused_reason: 'RUN_CANCELLED: the run was cancelled by an operator' }])
  // An answer about the credentials ends the push of the deletes.
  const unauthorized = { kind: 'status', status: 401, body: { errors: [{ code: 89, message: 'Invalid or expired token' }] } }
  await engine.sandbox.control.fault({ path: '/users' }, unauthorized, 'always')
  expect(await forgets(engine, { emails: ['bob@example.com'] })).toMatchObject({ deletes: { planned: 2, confirmed: 0 } })
  expect(await reasons()).toEqual([{ paused_reason: expect.not.stringMatching(/^RUN_CANCELLED/) }])
  await engine.sandbox.control.clearFaults()
  expect(await forgets(engine, { emails: ['eve@example.com'] })).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
  expect(await reasons()).toEqual([])
})

test('an erased customer key without a row is open until its identifiers are deleted', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  engine.write('people.csv', `id,mail,phone\n${rows.filter((row) => !row.includes(canary)).join('\n')}\n`)
  const refusal = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 400, body: refusal }, 3)
  await engine.run('customers')
  const unconfirmed = { deletes: { planned: 2, confirmed: 0 }, purgedAt: null }
  for (let i = 0; i < 2; i++) expect(await forgets(engine, { keys: ['k2'] }, { pipeline: 'customers' })).toMatchObject(unconfirmed)
  expect(await held(engine)).not.toBe(without)
  await engine.run('customers')
  expect(await held(engine)).toBe(without)
  expect((await listReceipts(engine.db)).filter(({ purgedAt }) => purgedAt === null)).toEqual([])
})

test('the receipt keeps its deletes after the runs of its audience have expired', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  expect(await forgets(engine, { emails: [canary] })).toMatchObject({ deletes: { planned: 2, confirmed: 2 } })
  write(engine, ['k7,new@example.com,'])
  for (let i = 0; i < 2; i++) await engine.run('customers', { full: true })
  await engine.db.execute(`update batch set settled_at = settled_at - interval '401 days'`)
  await engine.db.execute(`update plan set created_at = created_at - interval '401 days', applied_at = applied_at - interval '401 days'`)
  await engine.db.execute(
    `update run set created_at = created_at - interval '401 days', started_at = started_at - interval '401 days', finished_at = finished_at - interval '401 days'`,
  )
  await applyRetention(engine.db)
  expect(await listReceipts(engine.db)).toMatchObject([{ deletes: { planned: 2, confirmed: 2 } }])
})

test('the progress gives the reason of the wait before the deletes are repeated', async () => {
  await using engine = await engineUnderTest({ settings: { horizonMs: 2_000 } })
  engine.pipeline(
    'people',
    'source: { url: "{folder}/people.csv" }\nmap: { key: id, email: mail }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write('people.csv', `id,mail\nk1,ann@example.com\nk2,${canary}\n`)
  await engine.run('people')
  const reasons = new Set<string | undefined>()
  const deps = { ...engine.deps, onProgress: ({ waiting }: Progress) => reasons.add(waiting) }
  await forget(deps, await erasedKeysOf(deps, { ...noPerson, emails: [canary] }, undefined), { actor: 'test', wait: true })
  expect([...reasons]).toContain('the deletes are sent again in 2 s, because an earlier request may arrive until then')
})
