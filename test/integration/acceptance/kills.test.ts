/** Runs killed at any instant: the next run reaches the state of an undisturbed run, with hardly more requests. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { engineUnderTest, expectAgreement } from '../../support/agreement.ts'
import { catalogYaml, type EngineUnderTest } from '../../support/engine.ts'
import { forgetAll } from '../../support/histories.ts'
import { shortenWaits } from '../../support/shortWaits.ts'
import { makeRequestsSmall, withSmallRequests } from '../../support/smallRequests.ts'
import { chance, crm, customer, customers, customersYaml, identifiersOf } from './customers.ts'
import { goodProduct, item, products, rss, expectedProduct } from './products.ts'
import { sandboxAudience, staticListTarget, type PeopleTarget } from './peopleTargets.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const main = join(root, 'src/cli/main.ts')
/** Registers the further type of destination, as its line in src/destinations/index.ts would. */
const withStaticList = { NODE_OPTIONS: `--import=${new URL('../../support/staticList.ts', import.meta.url).href}` }

/** The command without the launcher: one process, so that a signal reaches it. */
function run(
  engine: EngineUnderTest,
  name: string,
  env: Readonly<Record<string, string>> = {},
  killAfterMs?: number,
): Promise<string | number | null> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, [main, 'run', name, '--json'], {
    cwd: engine.folder,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...engine.env, ...env },
    stdio: 'ignore',
  })
  // A test that times out must not leave its process.
  onTestFinished(() => void child.kill('SIGKILL'))
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      resolve(signal ?? code)
    })
  })
}

async function batchesInFlight({ db }: EngineUnderTest): Promise<number> {
  const [row] = await db.query<{ n: string }>(`select count(*) as n from sluice.batch where status = 'in_flight'`)
  return Number(row?.n)
}

/** Wave 0 loads. The next waves change, delete and add some records, so that every phase of a push occurs. */
function waves(engine: EngineUnderTest, target: PeopleTarget = sandboxAudience) {
  // The guard is not tested here.
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 1000 }\n`)
  engine.pipeline('customers', `${customersYaml.replace(/destination: .*/, target.yaml())}guards: { max_delete_count: 1000 }\n`)
  return {
    catalog(n: number): string {
      const rows = [
        ...products(110)
          .slice(n * 3)
          .map((row, i) => (i % 9 === 0 ? goodProduct(i + n * 3, 500 + n) : row)),
        ...products(n * 5, 900),
      ]
      engine.write('feed.xml', rss(rows.map((row) => item(row))))
      return catalogDigest(rows.map(expectedProduct))
    },
    audience(n: number): string {
      const rows = [
        ...customers(300, 51)
          .slice(n * 4)
          .map((row, i) => (i % 20 === n % 20 ? { ...customer(5_000 + 100 * n + i, chance(i)), key: row.key } : row)),
        ...customers(n * 5, 52, 900),
      ]
      engine.write('crm.csv', crm(rows))
      return audienceDigest(identifiersOf(rows))
    },
  }
}

/** Instants of a first load, and of the plan after one that was interrupted. */
const firstLabels = ['plan.keys_stored', 'plan.records_written', 'plan.before_snapshot', 'reconcile.load']
/** Those of product sets need pipelines with sets (sync/productSets.test.ts). */
const labels = labelsOf(join(root, 'src/sync')).filter((label) => !label.startsWith('sets.') && !firstLabels.includes(label))

test('the tests find at least 15 named instants', () => {
  expect(labels.length).toBeGreaterThanOrEqual(15)
})

test.for([sandboxAudience, staticListTarget])(
  'W1 and C6: a catalog and $name have the content of the files although runs are killed at each named instant',
  { tags: ['long'], timeout: 300_000 },
  async (target) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    const { catalog, audience } = waves(engine, target)
    const list = await target.open(engine)
    catalog(0)
    audience(0)
    await engine.run('shop')
    await engine.run('customers')
    let wave = 0
    const due: string[] = []
    const reached: string[] = []
    for (const label of labels) {
      wave++
      const name = wave % 2 === 0 ? 'shop' : 'customers'
      // The catalog is killed at the same places beside either target. For people, this target has half of the places of the audience,
      // because the engine does not distinguish the types of people.
      if (target !== sandboxAudience && wave % 4 !== 1) continue
      due.push(label)
      const expected = name === 'shop' ? catalog(wave) : audience(wave)
      const before = await engine.mark()
      const fault =
        label === 'reconcile.split' || label === 'reconcile.expanded'
          ? { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
          : { kind: 'commit_then_reset' }
      const isFaulty = ['reconcile.ambiguous', 'reconcile.split', 'reconcile.expanded'].includes(label)
      if (isFaulty) await control.fault({ path: '/12/' }, fault)
      const env = {
        ...(target === sandboxAudience ? {} : withStaticList),
        ...(isFaulty ? { STATIC_LIST_FAULT: fault.kind === 'status' ? 'refuse' : 'commit_then_reset' } : {}),
      }
      let inFlight = 0
      if (label === 'settle.opened') {
        await run(engine, name, { ...env, CRASH_AT: 'push.in_flight' })
        // The next run recovers them before it is killed.
        inFlight = await batchesInFlight(engine)
      }
      if ((await run(engine, name, { ...env, CRASH_AT: label })) === 'SIGKILL') reached.push(label)
      inFlight = Math.max(inFlight, await batchesInFlight(engine))
      await control.clearFaults()
      // The killed command used its own horizon of ten seconds. A killed process sends nothing later, so its keys need no wait.
      await engine.db.execute('update sluice.remote set late_until = statement_timestamp() where late_until is not null')
      // Each wave has a new expected state. A plan that is killed before its commit leaves nothing. A plan that is killed after it is
      // continued.
      const report = await engine.run(name)
      expect([label, report.status, report.error?.code]).toEqual([label, 'succeeded', undefined])
      expect([label, name === 'shop' ? (await control.catalog()).digest : await list.digest()]).toEqual([label, expected])
      const sent = await engine.writes(before)
      const repeats = sent.length - new Set(sent.map(({ body_sha256 }) => body_sha256)).size
      expect([label, repeats <= inFlight + 2]).toEqual([label, true])
    }
    expect(reached).toEqual(due)
    expect(await control.violations()).toEqual([])
  },
)

describe('a first load is killed, and the source changes:', () => {
  // A tenth of the people makes as many requests and parts.
  let smallRequests: Disposable
  let engine: EngineUnderTest
  beforeAll(async () => {
    smallRequests = makeRequestsSmall()
    engine = await engineUnderTest({ settings: { horizonMs: 1_000 } })
    // A killed process sends nothing later.
    await shortenWaits(engine.db)
    // The guard is not tested here.
    engine.pipeline('customers', `${customersYaml}guards: { max_delete_count: 100000 }\n`)
  })
  afterAll(async () => {
    await engine[Symbol.asyncDispose]()
    smallRequests[Symbol.dispose]()
  })
  const people = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => ({
      key: `k${from + i}`,
      cells: [`a${from + i}@example.com`, `b${from + i}@example.com`, '', 'US', ''] as const,
      identifiers: [email(`a${from + i}@example.com`), email(`b${from + i}@example.com`)],
    }))

  test.for([
    ...firstLabels.map((label) => [label]),
    ['plan.records_written:2'],
    ['plan.batches_written:2'],
    ['plan.after_commit'],
    ['plan.before_commit:2'],
    ['plan.after_commit:2'],
    ['push.batches_claimed'],
    ['push.in_flight'],
    ['push.answered'],
    ['push.reconciled'],
    ['push.in_flight', 'plan.keys_stored'],
    ['push.reconciled:2', 'plan.before_commit'],
  ])('at %s', { tags: ['long'] }, async (instants) => {
    await forgetAll(engine)
    const { control } = engine.sandbox
    // Three batches, so that some are confirmed and others are not. 750 people are the first part, and the others the second.
    const inParts = instants.some((label) => /^plan\.(\w+:2|before_snapshot)$/.test(label))
    const count = inParts ? 1_600 : 600
    engine.write('crm.csv', crm(people(0, count)))
    for (const label of instants) expect(await run(engine, 'customers', { ...withSmallRequests, CRASH_AT: label })).toBe('SIGKILL')
    const batches = (await engine.db.query('select from batch')).length
    // Before the first commit of a plan there are none. The first part of a load has three.
    if (batches > 0) expect(batches).toBeGreaterThanOrEqual(3)
    const stays = people(40, count + 10)
    engine.write('crm.csv', crm(stays))
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { pending: 0, ambiguous: 0, refused: 0 } })
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(stays)))
    expect((await engine.run('customers')).counts.requests).toBe(0)
    expect(await control.violations()).toEqual([])
    await expectAgreement(engine)
  })
})

test.for(
  ['plan.batches_written', 'reconcile.expanded', 'reconcile.split'].flatMap((label) => [1, 40].map((size) => [label, size] as const)),
)(
  'killed at %s: the next run settles the people of a batch, who have one row for all, %i users per operation',
  { tags: ['long'] },
  async ([label, size]) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('customers', customersYaml.replace('1nmth }', `1nmth, users_per_operation: ${size} }`))
    const rows = Array.from({ length: 40 }, (_, i) => ({
      key: `k${i}`,
      cells: [`a${i}@example.com`, `b${i}@example.com`, '', 'US', ''] as const,
      identifiers: [email(`a${i}@example.com`), email(`b${i}@example.com`)],
    }))
    engine.write('crm.csv', crm(rows))
    await control.fault(
      { path: '/users' },
      { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    )
    expect(await run(engine, 'customers', { CRASH_AT: label })).toBe('SIGKILL')
    const forms = () =>
      engine.db.query('select (select count(*)::int from batch_entries) as together, (select count(*)::int from entry) as each')
    expect(await forms()).toEqual([{ together: label === 'plan.batches_written' ? 0 : 1, each: 0 }])
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { pending: 0, ambiguous: 0, refused: 0 } })
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(rows)))
    expect(await control.violations()).toEqual([])
  },
)

test('killed after a plan with withheld deletes: the next run withholds and reports them too', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(40).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(20).map((row) => item(row))))
  expect(await run(engine, 'shop', { CRASH_AT: 'plan.after_commit' })).toBe('SIGKILL')
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { withheld: 20, deletes: 0 } })
  expect(await engine.run('shop', { approveDeletes: 20 })).toMatchObject({ status: 'succeeded', counts: { deletes: 20 } })
})

test.for(['user', 'identifier'])(
  'killed between a delete that reaches the %s and its update: the identifiers beside the deleted one are sent again',
  async (reach) => {
    await using engine = await engineUnderTest({ settings: { horizonMs: 1_000 } })
    const { control } = engine.sandbox
    await control.switches({ delete_reach: reach })
    engine.pipeline('customers', customersYaml)
    const rows = Array.from({ length: 5 }, (_, i) => ({
      key: `k${i}`,
      cells: [`a${i}@example.com`, `b${i}@example.com`, '', 'US', ''] as const,
      identifiers: [email(`a${i}@example.com`), email(`b${i}@example.com`)],
    }))
    engine.write('crm.csv', crm(rows))
    await engine.run('customers')
    const fewer = rows.map((row) => ({
      ...row,
      cells: [row.cells[0], '', '', 'US', ''] as const,
      identifiers: row.identifiers.slice(0, 1),
    }))
    engine.write('crm.csv', crm(fewer))
    expect(await run(engine, 'customers', { CRASH_AT: 'push.reconciled' })).toBe('SIGKILL')
    expect((await control.audience()).identifiers['email']).toBe(reach === 'user' ? 0 : 5)
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(fewer)))
    expect((await engine.run('customers')).counts.requests).toBe(0)
  },
)

const seed = Number(process.env['SLUICE_SEED'] ?? Date.now() % 1_000_000)

test(`W1: killed at random instants (SLUICE_SEED=${seed}), 6 times, then left alone`, { tags: ['long'], timeout: 180_000 }, async () => {
  // The horizon of the command: it waits for requests that its killed runs left in flight.
  await using engine = await engineUnderTest({ settings: { horizonMs: 10_000 } })
  const { control } = engine.sandbox
  const random = chance(seed)
  const { audience } = waves(engine)
  // Every answer takes a moment, so that some kills hit the middle of a push.
  const slowly = () => control.fault({ path: '/12/accounts' }, { kind: 'delay', ms: 150 }, 4)
  audience(0)
  await slowly()
  const begun = performance.now()
  expect(await run(engine, 'customers')).toBe(0)
  // The duration of a run depends on the machine: a fixed range of milliseconds was once after the end of every run.
  let undisturbedMs = performance.now() - begun
  let expected = ''
  let killed = 0
  for (let i = 1; i <= 6; i++) {
    if (i % 3 === 1) expected = audience(i)
    await slowly()
    const started = performance.now()
    if ((await run(engine, 'customers', {}, (0.2 + random() * 0.8) * undisturbedMs)) === 'SIGKILL') killed++
    // It ended before its kill. On a busy machine the first run may take twice as long as all later ones.
    else undisturbedMs = performance.now() - started
    if (i % 3 === 0) {
      await control.clearFaults()
      const report = await engine.run('customers')
      expect([i, report.status, report.error?.code]).toEqual([i, 'succeeded', undefined])
      expect([i, (await control.audience()).digest]).toEqual([i, expected])
    }
  }
  expect(killed).toBeGreaterThan(0)
  const sent = await engine.writes()
  const repeats = sent.length - new Set(sent.map(({ body_sha256 }) => body_sha256)).size
  expect(repeats).toBeLessThanOrEqual(killed * 4)
  expect(await control.violations()).toEqual([])
})

/** Labels of every crash point below `folder`. */
function labelsOf(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return files
    .flatMap((file) => Array.from(readFileSync(join(folder, file), 'utf8').matchAll(/crashPoint\('([^']+)'\)/g), ([, label = '']) => label))
    .toSorted()
}
