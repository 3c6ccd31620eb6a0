/**
 * Random days of an audience and its account's do-not-reach list, with faults, stops and reruns, against a model of two maps. The model
 * has these rules (docs/guarantees.md#nothing-lost, docs/guarantees.md#mass-delete-guard, docs/guarantees.md#suppression-wins,
 * docs/guarantees.md#reference-counts):
 * - A person on the list by any of their addresses is not sent.
 * - An address is kept while a person who is not on the list has it.
 * - A withheld delete stays withheld until it is approved.
 * - A do-not-reach list with a key has every address that its rows ever had, until a row removes it (docs/consent.md#do-not-reach-lists).
 *   If another row removes the address of one of several rows, the list keeps the addresses of the others.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { entriesOf, entryOutcome } from '../../../src/db/entries/read.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { outOfOrder } from '../../support/attemptOrder.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { faultOf, sandboxAudience, staticListTarget, type PeopleTarget } from '../acceptance/peopleTargets.ts'
import { everyKey } from '../../support/everyKey.ts'
import { emptyDatabase, histories, runEach, untilQuiet } from '../../support/histories.ts'

const people = Array.from({ length: 10 }, (_, i) => `p${i}`)
const addresses = Array.from({ length: 8 }, (_, i) => `a${i}@example.com`)
const faults = [
  'none',
  'none',
  'counts',
  'commit_then_reset',
  'truncate',
  'html',
  'status',
  'reset',
  'partial_apply',
  'refuse',
  'refuse_one',
] as const

interface Day {
  readonly hold: readonly (readonly [person: string, addresses: readonly string[]])[]
  /** Place of a row in the list, and its new content. */
  readonly list: readonly (readonly [place: number, row: ListRow])[]
  readonly fault: (typeof faults)[number]
  readonly feed: 'people' | 'optouts'
  /** `late`: the plan that was stored last is applied, after any later changes. */
  readonly how: 'run' | 'full' | 'plan' | 'apply' | 'late' | 'stop' | 'die' | 'failed'
}

interface ListRow {
  readonly key: string
  readonly address: string
  readonly status: 'out' | 'back'
}

const listRow: fc.Arbitrary<ListRow> = fc.record({
  key: fc.constantFrom('k0', 'k1', 'k2', 'k3'),
  address: fc.constantFrom(...addresses),
  status: fc.constantFrom('out', 'back'),
})

const day: fc.Arbitrary<Day> = fc.record({
  hold: fc.array(fc.tuple(fc.constantFrom(...people), fc.uniqueArray(fc.constantFrom(...addresses), { maxLength: 3 })), { maxLength: 5 }),
  list: fc.array(fc.tuple(fc.nat(7), listRow), { maxLength: 2 }),
  fault: fc.constantFrom(...faults),
  feed: fc.constantFrom('people', 'people', 'optouts'),
  how: fc.constantFrom('run', 'run', 'full', 'plan', 'plan', 'apply', 'late', 'late', 'stop', 'die', 'failed'),
})

/**
 * An unresolved update contains a user with two addresses, and the next file has only one of them. The other is deleted, and the one is
 * sent again alone.
 */
const erasedBesideOthers: [Day[], 'identifier', 1, 2, false] = [
  [
    {
      hold: [
        ['p0', ['a4@example.com']],
        ['p3', ['a6@example.com', 'a2@example.com']],
      ],
      list: [],
      fault: 'commit_then_reset',
      feed: 'people',
      how: 'die',
    },
    { hold: [['p3', ['a6@example.com']]], list: [], fault: 'none', feed: 'people', how: 'apply' },
  ],
  'identifier',
  1,
  2,
  false,
]

/**
 * An address of an unresolved update is missing in one file, and the next file has it again. The update is sent again before a newer one.
 */
const desiredAgain: [Day[], 'identifier', 1, 0, false] = [
  [
    { hold: [['p7', ['a7@example.com', 'a1@example.com']]], list: [], fault: 'none', feed: 'people', how: 'run' },
    { hold: [['p7', ['a7@example.com', 'a2@example.com']]], list: [], fault: 'commit_then_reset', feed: 'people', how: 'stop' },
    { hold: [['p7', ['a7@example.com', 'a1@example.com']]], list: [], fault: 'none', feed: 'people', how: 'plan' },
    { hold: [['p9', ['a7@example.com', 'a2@example.com']]], list: [], fault: 'none', feed: 'people', how: 'run' },
  ],
  'identifier',
  1,
  0,
  false,
]

/** The address of a row of a list with a key changes, and the earlier one stays on the list. */
const changedAddress: [Day[], 'identifier', 1, 1000, true] = [
  ['a0@example.com', 'a1@example.com'].map((address) => ({
    hold: [['p0', ['a0@example.com']]],
    list: [[0, { key: 'k0', address, status: 'out' }]],
    fault: 'none',
    feed: 'optouts',
    how: 'run',
  })),
  'identifier',
  1,
  1000,
  true,
]

/** A row with another key removes the address of one of two rows with one key. */
const oneOfTwoRemoved: [Day[], 'identifier', 1, 0, true] = [
  [
    {
      hold: [['p0', ['a4@example.com']]],
      list: [
        [0, { key: 'k1', address: 'a7@example.com', status: 'out' }],
        [1, { key: 'k1', address: 'a4@example.com', status: 'out' }],
        [2, { key: 'k3', address: 'a7@example.com', status: 'back' }],
      ],
      fault: 'none',
      feed: 'optouts',
      how: 'run',
    },
  ],
  'identifier',
  1,
  0,
  true,
]

/** The address of a row changes, and another row removes the new one. The earlier one stays on the list, with one row or two of its key. */
const newAddressRemoved: [Day[], 'identifier', 1, 0, true] = [
  [
    {
      hold: [['p0', ['a4@example.com']]],
      list: [
        [0, { key: 'k1', address: 'a4@example.com', status: 'out' }],
        [1, { key: 'k2', address: 'a5@example.com', status: 'out' }],
      ],
      fault: 'none',
      feed: 'optouts',
      how: 'run',
    },
    {
      hold: [['p1', ['a5@example.com']]],
      list: [
        [0, { key: 'k1', address: 'a7@example.com', status: 'out' }],
        [1, { key: 'k2', address: 'a7@example.com', status: 'out' }],
        [2, { key: 'k2', address: 'a6@example.com', status: 'out' }],
        [3, { key: 'k3', address: 'a7@example.com', status: 'back' }],
        [4, { key: 'k0', address: 'a6@example.com', status: 'back' }],
      ],
      fault: 'none',
      feed: 'optouts',
      how: 'run',
    },
  ],
  'identifier',
  1,
  0,
  true,
]

const peopleYaml = (target: PeopleTarget, packed: number, guard: number) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
${target.yaml(`, users_per_operation: ${packed}`)}
guards: { max_delete_count: ${guard}, max_delete_percent: 0, min_rows: 0 }
`
const listYaml = (keyed: boolean) => `source: { url: "{folder}/optouts.csv" }
map: { ${keyed ? 'key: key, ' : ''}email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`

/** Model of a do-not-reach list: addresses by key. \`read\` changes it as a read of these rows does. */
class ListModel {
  readonly #keyed: boolean
  #records = new Map<string, ReadonlySet<string>>()

  constructor(keyed: boolean) {
    this.#keyed = keyed
  }

  read(rows: readonly ListRow[]): void {
    const byKey = Map.groupBy(rows, ({ key, address }) => (this.#keyed ? key : address))
    const removing = [...byKey].flatMap(([key, some]) => (some.some(({ status }) => status === 'back') ? [key] : []))
    const removed = new Set(removing.flatMap((key) => byKey.get(key) ?? []).map(({ address }) => address))
    const read = new Map(
      [...byKey].map(([key, some]) => {
        const listed = some.flatMap(({ address }) => (removed.has(address) ? [] : [address]))
        const earlier = [...(this.#records.get(key) ?? [])].filter((address) => !removed.has(address))
        return [key, new Set([...listed, ...earlier])] as const
      }),
    )
    const records = new Map([...this.#records, ...read])
    this.#records = new Map(
      [...records].filter(([key, some]) => !removing.includes(key) && ![...some].some((address) => removed.has(address))),
    )
  }

  get addresses(): ReadonlySet<string> {
    return new Set([...this.#records.values()].flatMap((some) => [...some]))
  }
}

test.for([sandboxAudience, staticListTarget])(
  'after any history, $name and a do-not-reach list have the content of the files',
  { tags: ['model'], timeout: 300_000 },
  async (target) => {
    await using engine = await engineUnderTest({ settings: { httpTimeoutMs: 1_000, horizonMs: 20, usersInFirstPart: 2 } })
    const { control } = engine.sandbox
    const people = await target.open(engine)
    await fc.assert(
      fc.asyncProperty(
        fc.array(day, { minLength: 2, maxLength: 7 }),
        fc.constantFrom('user', 'identifier'),
        fc.constantFrom(1, 4),
        fc.constantFrom(0, 2, 1000),
        fc.boolean(),
        async (days, reach, packed, guard, keyed) => {
          await control.reset()
          await people.reset()
          await control.switches({ delete_reach: reach })
          await emptyDatabase(engine.db)
          engine.pipeline('people', peopleYaml(target, packed, guard))
          engine.pipeline('optouts', listYaml(keyed))
          const held = new Map<string, readonly string[]>()
          const listRows = new Map<number, ListRow>()
          const listed = new ListModel(keyed)
          const stored = new Map<string, string>()
          const write = () => {
            engine.write(
              'people.csv',
              `id,e1,e2,e3\n${Array.from(held, ([id, list]) => `${id},${[0, 1, 2].map((i) => list[i] ?? '').join(',')}\n`).join('')}keep,keep@example.org,,\n`,
            )
            engine.write(
              'optouts.csv',
              `key,email,status\n${Array.from(listRows.values(), (row) => `${row.key},${row.address},${row.status}\n`).join('')}other,other@example.org,out\n`,
            )
          }
          write()
          for (const { hold, list, fault, feed, how } of days) {
            for (const [person, some] of hold) some.length === 0 ? held.delete(person) : held.set(person, some)
            for (const [place, row] of list) listRows.set(place, row)
            write()
            if (fault !== 'none' && feed === 'people') await people.fault(fault, 1)
            else if (fault !== 'none') await control.fault({ path: '/12/', nth: 1 }, faultOf(fault))
            // Every read is planned, also that of an interrupted run.
            if (feed === 'optouts' && how !== 'late') listed.read([...listRows.values()])
            if (how === 'plan') stored.set(feed, (await engine.plan(feed)).planId)
            else if (how === 'late') await applyLate(engine, stored.get(feed), feed)
            else if (how === 'apply') await engine.apply((await engine.plan(feed)).planId)
            else if (how === 'failed') {
              const report = await engine.run(feed)
              expect(imbalance((await engine.rerun(report.runId, { failedOnly: true })).counts)).toEqual([])
            } else if (how === 'stop' || how === 'die') await interruptedRun(engine, feed, how)
            else {
              const report = await engine.run(feed, how === 'full' ? { full: true } : {})
              expect(report.error).toBeUndefined()
              expect(imbalance(report.counts)).toEqual([])
            }
            await control.clearFaults()
          }
          await untilQuiet(3, () => runEach(engine, ['optouts', 'people'], { approveDeletes: 1_000 }))
          listed.read([...listRows.values()])
          const off = listed.addresses
          const desired = [...held.values()].filter((some) => !some.some((address) => off.has(address))).flat()
          expect((await control.audience('2dnr')).digest).toBe(audienceDigest([...off, 'other@example.org'].map(email)))
          expect(await people.digest()).toBe(audienceDigest([...desired, 'keep@example.org'].map(email)))
          // Engines of tests have backoffs of a millisecond.
          const allowed = ['same_body_at_once']
          expect((await control.violations()).filter(({ rule }) => !allowed.includes(String(rule)))).toEqual([])
          expect(await outOfOrder(engine.db)).toEqual([])
          const after = await engine.mark()
          const written = await people.writes()
          for (const name of ['optouts', 'people']) expect((await engine.run(name)).counts).toMatchObject({ requests: 0, withheld: 0 })
          expect([await engine.writes(after), await people.writes()]).toEqual([[], written])
        },
      ),
      { ...histories(5), examples: [changedAddress, oneOfTwoRemoved, newAddressRemoved, erasedBesideOthers, desiredAgain] },
    )
  },
)

/**
 * A stored plan is sent unchanged, or rejected because the state changed: it never adds people again whom a later file removed. A plan that
 * was applied before sends nothing, not even for people who were removed since.
 */
async function applyLate(engine: EngineUnderTest, planId: string | undefined, feed: Day['feed']): Promise<void> {
  if (planId === undefined) return
  const before = await engine.mark()
  const report = await engine.apply(planId)
  expect([undefined, 'PLAN_STALE', 'DESTINATION_PAUSED']).toContain(report.error?.code)
  if (report.error?.code === 'PLAN_STALE') return expect(await engine.writes(before)).toEqual([])
  const left = await engine.db.query(
    `select from sluice.batch b cross join ${entriesOf('b.id')} e join ${everyKey} m on m.destination_id = e.destination_id and m.key = any(e.keys)
     where b.plan_id = $1 and b.operation = 'upsert' and b.parent_id is null and m.ref_count <= 0 and ${entryOutcome} <> 'superseded'
       and exists (select from sluice.attempt a where a.batch_id = b.id and a.run_id = $2)`,
    [planId, Number(report.runId.slice('r_'.length))],
  )
  expect([feed, left]).toEqual([feed, []])
}
