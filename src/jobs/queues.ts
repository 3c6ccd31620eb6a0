/**
 * Opens the queues of pg-boss on Sluice's own connections. Their jobs only wake workers, because the work itself is stored in Sluice's
 * tables. So a lost job only delays work until the next poll of a worker, and a repeated job finds nothing to do.
 */
import pLimit from 'p-limit'
import { getConstructionPlans, getMigrationPlans, PgBoss, type Db } from 'pg-boss'
import library from 'pg-boss/package.json' with { type: 'json' }
import type { Logger } from '../log.ts'
import type { Database, Transaction } from '../db/database.ts'
import { notify } from '../db/notifications.ts'
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

/** Opened queues, with a function for each reason to wake workers. */
export interface Queues {
  /** The library itself, for workers that take jobs. */
  readonly boss: PgBoss
  /**
   * Wakes a worker for a queued run. `tx`: transaction that wrote the run; without it, the job is queued immediately. Resolves to false if
   * a job for the destination is already queued or active.
   */
  readonly wakeForRun: (job: RunJob, tx?: Transaction) => Promise<boolean>
  /** Wakes up to `maxHelpers` workers for a plan. */
  readonly wakeForPush: (job: PushJob, maxHelpers: number) => Promise<void>
  /** Stops the library. Waits up to 20 s for its active jobs. */
  readonly close: () => Promise<void>
}

const dayS = 86_400
/**
 * Interval in seconds of the library's maintenance, which also ends expired jobs. Until then, the job of an expired worker blocks further
 * jobs for its destination. Runs of that destination are not blocked, because the notification of a queued run wakes every worker.
 */
const upkeepS = 300
// Jobs are few and long, so heartbeats show that they are active. Ended jobs are deleted after a day, to keep the tables small.
const commonOptions = { notify: true, heartbeatSeconds: 30, expireInSeconds: dayS - 1, deleteAfterSeconds: dayS, retentionSeconds: dayS }
const queues = [
  // `exclusive`: at most one job per key is queued or active, and `send` returns null for another one. The key of `run` is the destination.
  { ...commonOptions, name: 'run', policy: 'exclusive', retryLimit: 3, retryDelay: 1 },
  { ...commonOptions, name: 'push', retryLimit: 0 },
  { ...commonOptions, name: 'maintain', policy: 'exclusive', retryLimit: 0 },
] as const

/**
 * Opens the queues. Creates missing tables and queues in Sluice's schema. `supervise`: true for workers, which also handle expired jobs.
 *
 * @throws {RunError} if the role has no privilege to create the tables; any other error of the database unchanged
 */
export async function openQueues(db: Database, options: { readonly supervise: boolean; readonly log: Logger }): Promise<Queues> {
  const boss = new PgBoss({
    db: onPool(db),
    schema: quoteName(db.schema),
    createSchema: false,
    schedule: false,
    supervise: options.supervise,
    superviseIntervalSeconds: upkeepS,
    queueCacheIntervalSeconds: upkeepS,
    bamIntervalSeconds: upkeepS,
    // No job here depends on another one.
    flowIntervalSeconds: dayS,
    // The warnings of this monitor are about millions of jobs.
    monitorVacuum: false,
    useListenNotify: true,
  })
  boss.on('error', (error) => options.log.warn({ reason: error.name }, 'the job queue lost its database connection and will try again'))
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
        ...(tx === undefined ? {} : { db: executorOf(tx) }),
      })
      return id !== null
    },
    async wakeForPush(job, maxHelpers) {
      if (maxHelpers === 0) return
      await boss.insert(
        'push',
        Array.from({ length: maxHelpers }, () => ({ data: job })),
      )
      await notify(db, 'push')
    },
    close: () => boss.stop({ graceful: true, timeout: 20_000, close: true }),
  }
}

/** Version of the queue's tables that the library needs. The library upgrades older tables when it starts. */
export const queueVersion: number = library.pgboss.schema

/**
 * Returns the SQL script that creates the queue's tables in a schema, or upgrades them from version `stored`. Undefined if they need no
 * change. The script has its own transaction, and may create or drop indexes after that transaction.
 */
export function queueScript(schema: string, stored: number | undefined): string | undefined {
  if (stored === undefined) return getConstructionPlans(quoteName(schema), { createSchema: false })
  return stored < queueVersion ? getMigrationPlans(quoteName(schema), stored) : undefined
}

/** Returns the database interface of pg-boss: statements use connections of the pool, and notifications of the pool wake its workers. */
function onPool(db: Database): Db {
  // A notification wakes all loops of pg-boss in the same moment. In parallel, each would open a connection for a query of a millisecond.
  const oneByOne = pLimit(1)
  const execute = async (text: string, values?: unknown[]) => {
    const client = await db.connect()
    let failed = true
    try {
      const result = await client.query<Record<string, unknown>>(text, values)
      failed = false
      return result
    } finally {
      // Some statements of pg-boss are whole transactions. After an error the connection may still be in a transaction, so it is closed.
      client.release(failed)
    }
  }
  return {
    executeSql: (text, values) => oneByOne(() => execute(text, values)),
    async listen(_channel, onNotification, onReconnect) {
      const close = db.listen((topic) => (topic === undefined ? onReconnect() : onNotification(topic)))
      onReconnect()
      return { close: async () => close() }
    },
  }
}

/** Returns an executor for statements of pg-boss in the transaction `tx`, so that they are committed or rolled back with it. */
function executorOf(tx: Transaction): { executeSql: (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }> } {
  return {
    async executeSql(text, values) {
      const { rows } = await tx.client.query<Record<string, unknown>>(text, values)
      return { rows }
    },
  }
}
