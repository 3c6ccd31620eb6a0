/** Alerts of two environments in one schema, with pipelines of the same name. Each sends its own alerts to its own receivers. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findConditions, type Condition } from '../../../src/alerts/conditions.ts'
import { startAlerts } from '../../../src/alerts/startAlerts.ts'
import { alertActivity, destinationOwners, updateAlerts } from '../../../src/db/alerts.ts'
import type { Database } from '../../../src/db/database.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { createTransport } from '../../../src/service/client/index.ts'
import type { EngineDeps } from '../../../src/sync/engine.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { countedChecks, type CountedChecks } from '../../support/countedChecks.ts'
import { receiver } from '../../support/receiver.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { item, products, rss } from '../acceptance/products.ts'

interface Environment extends AsyncDisposable {
  readonly deps: EngineDeps
  readonly pipeline: (name: string, yaml: string) => void
  readonly feed: (rows: number) => void
  readonly run: (name: string, options?: { readonly approveDeletes?: number; readonly takeOver?: boolean }) => Promise<unknown>
  /** Conditions of a pipeline, as if its file had the given name. */
  readonly conditions: (name: string, shownName?: string) => Promise<readonly Condition[]>
  /** Receives the messages of this environment. In each environment, the receiver has the name `ops`. */
  readonly events: () => string[]
  /** Starts the alerts of a `serve` process. */
  readonly watch: (db?: Database) => AsyncDisposable & Pick<CountedChecks, 'checkedTwice'>
}

/** An environment with a folder of its own, in the schema of `engine`. */
async function environment(engine: EngineUnderTest, deps: EngineDeps): Promise<Environment> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-environment-'))
  const pipelines = join(folder, 'pipelines')
  mkdirSync(pipelines)
  const ops = await receiver()
  const file = (name: string) => join(pipelines, `${name}.yaml`)
  return {
    deps,
    pipeline: (name, yaml) => writeFileSync(file(name), yaml.replaceAll('{folder}', folder)),
    feed(rows) {
      writeFileSync(join(folder, 'feed.xml'), rss(products(rows).map((row) => item(row))))
      writeFileSync(
        join(folder, 'crm.csv'),
        `id,email\n${products(rows)
          .map((_, i) => `${i},a${i}@example.com\n`)
          .join('')}`,
      )
    },
    run: async (name, options = {}) => runPipeline(deps, await loadPipeline(pipelines, name), { trigger: 'manual', ...options }),
    async conditions(name, shownName = name) {
      const environments = new Map([[shownName, deps.service]])
      const pipeline = { ...(await loadPipeline(pipelines, name)), name: shownName }
      return findConditions(engine.db, [pipeline], new Date(), { pauses: new Map(), environments })
    },
    events: () => ops.received.map(({ body }) => `${body.event} ${body.state}`),
    watch(db = engine.db) {
      const counted = countedChecks(() => loadPipelines(pipelines))
      const alerts = startAlerts({
        ...deps,
        db,
        loadPipelines: counted.loadPipelines,
        serviceFor: async () => deps.service,
        loadProject: async () => ({ receivers: { ops: { type: 'webhook', url: ops.url } }, defaultReceivers: ['ops'] }),
        folder: pipelines,
        baseUrl: 'https://ops.example.com',
        secret: 'alert-secret',
        everyMs: 40,
        unchangedEveryMs: 100,
        timeoutMs: 10_000,
        retryMs: 20,
      })
      return { checkedTwice: counted.checkedTwice, [Symbol.asyncDispose]: () => alerts.stop() }
    },
    async [Symbol.asyncDispose]() {
      await ops[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const otherUser = 'user 7 of application 0123456789ab'

/** Calls `work` with two environments of one schema, which differ by the service or by the credentials. */
async function withTwo(
  difference: 'service' | 'credentials',
  work: (a: Environment, b: Environment, engine: EngineUnderTest) => Promise<void>,
): Promise<void> {
  await using engine = await engineUnderTest()
  await using sandbox = await withSandbox()
  const transport = createTransport({ baseUrl: sandbox.url, adsBaseUrl: sandbox.url, adsVersion: '12', ...sandbox.credentials })
  try {
    await using a = await environment(engine, engine.deps)
    await using b = await environment(
      engine,
      difference === 'service'
        ? { ...engine.deps, transport, service: { ...engine.deps.service, origin: new URL(sandbox.url).origin } }
        : { ...engine.deps, service: { ...engine.deps.service, credentials: otherUser } },
    )
    a.pipeline('shop', catalogYaml('feed.xml'))
    b.pipeline('shop', yamlOfB(difference))
    await work(a, b, engine)
  } finally {
    await transport.close()
  }
}

/** Two services have the same catalog. Two users of one service need different destinations, because each belongs to one of them. */
const yamlOfB = (difference: 'service' | 'credentials') =>
  difference === 'service'
    ? catalogYaml('feed.xml')
    : 'source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'

test.for(['service', 'credentials'] as const)(
  'a run fires and ends only alerts of its own environment: other %s',
  { tags: ['long'] },
  async (difference) => {
    await withTwo(difference, async (a, b) => {
      a.feed(3)
      await a.run('shop')
      await using watching = a.watch()
      await using other = b.watch()
      // The source of B is missing.
      await b.run('shop')
      await expect.poll(b.events).toEqual(['failed firing'])
      await Promise.all([watching.checkedTwice(), other.checkedTwice()])
      expect(a.events()).toEqual([])
      // A success of A does not end the alert of B, and the same failure in A is reported there.
      await a.run('shop')
      a.pipeline('shop', catalogYaml('missing.xml'))
      await a.run('shop')
      await expect.poll(a.events).toEqual(['failed firing'])
      await Promise.all([watching.checkedTwice(), other.checkedTwice()])
      expect(b.events()).toEqual(['failed firing'])
      // A recovers, B still fails, then B recovers.
      a.pipeline('shop', catalogYaml('feed.xml'))
      await a.run('shop')
      await expect.poll(a.events).toEqual(['failed firing', 'failed recovered'])
      await Promise.all([watching.checkedTwice(), other.checkedTwice()])
      expect(b.events()).toEqual(['failed firing'])
      b.feed(2)
      expect(await b.run('shop')).toMatchObject({ status: 'succeeded' })
      await expect.poll(b.events).toEqual(['failed firing', 'failed recovered'])
      // An invalid file of B is valid in A.
      b.pipeline('shop', 'source: [')
      await expect.poll(b.events).toEqual(['failed firing', 'failed recovered', 'failed firing'])
      await Promise.all([watching.checkedTwice(), other.checkedTwice()])
      expect(b.events()).toHaveLength(3)
      expect(a.events()).toEqual(['failed firing', 'failed recovered'])
    })
  },
)

test('a message waits for a server of its environment, and other servers are idle meanwhile', async () => {
  await withTwo('service', async (a, b, engine) => {
    await b.run('shop')
    {
      await using _ = b.watch()
      await expect.poll(() => engine.db.query('select from alert_delivery where delivered_at is not null')).toHaveLength(1)
    }
    await engine.db.execute('update alert_delivery set delivered_at = null, next_attempt_at = statement_timestamp()')
    await using watching = a.watch()
    await watching.checkedTwice()
    expect([a.events(), b.events()]).toEqual([[], ['failed firing']])
    expect((await alertActivity(engine.db, [a.deps.service])).dueMs).toBe(Number.POSITIVE_INFINITY)
    await using __ = b.watch()
    await expect.poll(b.events).toEqual(['failed firing', 'failed firing'])
  })
})

test('the alert of a destination that is taken over ends in the new environment', async () => {
  await withTwo('credentials', async (a, b, engine) => {
    await a.run('shop')
    {
      await using _ = a.watch()
      // Stored as delivered a moment after it was received.
      await expect.poll(() => engine.db.query('select from alert_delivery where delivered_at is not null')).toHaveLength(1)
    }
    b.pipeline('shop', catalogYaml('feed.xml'))
    b.feed(2)
    {
      await using watching = b.watch()
      await watching.checkedTwice()
      expect(b.events()).toEqual([])
    }
    expect(await b.run('shop', { takeOver: true })).toMatchObject({ status: 'succeeded' })
    await using _ = b.watch()
    await expect.poll(b.events).toEqual(['failed recovered'])
  })
})

/** Calls `work` once, after a check of alerts has found its conditions, and before it changes the alerts. */
function beforeAlertsChange(db: Database, work: () => Promise<unknown>): { readonly db: Database; readonly done: Promise<void> } {
  const done = Promise.withResolvers<void>()
  let isFirst = true
  return {
    done: done.promise,
    db: {
      ...db,
      async transaction(change) {
        if (isFirst) {
          isFirst = false
          await work()
          done.resolve()
        }
        return db.transaction(change)
      },
    },
  }
}

test('a check of alerts during a take-over neither ends nor repeats an alert of the destination', async () => {
  await withTwo('credentials', async (a, b, engine) => {
    await a.run('shop')
    {
      await using _ = a.watch()
      await expect.poll(() => engine.db.query('select from alert_delivery where delivered_at is not null')).toHaveLength(1)
    }
    b.pipeline('shop', catalogYaml('feed.xml'))
    // The source is missing in both environments, so the condition does not end.
    const taken = beforeAlertsChange(engine.db, () => b.run('shop', { takeOver: true }))
    await using watching = b.watch(taken.db)
    await taken.done
    await watching.checkedTwice()
    expect([a.events(), b.events()]).toEqual([['failed firing'], []])
    const back = beforeAlertsChange(engine.db, () => a.run('shop', { takeOver: true }))
    await using other = b.watch(back.db)
    await back.done
    await other.checkedTwice()
    expect([a.events(), b.events()]).toEqual([['failed firing'], []])
    b.feed(2)
    expect(await b.run('shop', { takeOver: true })).toMatchObject({ status: 'succeeded' })
    await expect.poll(b.events).toEqual(['failed recovered'])
  })
})

test('the first run of a pipeline, which gives its destination an owner, stops no check of alerts', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const owners = await destinationOwners(engine.db)
  await engine.run('shop')
  expect(await destinationOwners(engine.db)).not.toBe(owners)
  const found = [{ pipeline: 'shop', event: 'failed', detail: {}, receivers: [] }]
  expect(await updateAlerts(engine.db, engine.deps.service, { pipelines: ['shop'], found, finder: 'test', owners })).toBe(1)
})

test('a scheduled pipeline whose destination belongs to other credentials is stale', async () => {
  await withTwo('credentials', async (a, b, engine) => {
    a.feed(2)
    await a.run('shop')
    await engine.db.execute(`update run set created_at = created_at - interval '5 hours', finished_at = finished_at - interval '5 hours'`)
    // The user was replaced, and the destination was not taken over.
    b.pipeline('shop', `schedule: "0 * * * *"\n${catalogYaml('feed.xml')}`)
    const owned = {
      event: 'stale',
      code: 'OTHER_CREDENTIALS',
      message: `no scheduled run starts: the destination belongs to ${a.deps.service.credentials}, but this environment uses ${otherUser}`,
    }
    expect(await b.conditions('shop')).toMatchObject([
      { ...owned, hint: expect.stringMatching(/sluice run shop --take-over$/), counts: { secondsSinceSuccess: expect.any(Number) } },
    ])
    // A pipeline with another name never ran.
    expect(await b.conditions('shop', 'renamed')).toMatchObject([{ ...owned, pipeline: 'renamed', counts: {} }])
    await using _ = b.watch()
    await expect.poll(b.events).toEqual(['stale firing'])
    expect(await b.run('shop', { takeOver: true })).toMatchObject({ status: 'failed' })
    b.feed(2)
    await b.run('shop')
    await expect.poll(() => b.events().slice(2).toSorted()).toEqual(['failed recovered', 'stale recovered'])
  })
})
