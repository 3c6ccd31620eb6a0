/** Erases a person from the audiences at the service, and from the database (docs/erasure.md). */
import {
  addEarlierDeletes,
  erasureAudiences,
  listReceipts,
  purgeErasures,
  storeErasure,
  unplannedErasures,
  type ErasedKeys,
  type Receipt,
} from '../../db/erasures.ts'
import type { Database } from '../../db/database.ts'
import { assertAllSyncedHere } from '../databaseCopy.ts'
import type { EngineDeps } from '../engine.ts'
import { pushErasure } from '../push/push.ts'

export interface ForgetOptions {
  /** User of the command, for the audit log and the receipt. */
  readonly actor: string
  readonly reason?: string
  /**
   * True: `forget` sends the deletes. It sends each one twice, and waits `horizonMs` before the second, or before both
   * (docs/decisions/late-arrival-horizon.md). False: the next run of each audience sends them.
   */
  readonly wait: boolean
}

/**
 * Suppresses the keys of a person, and plans their deletes. With `wait`, sends these, and the unconfirmed deletes of earlier erasures of
 * these keys. Then deletes the stored data of the person that no open request needs. Returns the receipt, with the number of confirmed
 * deletes. Later runs send the other deletes.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function forget(deps: EngineDeps, keys: ErasedKeys, { wait, ...by }: ForgetOptions): Promise<Receipt> {
  const [receipt] = await forgetAll(deps, [{ ...keys, ...by }], { wait })
  if (receipt === undefined) throw new Error('an erasure must have a receipt')
  return receipt
}

/**
 * Erases several people, as `forget` does. Suppresses all of them before it sends the first delete, and waits only once. Returns their
 * receipts in the same order.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function forgetAll(
  deps: EngineDeps,
  requests: readonly (ErasedKeys & Omit<ForgetOptions, 'wait'>)[],
  { wait }: Pick<ForgetOptions, 'wait'>,
): Promise<readonly Receipt[]> {
  const service = deps.service.origin
  await assertAllSyncedHere(deps)
  const erasures: { readonly id: number; readonly keys: ErasedKeys }[] = []
  for (const request of requests) erasures.push({ id: await storeErasure(deps.db, { ...request, service }), keys: request })
  await planErasures(deps)
  // The deletes of earlier erasures may have been planned only now.
  for (const { id, keys } of erasures) await deps.db.transaction((tx) => addEarlierDeletes(tx, id, { ...keys, service }))
  if (wait) for (const { id } of erasures) await sendDeletes(deps, id)
  await purgeErasures(deps.db, service)
  const receipts: Receipt[] = []
  for (const { id } of erasures) receipts.push(await receiptOf(deps.db, id))
  return receipts
}

async function sendDeletes(deps: EngineDeps, erasure: number): Promise<void> {
  for (const audience of await erasureAudiences(deps.db, erasure, deps.service)) {
    if (deps.signal?.aborted) break
    await pushErasure(deps, { erasure, audience })
  }
}

/**
 * Suppresses the keys at a service for which this environment has no credentials. The next run at that service plans and sends the deletes.
 */
export async function suppressOnly(
  db: Database,
  request: ErasedKeys & Omit<ForgetOptions, 'wait'> & { readonly service: string },
): Promise<Receipt> {
  return receiptOf(db, await storeErasure(db, request))
}

async function receiptOf(db: Database, id: number): Promise<Receipt> {
  const [receipt] = await listReceipts(db, id)
  if (receipt === undefined) throw new Error(`erasure ${id} must be stored`)
  return receipt
}

/** Plans the deletes of every erasure of the service that is not planned yet. */
export async function planErasures(deps: EngineDeps): Promise<void> {
  const ids = await unplannedErasures(deps.db, deps.service.origin)
  if (ids.length === 0) return
  const { planDeletes } = await import('./planDeletes.ts')
  for (const id of ids) await planDeletes(deps, id)
}
