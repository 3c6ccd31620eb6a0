/**
 * The queues: pg-boss on our own Postgres, for wake-ups and their retry only. What is to be done stands in our tables, so
 * a lost job costs a wake-up and a doubled one finds nothing to do (scale 1).
 */
import { PgBoss } from 'pg-boss'
import type { Logger } from '../log.ts'
import { eachConnection, type Database, type Transaction } from '../store/database.ts'

/** A run waits for somebody to carry it out. */
export interface RunJob {
  readonly runId: number
  readonly destinationId: number
}

/** A plan is being pushed: whoever is idle may help. */
export interface PushJob {
  readonly planId: string
}

export interface Queues {
  readonly boss: PgBoss
  /** Wakes a worker for a queued run, in the transaction that wrote it. False: one is awake for the destination already. */
  readonly wakeForRun: (job: RunJob, tx?: Transaction) => Promise<boolean>
  /** Wakes up to `helpers` workers for a plan. */
  readonly wakeForPush: (job: PushJob, helpers: number) => Promise<void>
  readonly close: () => Promise<void>
}

const day = 86_400

/**
 * Connects, and makes schema and queues on first sight. `supervise`: this process also looks after expired jobs; workers
 * do, schedulers need not.
 */
export async function openQueues(db: Database, options: { readonly supervise: boolean; readonly log: Logger }): Promise<Queues> {
  const boss = new PgBoss({
    ...eachConnection,
    connectionString: db.url,
    application_name: 'sluice queues',
    schema: 'sluice_jobs',
    max: 4,
    schedule: false,
    supervise: options.supervise,
    superviseIntervalSeconds: 10,
    useListenNotify: true,
  })
  boss.on('error', (error) => options.log.warn({ reason: error.name }, 'the job queue lost its database; it tries again'))
  await boss.start()
  // Few and long jobs: each is kept by heartbeats and gone a day after it ended (job tables bloat, scale 1).
  const common = { notify: true, heartbeatSeconds: 30, expireInSeconds: day - 1, deleteAfterSeconds: day, retentionSeconds: day }
  // `exclusive` with the destination as key: one job, queued or at work; what comes meanwhile is told by null.
  await boss.createQueue('run', { ...common, policy: 'exclusive', retryLimit: 3, retryDelay: 1 })
  await boss.createQueue('push', { ...common, retryLimit: 0 })
  await boss.createQueue('maintain', { ...common, policy: 'exclusive', retryLimit: 0 })
  return {
    boss,
    async wakeForRun(job, tx) {
      const id = await boss.send('run', job, {
        singletonKey: String(job.destinationId),
        ...(tx === undefined ? {} : { db: inTransaction(tx) }),
      })
      return id !== null
    },
    async wakeForPush(job, helpers) {
      if (helpers > 0)
        await boss.insert(
          'push',
          Array.from({ length: helpers }, () => ({ data: job })),
        )
    },
    close: () => boss.stop({ graceful: true, timeout: 20_000, close: true }),
  }
}

/** pg-boss statements on our own connection: nothing is visible before our commit, nothing is left by our rollback. */
function inTransaction(tx: Transaction): { executeSql: (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }> } {
  return {
    async executeSql(text, values) {
      const { rows } = await tx.client.query<Record<string, unknown>>(text, values)
      return { rows }
    },
  }
}
