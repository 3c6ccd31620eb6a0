/**
 * The queues: pg-boss on our own Postgres, only for wake-ups and their retries. The work itself is stored in our tables, so
 * a lost job costs a wake-up, and a doubled one finds nothing to do.
 */
import { getConstructionPlans, PgBoss } from 'pg-boss'
import type { Logger } from '../log.ts'
import { eachConnection, type Database, type Transaction } from '../db/database.ts'
import { permissionFault } from '../db/permissionFault.ts'
import { quoteName } from '../schemaName.ts'

/** Wake-up for a queued run. */
export interface RunJob {
  readonly runId: number
  readonly destinationId: number
}

/** Wake-up for a plan that idle workers can help to push. */
export interface PushJob {
  readonly planId: string
}

export interface Queues {
  readonly boss: PgBoss
  /** Wakes a worker for a queued run, in the transaction that wrote it. Returns false if one is awake for the destination already. */
  readonly wakeForRun: (job: RunJob, tx?: Transaction) => Promise<boolean>
  /** Wakes up to `helpers` workers for a plan. */
  readonly wakeForPush: (job: PushJob, helpers: number) => Promise<void>
  readonly close: () => Promise<void>
}

const day = 86_400
// Few and long jobs: each is kept by heartbeats and deleted a day after it ended, because job tables bloat.
const common = { notify: true, heartbeatSeconds: 30, expireInSeconds: day - 1, deleteAfterSeconds: day, retentionSeconds: day }
const queues = [
  // `exclusive` with the destination as key: one job, queued or at work; `send` returns null for another one.
  { ...common, name: 'run', policy: 'exclusive', retryLimit: 3, retryDelay: 1 },
  { ...common, name: 'push', retryLimit: 0 },
  { ...common, name: 'maintain', policy: 'exclusive', retryLimit: 0 },
] as const

/**
 * Connects, and creates missing tables and queues in our schema. `supervise`: this process also handles expired jobs; workers
 * do, schedulers do not need to.
 */
export async function openQueues(db: Database, options: { readonly supervise: boolean; readonly log: Logger }): Promise<Queues> {
  const boss = new PgBoss({
    ...eachConnection(db.schema),
    ...(db.connection as { connectionString: string }),
    application_name: 'sluice queues',
    schema: quoteName(db.schema),
    createSchema: false,
    max: 4,
    schedule: false,
    supervise: options.supervise,
    superviseIntervalSeconds: 30,
    useListenNotify: true,
  })
  boss.on('error', (error) => options.log.warn({ reason: error.name }, 'the job queue lost its database; it tries again'))
  try {
    await boss.start()
  } catch (error) {
    throw permissionFault(error, db) ?? error
  }
  for (const { name, ...queue } of queues) await boss.createQueue(name, queue)
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

/** Returns the script that creates the queue's tables in a schema, with its own transaction. */
export function queueScript(schema: string): string {
  return getConstructionPlans(quoteName(schema), { createSchema: false })
}

/** Runs pg-boss statements in our transaction: visible after our commit, undone by our rollback. */
function inTransaction(tx: Transaction): { executeSql: (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }> } {
  return {
    async executeSql(text, values) {
      const { rows } = await tx.client.query<Record<string, unknown>>(text, values)
      return { rows }
    },
  }
}
