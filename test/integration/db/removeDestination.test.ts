/** `sluice db destinations` and `sluice db remove`: the state of destinations that no pipeline syncs any more. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listReceipts } from '../../../src/db/erasures.ts'
import { claimRun } from '../../../src/db/runs/claim.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { sluiceHere } from '../cli/support.ts'

const jane = 'jane@example.com'
const account = '/12/accounts/18ce54d4x5t/custom_audiences'

/** Two audiences of the same people. `visitors` is `d_2` after `customers` ran. */
async function setUp(): Promise<EngineUnderTest & { readonly visitors: string }> {
  const engine = await engineUnderTest()
  const made = await engine.sandbox.call('POST', account, { query: { name: 'visitors' } })
  const visitors: string = made.body.data.id
  engine.pipeline('customers', people('1nmth'))
  engine.pipeline('visitors', people(visitors))
  engine.write('people.csv', `id,mail\nk1,ann@example.com\nk2,${jane}\nk3,bob@example.com\n`)
  return Object.assign(engine, { visitors })
}

const people = (id: string) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${id} }
`

const call = (engine: EngineUnderTest, ...args: readonly string[]) => sluiceHere(['db', ...args], { cwd: engine.folder, env: engine.env })
const removeFile = (engine: EngineUnderTest, name: string) => rmSync(join(engine.folder, 'pipelines', `${name}.yaml`))

/** Numbers of rows with content of a destination, by table; tables without such rows are left out. */
async function stored({ db }: EngineUnderTest, destinationId: number): Promise<Readonly<Record<string, number>>> {
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.columns where table_schema = 'sluice' and column_name = 'destination_id'`,
  )
  // Rows that stay: the history, the digests that keep erased people out, and declared schedules.
  const history = ['run', 'plan', 'snapshot', 'erased_key', 'pipeline_schedule', 'tick', 'pipeline_pause']
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    if (history.includes(name)) continue
    const content = name === 'batch' ? 'and body is not null' : ''
    const [row] = await db.query<{ n: number }>(`select count(*)::int as n from sluice."${name}" where destination_id = $1 ${content}`, [
      destinationId,
    ])
    if (row !== undefined && row.n > 0) counts[name] = row.n
  }
  return counts
}

test('an audience that is gone at the service keeps an erasure open, until its state is removed', async () => {
  await using engine = await setUp()
  await engine.run('customers')
  await engine.run('visitors')
  expect((await engine.sandbox.call('DELETE', `${account}/${engine.visitors}`)).status).toBe(200)
  const keys = await erasedKeysOf(engine.deps, { emails: [jane], phones: [], keys: [] }, undefined)
  const receipt = await forget(engine.deps, keys, { actor: 'test', wait: true })
  expect(receipt).toMatchObject({ audiences: 2, deletes: { planned: 4, confirmed: 2 }, purgedAt: null })

  const listed = JSON.parse((await call(engine, 'destinations', '--json')).stdout)
  expect(listed).toMatchObject([
    { id: 'd_1', kind: 'audience', targetId: '1nmth', rows: 3, openErasureDeletes: 0, usedBy: ['customers'] },
    { id: 'd_2', kind: 'audience', targetId: engine.visitors, rows: 3, openErasureDeletes: 2, usedBy: ['visitors'] },
  ])
  const used = await call(engine, 'remove', 'd_2', '--yes')
  expect([used.code, used.stderr]).toEqual([2, expect.stringContaining('DESTINATION_IN_USE')])
  removeFile(engine, 'visitors')
  expect((await call(engine, 'destinations')).stdout).toMatch(/^d_2 .* no pipeline here .*2 open deletes of erasures$/m)
  const before = await stored(engine, 2)
  const preview = await call(engine, 'remove', 'd_2')
  expect([preview.code, preview.stdout]).toEqual([0, expect.stringMatching(/2 open deletes of erasures[\s\S]*Nothing was removed/)])
  expect(await stored(engine, 2)).toEqual(before)
  const kept = await stored(engine, 1)

  const removed = await call(engine, 'remove', 'd_2', '--yes', '--reason', 'ticket 12', '--json')
  expect([removed.code, JSON.parse(removed.stdout)]).toEqual([0, { id: 'd_2', removed: true, records: 2, requests: 2, erasureDeletes: 2 }])
  expect(await stored(engine, 2)).toEqual({})
  expect(await stored(engine, 1)).toEqual(kept)
  const [completed] = await listReceipts(engine.db)
  expect(completed).toMatchObject({ deletes: { planned: 2, confirmed: 2 }, purgedAt: expect.any(String) as string })
  const lines = await engine.db.query<{ detail: object }>(`select detail from sluice.audit where what = 'destination.removed'`)
  expect(lines).toMatchObject([{ detail: { destination: 2, records: 2, requests: 2, erasureDeletes: 2, reason: 'ticket 12' } }])
  expect(await engine.run('customers')).toMatchObject({ status: 'succeeded' })
})

test('a removed audience that a pipeline uses again is loaded as a new one', async () => {
  await using engine = await setUp()
  await engine.run('visitors')
  // A person opts out in a read that a guard stops: until the next run, a backfill would be refused.
  engine.write('people.csv', `id,mail,ok,newsletter\nk1,ann@example.com,yes,yes\nk2,${jane},no,yes\nk3,bob@example.com,yes,yes\n`)
  engine.pipeline('visitors', `${people(engine.visitors)}consent: { column: ok, values: ["yes"] }\n`)
  expect(await engine.run('visitors')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNMAPPED' }] })
  removeFile(engine, 'visitors')
  expect((await call(engine, 'remove', 'd_1', '--yes')).stdout).toContain('the stored state of 3 people')
  const marked = await engine.db.query(`select from sluice.snapshot where counts ? 'unplannedOptOuts' or status <> 'discarded'`)
  expect(marked).toEqual([])
  expect((await engine.sandbox.control.audience(engine.visitors)).members).toBe(3)

  engine.pipeline('visitors', people(engine.visitors))
  // Half of the rows are missing. Nothing is known about them, so no guard fires and nothing is deleted.
  engine.write('people.csv', `id,mail\nk1,ann@example.com\n`)
  expect(await engine.run('visitors')).toMatchObject({ status: 'succeeded', counts: { creates: 1, deletes: 0, confirmed: 1 }, guards: [] })
  engine.write('people.csv', `id,mail\nk1,ann@example.com\nk4,eve@example.com\n`)
  expect(await engine.run('visitors')).toMatchObject({ status: 'succeeded', counts: { creates: 1, deletes: 0, confirmed: 1 } })
  expect((await engine.sandbox.control.audience(engine.visitors)).digest).toBe(
    audienceDigest(['ann@example.com', jane, 'bob@example.com', 'eve@example.com'].map((address) => email(address))),
  )
})

test('open requests and plans of a removed destination are never sent', async () => {
  await using engine = await setUp()
  engine.pipeline('shop', catalogYaml('feed.csv'))
  const row = (id: number) =>
    `p${id},Cup ${id},A cup,https://shop.example.com/${id},https://shop.example.com/${id}.png,in stock,new,9.50 EUR,Acme`
  const feed = (count: number) =>
    engine.write(
      'feed.csv',
      `id,title,description,link,image_link,availability,condition,price,brand\n${Array.from({ length: count }, (_, i) => row(i)).join('\n')}\n`,
    )
  feed(60)
  await interruptedRun(engine, 'shop', 'stop')
  feed(70)
  const plan = await engine.plan('shop')
  removeFile(engine, 'shop')
  const removed = JSON.parse((await call(engine, 'remove', 'd_1', '--yes', '--json')).stdout)
  expect(removed).toMatchObject({ removed: true, records: 70 })
  expect(removed.requests).toBeGreaterThan(0)
  expect(await stored(engine, 1)).toEqual({})
  const shown = await sluiceHere(['show', 'r_1'], { cwd: engine.folder, env: engine.env })
  expect(shown.stdout).toMatch(/^The state of its destination was removed at \S+Z \(sluice db remove\)/m)
  expect(shown.stdout).not.toContain('Next  ')
  const before = await engine.mark()
  expect(await engine.apply(plan.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await engine.writes(before)).toEqual([])
})

test('a destination with a run in progress, a do-not-reach list and an unknown id are not removed', async () => {
  await using engine = await setUp()
  await engine.run('visitors')
  removeFile(engine, 'visitors')
  const runId = (await requestRun(engine.db, { pipeline: 'visitors', destinationId: 1, trigger: 'manual' })) ?? 0
  const before = await stored(engine, 1)
  for (const claim of [false, true]) {
    if (claim) await claimRun(engine.db, runId, { workerId: engine.deps.workerId, leaseMs: 60_000, fence: engine.deps.service })
    const held = await call(engine, 'remove', 'd_1', '--yes', '--json')
    expect([held.code, JSON.parse(held.stdout)]).toMatchObject([5, { error: { code: 'PIPELINE_HELD' } }])
  }
  expect(await stored(engine, 1)).toEqual(before)
  engine.pipeline(
    'list',
    people('').replace(/destination: .*/, 'destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2nmth }'),
  )
  await engine.run('list')
  removeFile(engine, 'list')
  const list = await call(engine, 'remove', 'd_2', '--yes', '--json')
  expect([list.code, JSON.parse(list.stdout)]).toMatchObject([2, { error: { code: 'DESTINATION_IN_USE' } }])
  expect(await stored(engine, 2)).toHaveProperty('record')
  for (const id of ['d_9', '1', 'visitors']) {
    const unknown = await call(engine, 'remove', id, '--yes', '--json')
    expect([unknown.code, JSON.parse(unknown.stdout)]).toMatchObject([2, { error: { code: 'UNKNOWN_DESTINATION' } }])
  }
})
