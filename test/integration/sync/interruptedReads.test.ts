/**
 * People opted out in a read whose process was killed before its plan, or whose rows a later incomplete read lacks
 * (docs/guarantees.md#a-no-is-never-sent).
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const count = 8

/** Writes a row for each person; those in `no` have opted out. */
function write(engine: EngineUnderTest, no: (i: number) => boolean): void {
  const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${no(i) ? 'no' : 'yes'}\n`)
  engine.write('people.csv', `id,mail,ok\n${rows.join('')}`)
}

/** Creates an engine with a first load that the service refused. */
async function withRefusedLoad(): Promise<{ readonly engine: EngineUnderTest; readonly refused: string }> {
  const engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
consent: { column: ok, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  write(engine, () => false)
  const { control } = engine.sandbox
  await control.fault(
    { path: '/12/' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    'always',
  )
  const { runId, counts } = await engine.run('people')
  expect(counts.confirmed).toBe(0)
  await control.clearFaults()
  return { engine, refused: runId }
}

/** Runs the command in its own process, which is killed at the place `crashAt` (`sync/crashPoint.ts`). */
async function runKilled(engine: EngineUnderTest, crashAt: string): Promise<void> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const child = spawn(process.execPath, [main, 'run', 'people', '--json'], {
    cwd: engine.folder,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...engine.env, CRASH_AT: crashAt },
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)))).toBe('SIGKILL')
}

const sent = async (engine: EngineUnderTest, after: number) => (await engine.writes(after)).reduce((sum, { items }) => sum + items, 0)

/** Writes a file whose read is stopped, because no setting reads its second consent column. */
const writeStopped = (engine: EngineUnderTest, no: (i: number) => boolean) => {
  const rows = Array.from({ length: count }, (_, i) => `${i},p${i}@example.com,${no(i) ? 'no' : 'yes'},yes\n`)
  engine.write('people.csv', `id,mail,ok,newsletter\n${rows.join('')}`)
}

const refusedRun = { status: 'failed', error: { code: 'OPT_OUTS_UNPLANNED' } }

test(
  'a rerun of failed operations, a backfill and a plan are refused after a read whose process was killed before its plan',
  { tags: ['long'] },
  async () => {
    const { engine, refused } = await withRefusedLoad()
    await using _ = engine
    const { planId } = await engine.plan('people')
    write(engine, (i) => i === 0)
    await runKilled(engine, 'plan.guarded')
    const after = await engine.mark()
    const rejectsAll = async () => {
      expect(await engine.rerun(refused, { failedOnly: true })).toMatchObject(refusedRun)
      engine.write('other.csv', 'id,mail,ok\nother,other@example.com,yes\n')
      expect(await engine.backfill('people', 'other.csv')).toMatchObject(refusedRun)
      expect(await engine.apply(planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
    }
    await rejectsAll()
    // A later run that fails during its read does not change that.
    engine.write('people.csv', 'id,mail\n')
    expect(await engine.run('people')).toMatchObject({ status: 'failed' })
    await rejectsAll()
    expect(await sent(engine, after)).toBe(0)
    write(engine, (i) => i === 0)
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
    expect(await engine.rerun(refused, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
    expect((await engine.sandbox.control.audience()).members).toBe(count - 1)
  },
)

test(
  'a rerun of failed operations is possible again after a run over the source as it was before a killed read',
  { tags: ['long'] },
  async () => {
    const { engine, refused } = await withRefusedLoad()
    await using _ = engine
    write(engine, (i) => i === 0)
    await runKilled(engine, 'plan.guarded')
    write(engine, () => false)
    expect(await engine.plan('people')).toMatchObject({ status: 'succeeded' })
    expect(await engine.rerun(refused, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
    expect((await engine.sandbox.control.audience()).members).toBe(count)
  },
)

test('a plan is not stale after a read that was killed before its end', { tags: ['long'] }, async () => {
  const { engine } = await withRefusedLoad()
  await using _ = engine
  const { planId } = await engine.plan('people')
  write(engine, (i) => i === 0)
  await runKilled(engine, 'read.staged')
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded' })
})

test('a plan from a time when the clock of the database was ahead does not end the refusal', async () => {
  const { engine, refused } = await withRefusedLoad()
  await using _ = engine
  await engine.db.execute(`update plan set created_at = created_at + interval '1 hour'`)
  writeStopped(engine, (i) => i === 0)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld' })
  const after = await engine.mark()
  expect(await engine.rerun(refused, { failedOnly: true })).toMatchObject(refusedRun)
  expect(await sent(engine, after)).toBe(0)
})

test('an incomplete read without the row of a person who opted out in a stopped read sends nothing', async () => {
  const { engine, refused } = await withRefusedLoad()
  await using _ = engine
  writeStopped(engine, (i) => i === count - 1)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_CONSENT_UNMAPPED' }] })
  const after = await engine.mark()
  const complete = Array.from({ length: count - 1 }, (_, i) => `${i},p${i}@example.com,yes\n`).join('')
  engine.write('people.csv', `id,mail,ok\n${complete}7,p7@exa`)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_OPT_OUTS_UNREAD' }] })
  expect(await engine.rerun(refused, { failedOnly: true })).toMatchObject(refusedRun)
  expect(await sent(engine, after)).toBe(0)
  // The row is read, but not the last one.
  engine.write('people.csv', `id,mail,ok\n7,p7@example.com,no\n${complete}8,p8@exa`)
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).members).toBe(count - 1)
})
