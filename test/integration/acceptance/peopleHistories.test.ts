/** Histories of people on each type of destination with people: an audience of the sandbox, and the static list of the tests. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { audienceDigest } from '../../support/digests.ts'
import { imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { crm, customers, customersMap, identifiersOf, type Customer } from './customers.ts'
import { sandboxAudience, staticListTarget } from './peopleTargets.ts'

const write = (engine: EngineUnderTest, rows: readonly Customer[], file = 'crm.csv') => engine.write(file, crm(rows))

describe.for([sandboxAudience, staticListTarget])('$name', (target) => {
  async function setUp(more = '', guards = '') {
    const engine = await engineUnderTest()
    engine.pipeline('customers', `${customersMap}${target.yaml(more)}\n${guards}`)
    const open = await target.open(engine)
    return {
      engine,
      expectPeople: async (rows: readonly Customer[]) => expect(await open.digest()).toBe(audienceDigest(identifiersOf(rows))),
    }
  }

  test('keeps a shared address until the last row that has it is deleted', { tags: ['long'] }, async () => {
    const { engine: opened, expectPeople } = await setUp()
    await using engine = opened
    const [ada, bert, carl] = customers(3, 21)
    if (!ada || !bert || !carl) throw new Error('three customers')
    const shared = { ...bert, cells: [' ' + ada.cells[0], '', '', 'US', ''] as const, identifiers: ada.identifiers.slice(0, 1) }
    for (const rows of [[ada, shared, carl], [shared, carl], [carl], [ada, shared, carl], [ada, carl], [carl]]) {
      write(engine, rows)
      expect((await engine.run('customers')).status).toBe('succeeded')
      await expectPeople(rows)
    }
    expect(await engine.sandbox.control.violations()).toEqual([])
  })

  test('a backfill adds and changes people, and deletes none', { tags: ['long'] }, async () => {
    const { engine: opened, expectPeople } = await setUp('', 'guards: { min_rows: 20 }\n')
    await using engine = opened
    const rows = customers(30, 41)
    write(engine, rows)
    await engine.run('customers')
    const others = customers(3, 42, 700)
    write(engine, others, 'more.csv')
    // Fewer rows than `min_rows` withhold nothing: a backfill never deletes missing rows.
    expect(await engine.backfill('customers', 'more.csv')).toMatchObject({
      trigger: 'backfill',
      status: 'succeeded',
      guards: [],
      counts: { read: 3, valid: 3, creates: 3, confirmed: 3, deletes: 0, withheld: 0 },
    })
    await expectPeople([...rows, ...others])
    // The source of the pipeline is compared again, and lacks the people of the backfill.
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { deletes: 3 } })
    await expectPeople(rows)
  })

  test('counts every person of an operation, and sends nothing for an unchanged file', async () => {
    const { engine: opened } = await setUp(', users_per_operation: 100')
    await using engine = opened
    write(engine, customers(30, 41))
    const counts = { valid: 30, unchanged: 0, creates: 30, confirmed: 30, requests: 1 }
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts })
    expect(await engine.run('customers')).toMatchObject({
      status: 'succeeded',
      counts: { valid: 30, unchanged: 30, creates: 0, requests: 0 },
    })
  })

  test('the next run completes a full refresh that was interrupted twice', { tags: ['long'] }, async () => {
    const { engine: opened, expectPeople } = await setUp()
    await using engine = opened
    const rows = customers(60, 43)
    write(engine, rows)
    await engine.run('customers')
    await interruptedRun(engine, 'customers', 'planned', { full: true })
    await interruptedRun(engine, 'customers', 'planned')
    const report = await engine.run('customers')
    expect(report).toMatchObject({ status: 'succeeded', counts: { updates: 60, confirmed: 60 } })
    expect(imbalance(report.counts)).toEqual([])
    await expectPeople(rows)
    expect((await engine.run('customers')).counts).toMatchObject({ requests: 0 })
  })

  test('an erased person is deleted, and a new file does not add them again', async () => {
    const { engine: opened, expectPeople } = await setUp()
    await using engine = opened
    const [jane, ...others] = customers(12, 44)
    if (jane === undefined) throw new Error('twelve customers')
    write(engine, [jane, ...others])
    await engine.run('customers')
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'customers')
    const person = { emails: [], phones: [], keys: [jane.key] }
    const receipt = await forget(engine.deps, await erasedKeysOf(engine.deps, person, pipeline), {
      actor: 'test',
      reason: 'request 1',
      wait: true,
    })
    expect(receipt).toMatchObject({ audiences: 1, deletes: { planned: 2, confirmed: 2 } })
    await expectPeople(others)
    write(engine, [jane, ...others, ...customers(1, 45, 500)])
    expect(await engine.run('customers')).toMatchObject({ status: 'succeeded', counts: { suppressed: 1, creates: 1 } })
    await expectPeople([...others, ...customers(1, 45, 500)])
    expect((await explainKey(engine.deps, pipeline, jane.key)).headline).toBe('Not live: erased by e_1: it is not sent')
  })
})
