/**
 * Random histories of an account: two audiences from one export with consent, and its do-not-reach list. They have changes, erasures,
 * faults, power failures at any statement, stored plans, retention and renewals. After each step the reference counts, the search for
 * implied keys and the changed keys agree with the records. At the end the service has the content of the files.
 */
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { isOutOfSync } from '../../../src/db/changedKeys.ts'
import { findImpliedKeys } from '../../../src/db/impliedKeySearch.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import type { RunReport } from '../../../src/model/report.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { audienceDigest, email, sha256 } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { outOfOrder } from '../../support/attemptOrder.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { runWithPowerFailure, withPowerFailure } from '../../support/powerFailure.ts'
import { everyKey } from '../../support/everyKey.ts'
import { emptyDatabase, histories, untilQuiet } from '../../support/histories.ts'

const people = Array.from({ length: 10 }, (_, i) => `p${i}`)
const addresses = Array.from({ length: 9 }, (_, i) => `a${i}@example.com`)
const faults = ['none', 'none', 'none', 'counts', 'commit_then_reset', 'truncate', 'html', 'status', 'reset', 'partial_apply'] as const
const feeds = ['first', 'second', 'optouts'] as const

interface Step {
  /** Addresses and consent by person. A person without an address is missing. */
  readonly hold: readonly (readonly [person: string, addresses: readonly string[], consent: boolean])[]
  readonly list: readonly (readonly [address: string, listed: boolean])[]
  readonly fault: (typeof faults)[number]
  readonly nth: number
  readonly feed: (typeof feeds)[number]
  readonly how: 'run' | 'full' | 'plan' | 'apply' | 'late' | 'stop' | 'die' | 'planned' | 'power' | 'failed'
  /** Statement before which the power fails. */
  readonly statement: number
  readonly also: 'nothing' | 'month' | 'years' | 'ending' | 'forget' | 'forgetKey' | 'forgetLater' | 'forgetPower'
  readonly person: string
  readonly address: string
}

const step: fc.Arbitrary<Step> = fc.record({
  hold: fc.array(
    fc.tuple(
      fc.constantFrom(...people),
      fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 3 }),
      fc.constantFrom(true, true, true, true, false),
    ),
    { maxLength: 5 },
  ),
  list: fc.array(fc.tuple(fc.constantFrom(...addresses), fc.boolean()), { maxLength: 2 }),
  fault: fc.constantFrom(...faults),
  nth: fc.integer({ min: 1, max: 3 }),
  feed: fc.constantFrom('first', 'first', 'second', 'optouts'),
  how: fc.constantFrom('run', 'run', 'run', 'full', 'plan', 'apply', 'late', 'stop', 'die', 'planned', 'power', 'power', 'failed'),
  statement: fc.integer({ min: 1, max: 260 }),
  also: fc.constantFrom(
    'nothing',
    'nothing',
    'nothing',
    'nothing',
    'nothing',
    'nothing',
    'month',
    'years',
    'ending',
    'forget',
    'forgetKey',
    'forgetLater',
    'forgetPower',
  ),
  person: fc.constantFrom(...people),
  address: fc.constantFrom(...addresses),
})

const peopleYaml = (audience: string, guard: number, packed: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${audience}, users_per_operation: ${packed} }
guards: { max_delete_count: ${guard}, max_delete_percent: 0, min_rows: 0 }
`
const listYaml = `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`

const keyOf = (address: string) => Buffer.from(`01${email(address)[1]}`, 'hex')

test(
  'after any history, the audiences of an account have the people of the files who may be reached',
  { tags: ['model'], timeout: 600_000 },
  async () => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, usersInFirstPart: 2 } })
    const { control } = engine.sandbox
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 10 }),
        fc.constantFrom('user', 'identifier'),
        fc.constantFrom(0, 2, 1_000, 1_000),
        fc.constantFrom(1, 1, 4),
        async (steps, reach, guard, packed) => {
          await control.reset()
          await control.switches({ delete_reach: reach })
          await emptyDatabase(engine.db)
          const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'second' } })
          const audiences = { first: '1nmth', second: String(made.body.data.id) }
          engine.pipeline('first', peopleYaml(audiences.first, guard, packed))
          engine.pipeline('second', peopleYaml(audiences.second, guard, packed))
          engine.pipeline('optouts', listYaml)
          const held = new Map<string, { readonly addresses: readonly string[]; readonly consent: boolean }>()
          const listed = new Map<string, boolean>()
          const stored = new Map<string, string>()
          const write = () => {
            const rows = Array.from(
              held,
              ([id, { addresses: some, consent }]) => `${id},${[0, 1, 2].map((i) => some[i] ?? '').join(',')},${consent ? 'yes' : 'no'}\n`,
            )
            engine.write('people.csv', `id,e1,e2,e3,ok\n${rows.join('')}keep,keep@example.org,,,yes\n`)
            const names = Array.from(listed, ([address, on]) => `${address},${on ? 'out' : 'back'}\n`)
            engine.write('optouts.csv', `email,status\n${names.join('')}other@example.org,out\n`)
          }
          write()
          for (const one of steps) {
            for (const [person, some, consent] of one.hold)
              some.length === 0 ? held.delete(person) : held.set(person, { addresses: some, consent })
            for (const [address, on] of one.list) listed.set(address, on)
            write()
            if (one.fault !== 'none')
              await control.fault(
                { path: '/12/', nth: one.nth },
                one.fault === 'status' ? { kind: 'status', status: 503 } : { kind: one.fault },
              )
            await happen(engine, one, stored)
            await control.clearFaults()
            await also(engine, one)
            await check(engine)
          }
          await untilQuiet(3, async () => {
            const reports: RunReport[] = []
            for (const name of ['optouts', 'first', 'second']) {
              const report = await engine.run(name, { approveDeletes: 1_000 })
              reports.push(report)
              expect([name, report.error]).toEqual([name, undefined])
              expect(imbalance(report.counts)).toEqual([])
              await check(engine)
            }
            return reports
          })
          const off = new Set([...listed].flatMap(([address, on]) => (on ? [address] : [])))
          expect((await control.audience('2dnr')).digest).toBe(audienceDigest([...off, 'other@example.org'].map(email)))
          for (const [i, audience] of [audiences.first, audiences.second].entries()) {
            const desired = await reachable(engine, i === 0 ? 'first' : 'second', held, off)
            expect([audience, (await control.audience(audience)).digest]).toEqual([
              audience,
              audienceDigest([...desired, 'keep@example.org'].map(email)),
            ])
          }
          expect((await control.violations()).filter(({ rule }) => rule !== 'same_body_at_once')).toEqual([])
          expect(await outOfOrder(engine.db)).toEqual([])
          const after = await engine.mark()
          for (const name of feeds) expect((await engine.run(name)).counts).toMatchObject({ requests: 0, withheld: 0 })
          expect(await engine.writes(after)).toEqual([])
        },
      ),
      { ...histories(3), seed: Number(process.env['SLUICE_SEED'] ?? 20_261_123) },
    )
  },
)

/** Addresses of the rows with consent that may be reached: neither listed nor erased, nor opted out by another row. */
async function reachable(
  engine: EngineUnderTest,
  name: string,
  held: ReadonlyMap<string, { readonly addresses: readonly string[]; readonly consent: boolean }>,
  off: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { id } = (await engine.db.query<{ id: number }>('select min(destination_id) as id from plan where pipeline = $1', [name]))[0] ?? {
    id: 0,
  }
  const rows = await engine.db.query<{ destination_id: number; key: Buffer }>('select destination_id, key from sluice.erased_key')
  const erased = new Set(rows.flatMap((row) => (row.destination_id === 0 || row.destination_id === id ? [row.key.toString('hex')] : [])))
  const optedOut = new Set([...held.values()].flatMap(({ addresses: some, consent }) => (consent ? [] : some)))
  return [...held].flatMap(([person, { addresses: all, consent }]) => {
    const some = all.filter((address) => !optedOut.has(address))
    if (!consent || some.length === 0) return []
    if (some.some((address) => off.has(address) || erased.has(keyOf(address).toString('hex')))) return []
    return erased.has(sha256(person).slice(0, 32)) ? [] : some
  })
}

async function happen(engine: EngineUnderTest, { feed, how, statement }: Step, stored: Map<string, string>): Promise<void> {
  if (how === 'plan') stored.set(feed, (await engine.plan(feed)).planId)
  else if (how === 'late') {
    const planId = stored.get(feed)
    const report = planId === undefined ? undefined : await engine.apply(planId)
    expect([undefined, 'PLAN_STALE', 'DESTINATION_PAUSED']).toContain(report?.error?.code)
  } else if (how === 'apply') await engine.apply((await engine.plan(feed)).planId)
  else if (how === 'power') await runWithPowerFailure(engine, feed, statement)
  else if (how === 'stop' || how === 'die' || how === 'planned') await interruptedRun(engine, feed, how)
  else {
    const report = await engine.run(feed, how === 'full' ? { full: true } : {})
    expect([feed, how, report.error]).toEqual([feed, how, undefined])
    expect(imbalance(report.counts)).toEqual([])
    if (how === 'failed') expect(imbalance((await engine.rerun(report.runId, { failedOnly: true })).counts)).toEqual([])
  }
}

async function also(engine: EngineUnderTest, { also: what, person, address, feed, statement }: Step): Promise<void> {
  if (what === 'month' || what === 'years') {
    await pass(engine, what === 'month' ? 40 : 500)
    await applyRetention(engine.db)
  } else if (what === 'ending') {
    const soon = `clock_timestamp() + interval '20 days'`
    await engine.db.execute(`update batch set expires_at = ${soon} where status = 'settled' and expires_at is not null`)
    await engine.db.execute(`update remote set expires_at = ${soon} where expires_at is not null`)
  } else if (what !== 'nothing') {
    const named = { emails: what === 'forgetKey' ? [] : [address], phones: [], keys: what === 'forgetKey' ? [person] : [] }
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), feed === 'optouts' ? 'first' : feed)
    const keys = await erasedKeysOf(engine.deps, named, pipeline)
    const options = { actor: 'test', wait: what !== 'forgetLater' }
    if (what === 'forgetPower') await withPowerFailure(engine, statement % 60, (deps) => forget(deps, keys, options))
    else await forget(engine.deps, keys, options)
  }
}

/** Everything but memberships is that much older. */
async function pass(engine: EngineUnderTest, days: number): Promise<void> {
  for (const [table, ...columns] of [
    ['batch', 'settled_at'],
    ['plan', 'created_at', 'applied_at'],
    ['run', 'started_at', 'finished_at', 'queued_at'],
    ['snapshot', 'opened_at', 'closed_at'],
  ]) {
    const known = await engine.db.query<{ c: string }>(
      `select column_name as c from information_schema.columns where table_schema = 'sluice' and table_name = $1 and column_name = any($2)`,
      [table, columns],
    )
    if (known.length > 0)
      await engine.db.execute(`update ${table} set ${known.map(({ c }) => `${c} = ${c} - $1 * interval '1 day'`).join(', ')}`, [days])
  }
}

async function check(engine: EngineUnderTest): Promise<void> {
  const { db } = engine
  const twice = await db.query(
    `select destination_id, encode(key, 'hex') from ${everyKey} m group by destination_id, key having count(*) > 1`,
  )
  expect(twice).toEqual([])
  const counts = await db.query(
    `with named as (
       select r.destination_id, i.key, count(*)::int as n from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (key) group by 1, 2)
     select destination_id, encode(key, 'hex') as key, m.ref_count, n.n from ${everyKey} m full join named n using (destination_id, key)
     where coalesce(m.ref_count, 0) <> coalesce(n.n, 0)`,
  )
  expect(counts).toEqual([])
  const overlooked = await db.query(
    `select m.key from remote m join destination d on d.id = m.destination_id
     where not d.all_changed and ${isOutOfSync} and not exists (
       select from changed_key c where c.destination_id = m.destination_id and m.key = any(c.keys))`,
  )
  expect(overlooked).toEqual([])
  const implied = await db.query<{ destination_id: number; key: Buffer }>(
    `select m.destination_id, m.key from ${everyKey} m where not exists (
       select from remote s where s.destination_id = m.destination_id and s.key = m.key)`,
  )
  for (const [id, some] of Map.groupBy(implied, (row) => row.destination_id)) {
    const found = await findImpliedKeys(
      db,
      id,
      some.map(({ key }) => key),
    )
    expect([id, found.map(({ identifier }) => identifier.toString('hex')).toSorted()]).toEqual([
      id,
      some.map(({ key }) => key.toString('hex')).toSorted(),
    ])
  }
}
