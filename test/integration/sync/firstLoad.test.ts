/** An untouched destination is loaded without a diff; the general path is its oracle. */
import fc from 'fast-check'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { bodyColumns, bodyOf, entriesOf, type BodyRow } from '../../../src/db/entries/read.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'
import { planPipeline } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'
import { everyKey } from '../../support/everyKey.ts'

const people = (audience: string, packed: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3], partner_user_id: partner, expires_at: ends }
consent: { column: consent, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${audience}, users_per_operation: ${packed} }
guards: { min_rows: 0, max_reject_percent: 100 }
`
const catalog = (id: string) => catalogYaml('feed.xml').replace('4001', id) + 'guards: { min_rows: 0, max_reject_percent: 100 }\n'

/** Plans `name` into its untouched destination, and `other` into one with a stored key that changes nothing. */
async function planBoth(engine: EngineUnderTest, name: string, other: string): Promise<[unknown, unknown]> {
  const first = await contentOf(engine, (await engine.plan(name)).planId)
  // A guard stops it, so that its destination exists and is empty.
  const id = await destinationOf(engine, other)
  await engine.db.execute(`insert into remote (destination_id, key, ref_count) values ($1, '\\x00', 0)`, [id])
  return [first, await contentOf(engine, (await engine.plan(other)).planId)]
}

async function destinationOf(engine: EngineUnderTest, pipeline: string): Promise<number> {
  const [kind, target] = pipeline === 'people2' ? ['audience', 'aud2'] : ['catalog', '4002']
  const [row] = await engine.db.query<{ id: number }>(
    `insert into destination (service, kind, account_id, target_id) values ($1, $2, $3, $4) returning id`,
    [engine.deps.service.origin, kind, kind === 'audience' ? '18ce54d4x5t' : '', target],
  )
  return row?.id ?? 0
}

/** Rows that a plan wrote, without row numbers and times. */
async function contentOf(engine: EngineUnderTest, planId: string): Promise<unknown> {
  const [plan] = await engine.db.query<{ destination_id: number; counts: unknown; guards: unknown }>(
    'select destination_id, counts, guards from plan where id = $1',
    [planId],
  )
  const of = (columns: string, from: string) => engine.db.query(`select ${columns} from ${from}`, [plan?.destination_id])
  const bodies = await engine.db.query<BodyRow & Record<string, unknown>>(
    `select ${bodyColumns} from batch b where destination_id = $1 order by seq`,
    [plan?.destination_id],
  )
  return {
    counts: plan?.counts,
    guards: plan?.guards,
    records: await of(
      `key, hash, body, ${rowIdentifiers('record')} as identifiers, effective_at, expires_at, line, status`,
      'record where destination_id = $1 order by key',
    ),
    keys: await of(
      'key, ref_count, group_key, desired_hash, synced_hash',
      `${everyKey} m where destination_id = $1 and key <> '\\x00' order by key`,
    ),
    batches: await of('seq, phase, operation, entry_count, user_count', 'batch b where destination_id = $1 order by seq'),
    bodies: bodies.map((row) =>
      bodyOf(row)
        .toString()
        .replace(/"(effective|expires)_at":"[^"]*"/g, ''),
    ),
    entries: await of(
      'b.seq, e.ord, e.record_key, e.keys, e.change, e.hash, e.users, e.byte_offset, e.byte_length',
      `batch b cross join ${entriesOf('b.id')} e where b.destination_id = $1 order by 1, 2`,
    ),
  }
}

const address = fc.integer({ min: 0, max: 14 }).map((n) => `a${n}@example.com`)
const row = fc.record({
  id: fc.integer({ min: 0, max: 60 }),
  emails: fc.uniqueArray(address, { maxLength: 3 }),
  consent: fc.constantFrom('yes', 'yes', 'yes', 'no'),
  ends: fc.constantFrom('', '', '2090-05-01T00:00:00Z'),
  /** As long as a digest, but sent as plain text. */
  partner: fc.constantFrom('p', 'q').map((letter) => letter.repeat(32)),
})

test('a first load of members stores the same state as the general path, with shared addresses and times of rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        rows: fc.oneof(fc.array(row, { maxLength: 10 }), fc.array(row, { minLength: 20, maxLength: 40 })),
        shared: fc.boolean(),
        // Without times and partner ids keys are implied, and records are inserted in steps.
        timed: fc.constantFrom(false, false, false, true),
        partners: fc.constantFrom(false, false, false, true),
        packed: fc.constantFrom(1, 1, 3),
        // A step has five times as many users.
        usersInFirstPart: fc.constantFrom(1, 2, 7_500),
      }),
      async ({ rows, shared, timed, partners, packed, usersInFirstPart }) => {
        await using engine = await engineUnderTest({ settings: { usersInFirstPart } })
        engine.pipeline('people', people('aud1', packed))
        engine.pipeline('people2', people('aud2', packed))
        const lines = rows.map(({ id, emails, consent, ends, partner }) => {
          const [a = '', b = '', c = ''] = shared ? emails : emails.map((email) => `of${id}.${email}`)
          return `${id},${a},${b},${c},${consent},${timed ? ends : ''},${partners ? partner : ''}\n`
        })
        engine.write('people.csv', `id,e1,e2,e3,consent,ends,partner\nfirst,first@example.com,a1@example.com,,yes,,\n${lines.join('')}`)
        const [first, general] = await planBoth(engine, 'people', 'people2')
        expect(first).toEqual(general)
      },
    ),
    { numRuns: 20 },
  )
})

test('a first load of a catalog stores the same state as the general path', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalog('4001'))
  engine.pipeline('shop2', catalog('4002'))
  const ids = ['a', 'A', 'b', 'É', 'é', 'B']
  const products = [...ids.map((id, i) => ({ ...goodProduct(i), id })), ...Array.from({ length: 60 }, (_, i) => goodProduct(10 + i))]
  engine.write('feed.xml', rss([...products.map((product) => item(product)), item({ ...goodProduct(99), price: 'free' })]))
  const [first, general] = await planBoth(engine, 'shop', 'shop2')
  expect(first).toEqual(general)
})

test('a first load whose end is not proven reports that, and sends its rows', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    people('1nmth', 1).replace('people.csv" }', 'people.csv", complete: { trailer: "#rows={n}" } }').replace('min_rows: 0', 'min_rows: 5'),
  )
  engine.write('people.csv', 'id,e1,e2,e3,consent,ends,partner\n1,a@example.com,b@example.com,,yes,,\n2,b@example.com,,,yes,,\n')
  const report = await engine.run('people')
  expect(report).toMatchObject({ status: 'withheld', counts: { creates: 1, confirmed: 1, withheld: 0, unchanged: 1 } })
  expect(report.guards.map(({ code }) => code)).toEqual(['GUARD_MIN_ROWS', 'GUARD_INCOMPLETE'])
  expect((await engine.sandbox.control.audience()).members).toBe(1)
})

test('a plan that fails while the next records are inserted stores nothing, and reports its error', async () => {
  await using engine = await engineUnderTest({ settings: { usersInFirstPart: 1 } })
  engine.pipeline('people', people('1nmth', 1))
  const rows = Array.from({ length: 40 }, (_, i) => `${i},a${i}@example.com,,,yes,,\n`)
  engine.write('people.csv', `id,e1,e2,e3,consent,ends,partner\n${rows.join('')}`)
  const onProgress: EngineDeps['onProgress'] = ({ stage, done }) => {
    if (stage === 'plan' && done > 0) throw new Error('no space left on the screen')
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  await expect(planPipeline({ ...engine.deps, onProgress }, pipeline)).rejects.toThrow('no space left on the screen')
  expect(await engine.db.query('select from record union all select from batch union all select from plan')).toEqual([])
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 40, confirmed: 40 } })
})
