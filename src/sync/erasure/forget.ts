/**
 * Erases a person (docs/erasure.md). Suppresses the person's keys immediately, and deletes the keys from every audience at the service.
 * Purges the other data about the person from the database.
 */
import {
  erasureAudiences,
  listReceipts,
  purgeErasures,
  suppressErased,
  unplannedErasures,
  type ErasedKeys,
  type Receipt,
} from '../../db/erasures.ts'
import type { Database } from '../../db/database.ts'
import { assertAllSyncedHere } from '../databaseCopy.ts'
import type { EngineDeps } from '../engine.ts'
import { pushErasure } from '../push/push.ts'

/** Options of an erasure. */
export interface ForgetOptions {
  /** User of the command, for the audit log and the receipt. */
  readonly actor: string
  readonly reason?: string
  /**
   * True: `forget` sends each delete twice before it returns, and so waits one or two horizons (docs/decisions/late-arrival-horizon.md).
   * False: the next run of each audience sends the deletes.
   */
  readonly wait: boolean
}

/**
 * Suppresses the keys, and plans their deletes. With `wait`, also sends the deletes. Then purges data that no open request needs. Returns
 * the receipt, which shows how many deletes are confirmed. The next runs send deletes that are still open.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function forget(deps: EngineDeps, keys: ErasedKeys, options: ForgetOptions): Promise<Receipt> {
  const { actor, reason, wait } = options
  await assertAllSyncedHere(deps)
  const id = await suppressErased(deps.db, { ...keys, service: deps.service.origin, actor, ...(reason === undefined ? {} : { reason }) })
  await planErasures(deps)
  if (wait)
    for (const audience of await erasureAudiences(deps.db, id, deps.service)) {
      if (deps.signal?.aborted) break
      await pushErasure(deps, { erasure: id, audience })
    }
  await purgeErasures(deps.db, deps.service.origin)
  return receiptOf(deps.db, id)
}

/** Suppresses the keys at a service for which this environment has no credentials. The next run at that service sends the deletes. */
export async function suppressOnly(
  db: Database,
  request: ErasedKeys & Omit<ForgetOptions, 'wait'> & { readonly service: string },
): Promise<Receipt> {
  return receiptOf(db, await suppressErased(db, request))
}

async function receiptOf(db: Database, id: number): Promise<Receipt> {
  const [receipt] = await listReceipts(db, id)
  if (receipt === undefined) throw new Error(`erasure ${id} must be stored`)
  return receipt
}

/** Plans the deletes of every erasure of the service that is not planned yet: new ones, and those whose process ended before. */
export async function planErasures(deps: EngineDeps): Promise<void> {
  const ids = await unplannedErasures(deps.db, deps.service.origin)
  if (ids.length === 0) return
  const { planDeletes } = await import('./plan.ts')
  for (const id of ids) await planDeletes(deps, id)
}
