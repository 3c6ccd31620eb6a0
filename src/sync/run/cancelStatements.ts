import type pg from 'pg'
import { interruptedError, type EngineDeps } from '../engine.ts'
import { errorCode } from '../../unknownValue.ts'

/** Milliseconds between two cancel requests. They repeat, because a request between two statements has no effect. */
const cancelIntervalMs = 250
const queryCanceled = '57014'

/**
 * Runs `work`, which uses `client`. Once `deps.signal` aborts, cancels each statement of `client` until `work` ends.
 *
 * @throws {RunError} `RUN_INTERRUPTED` if a statement was cancelled, or if the signal had aborted before `work`
 */
export async function runCancellable<Result>(
  deps: Pick<EngineDeps, 'db' | 'signal'>,
  client: pg.PoolClient,
  work: () => Promise<Result>,
): Promise<Result> {
  const { db, signal } = deps
  if (signal === undefined) return work()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  let timer: NodeJS.Timeout | undefined
  const cancel = () => {
    // If this fails because the database is down, the lost connection ends the statement.
    const requestCancel = () => void db.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(() => undefined)
    requestCancel()
    timer = setInterval(requestCancel, cancelIntervalMs)
  }
  if (signal.aborted) throw interruptedError()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    return await work()
  } catch (error) {
    if (signal.aborted && errorCode(error) === queryCanceled) throw interruptedError()
    throw error
  } finally {
    signal.removeEventListener('abort', cancel)
    clearInterval(timer)
  }
}
