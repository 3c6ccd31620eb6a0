/** A restored backup from before an erasure: the copy of the erasures is replayed, and no erased person is sent (docs/erasure.md). */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backUp } from '../../support/backup.ts'
import { audienceDigest, email, phone, sha256 } from '../../support/digests.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { shortenWaits } from '../../support/shortWaits.ts'
import { sluiceHere } from '../cli/support.ts'

const canary = 'jane.canary@example.com'
const people = (...rows: readonly string[]) => `id,mail,phone\n${rows.map((row) => `${row}\n`).join('')}`
const ann = 'k1,ann@example.com,'
const jane = `k2,${canary},+12025550123`
const bob = 'k3,bob@example.com,+12025550144'

function pipeline(engine: EngineUnderTest, more = ''): void {
  engine.pipeline(
    'customers',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail, phone_number: phone }
${more}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
}

const held = async (engine: EngineUnderTest) => (await engine.sandbox.control.audience()).digest

async function isStored(engine: EngineUnderTest, digest: string, table: string): Promise<boolean> {
  const rows = await engine.db.query<{ text: string | null }>(`select string_agg(t::text, ' ') as text from sluice."${table}" t`)
  return (rows[0]?.text ?? '').includes(digest)
}

test('a restored backup lacks later erasures until the copy is replayed; then no erased person is sent', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine)
  engine.write('people.csv', people(ann, jane, bob))
  await engine.run('customers')
  await shortenWaits(engine.db)
  const backup = await backUp(engine)

  const command = (...args: readonly string[]) => sluiceHere(args, { cwd: engine.folder, env: engine.env })
  expect((await command('forget', '--email', canary, '--phone', '+12025550123')).code).toBe(0)
  expect((await command('forget', '--export', 'erasures.json')).code).toBe(0)
  const without = audienceDigest([email('ann@example.com'), email('bob@example.com'), phone('+12025550144')])
  expect(await held(engine)).toBe(without)

  await backup.restore()
  // The backup contains the person, and no erasure.
  expect(await isStored(engine, sha256(canary), 'record')).toBe(true)
  expect(await engine.db.query('select from erasure')).toEqual([])

  expect((await command('db', 'adopt')).code).toBe(0)
  const replayed = await command('forget', '--replay', join(engine.folder, 'erasures.json'), '--reason', 'restore 12')
  expect([replayed.code, replayed.stderr]).toEqual([0, expect.not.stringContaining(canary)])
  expect((await command('forget', '--replay', 'erasures.json')).stdout).toContain('Nothing to replay')
  expect((await command('forget', '--list')).stdout).toMatch(/ {2}replay of \w+: restore 12\n/)
  const mark = await engine.mark()
  // The merchant's file still has the person.
  expect(await engine.run('customers', { full: true })).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, valid: 2 } })
  expect(await held(engine)).toBe(without)
  expect((await engine.writes(mark)).length).toBeGreaterThan(0)
  for (const table of ['record', 'remote', 'implied_key']) expect(await isStored(engine, sha256(canary).slice(0, 8), table)).toBe(false)
  expect(await engine.sandbox.control.violations()).toEqual([])
}, 120_000)

test('erasures at the service of named credentials are listed, exported and replayed', { tags: ['long'], timeout: 120_000 }, async () => {
  await using engine = await engineUnderTest()
  await using other = await withSandbox()
  pipeline(engine)
  const eu = () => {
    engine.write(
      'sluice.yaml',
      `credentials: { eu: { base_url: "${other.url}", consumer_key: sandbox-consumer-key, consumer_secret: sandbox-consumer-secret, access_token: 1001-sandbox-access-token, access_token_secret: sandbox-access-token-secret } }\n`,
    )
    engine.pipeline('eu', `${readFileSync(join(engine.folder, 'pipelines', 'customers.yaml'), 'utf8')}credentials: eu\n`)
  }
  eu()
  engine.write('people.csv', people(ann, jane, bob))
  const commandEnding = async (exitCode: number, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await sluiceHere([...args, '--json'], { cwd: engine.folder, env: engine.env })
    expect([code, stderr], args.join(' ')).toEqual([exitCode, expect.any(String)])
    return JSON.parse(stdout)
  }
  const command = async (...args: readonly string[]) => commandEnding(0, ...args)
  await command('run', 'eu')
  await shortenWaits(engine.db)
  const backup = await backUp(engine)
  await command('forget', '--email', canary)
  await command('forget', '--email', canary, '--phone', '+12025550123', '--pipeline', 'eu')
  expect(await command('forget', '--export', 'erasures.json')).toMatchObject({ erasures: 2 })
  expect(await command('forget', '--list')).toMatchObject([
    { id: 'e_2', service: other.url },
    { id: 'e_1', service: engine.sandbox.url },
  ])
  const without = audienceDigest([email('ann@example.com'), email('bob@example.com'), phone('+12025550144')])

  for (const isKnown of [true, false]) {
    await backup.restore()
    await command('db', 'adopt')
    if (!isKnown) rmSync(join(engine.folder, 'pipelines', 'eu.yaml'))
    expect(await commandEnding(isKnown ? 0 : 3, 'forget', '--replay', 'erasures.json')).toMatchObject([
      { service: engine.sandbox.url },
      { service: other.url, audiences: isKnown ? 1 : null },
    ])
    expect(await command('forget', '--replay', 'erasures.json')).toEqual([])
    eu()
    expect(await command('run', 'eu', '--full')).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, valid: 2 } })
    expect((await other.control.audience()).digest).toBe(without)
  }
})

test('a replay suppresses everyone of the file before it sends the first delete', async () => {
  await using engine = await engineUnderTest()
  await shortenWaits(engine.db)
  pipeline(engine)
  engine.write('people.csv', people(ann, jane, bob))
  await engine.run('customers')
  const command = (...args: readonly string[]) => sluiceHere(args, { cwd: engine.folder, env: engine.env })
  for (const mail of [canary, 'ann@example.com']) await command('forget', '--email', mail)
  await command('forget', '--export', 'erasures.json')
  // As in a backup from before the erasures.
  await engine.db.execute('truncate sluice.erasure cascade')
  await engine.run('customers', { full: true })
  const { control } = engine.sandbox
  await control.fault({ path: '/users' }, { kind: 'hold', name: 'delete' })
  const replay = command('forget', '--replay', 'erasures.json', '--json')
  await expect.poll(async () => (await control.holds()).length, { timeout: 20_000 }).toBeGreaterThan(0)
  const erased = await engine.db.query('select from erasure where planned_at is not null')
  await control.release('delete')
  const { code, stdout } = await replay
  expect(erased).toHaveLength(2)
  expect([code, JSON.parse(stdout)]).toMatchObject([
    0,
    [{ id: 'e_3' }, { id: 'e_4' }].map((each) => ({ ...each, deletes: { planned: 2, confirmed: 2 } })),
  ])
  expect(await held(engine)).toBe(audienceDigest([email('bob@example.com'), phone('+12025550144')]))
}, 60_000)

test('every form of an identifier is erased: a phone without plus, both forms of an international domain, any spelling', async () => {
  await using engine = await engineUnderTest()
  await shortenWaits(engine.db)
  pipeline(engine, 'options: { allow: [both_phone_forms, both_idn_forms] }\n')
  engine.write('people.csv', people(ann, 'k2,jane@bücher.example,+12025550123', 'k3,bob@example.com,'))
  await engine.run('customers')
  const forms = [email('jane@bücher.example'), email('jane@xn--bcher-kva.example'), phone('+12025550123'), phone('12025550123')]
  const others = [email('ann@example.com'), email('bob@example.com')]
  expect(await held(engine)).toBe(audienceDigest([...others, ...forms]))

  // As users write them: capitals, the form of the DNS, spaces and brackets in the number.
  const receipt = await sluiceHere(['forget', '--email', ' Jane@XN--BCHER-KVA.example ', '--phone', '+1 (202) 555-0123', '--json'], {
    cwd: engine.folder,
    env: engine.env,
  })
  expect(receipt.code).toBe(0)
  expect(await held(engine)).toBe(audienceDigest(others))

  // Neither form adds the person again, on any row.
  engine.write('people.csv', people(ann, 'k8,jane@xn--bcher-kva.example,', 'k9,,+12025550123', 'k3,bob@example.com,'))
  pipeline(engine)
  expect(await engine.run('customers')).toMatchObject({ counts: { suppressed: 2 } })
  expect(await held(engine)).toBe(audienceDigest(others))
})
