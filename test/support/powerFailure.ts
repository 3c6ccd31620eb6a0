/** Ends the process of a run at any statement, as a power failure does. */
import { join } from 'node:path'
import type pg from 'pg'
import { openDatabase } from '../../src/db/database.ts'
import { registerWorker } from '../../src/db/workers.ts'
import { loadPipeline } from '../../src/pipeline/load.ts'
import type { EngineDeps } from '../../src/sync/engine.ts'
import { runPipeline } from '../../src/sync/run/run.ts'
import type { EngineUnderTest, RunOptions } from './engine.ts'

interface Connection {
  readonly connection: { readonly stream: { readonly destroy: () => void } }
}

/**
 * Calls `work` with a database whose connections break after `statements` statements, before the next one is sent. The worker is provably
 * dead afterwards. Returns true if there was a next statement.
 */
export async function withPowerFailure(
  engine: Pick<EngineUnderTest, 'deps' | 'db' | 'databaseUrl'>,
  statements: number,
  work: (deps: EngineDeps) => Promise<unknown>,
): Promise<boolean> {
  const workerId = await registerWorker(engine.db, { role: 'test' })
  const db = openDatabase(engine.databaseUrl, { maxConnections: 10 })
  const clients = new Set<Connection>()
  let left = statements
  let dead = false
  const die = () => {
    if (dead) return
    dead = true
    for (const { connection } of clients) connection.stream.destroy()
    const refuse = (callback?: (error: Error) => void) => {
      const error = new Error('the power went')
      return callback === undefined ? Promise.reject(error) : callback(error)
    }
    Object.assign(db.pool, { connect: refuse })
  }
  db.pool.on('connect', (client: pg.PoolClient) => {
    clients.add(client as unknown as Connection)
    const { query } = client
    const counted = (...call: unknown[]) => {
      if (--left < 0) die()
      return Reflect.apply(query, client, call)
    }
    Object.assign(client, { query: counted })
  })
  const { transport } = engine.deps
  const exchange: typeof transport.exchange = async (request) => {
    if (dead) throw new Error('the power went')
    return transport.exchange(request)
  }
  try {
    await work({ ...engine.deps, db, workerId, transport: { ...transport, exchange } })
  } catch (error) {
    if (!dead) throw error
  }
  die()
  // No process has this number, so its batches are recovered immediately.
  await engine.db.execute('update sluice.worker set pid = 4194999, pid_started = $2 where id = $1', [workerId, '1'])
  return left < 0
}

export async function runWithPowerFailure(
  engine: EngineUnderTest,
  name: string,
  statements: number,
  options: RunOptions = {},
): Promise<boolean> {
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), name)
  return withPowerFailure(engine, statements, (deps) => runPipeline(deps, pipeline, { trigger: 'manual', ...options }))
}
