/** Detects a new sandbox instance: the sandbox was restarted without its state, and so lacks what was synced. */
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { isLoopback } from '../../loopback.ts'
import { noteOf } from '../../mapping/statistics/qualityCodes.ts'
import { deleteAllProductSetRows } from '../../db/productSets.ts'
import { storeInstance } from '../../db/destinations.ts'
import { addWarnings } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { RunOptions } from '../../db/runs/columns.ts'
import { mayImply } from '../../db/impliedKeys.ts'
import type { DbRow } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'
import { recordOf } from '../../unknownValue.ts'

const timeoutMs = 2_000

/**
 * Returns true if the service is a new sandbox instance, and something was synced to the destination before. Then adds a warning to the
 * run, unless it is a full refresh, which sends everything again. If no instance is stored or nothing was synced, stores the instance and
 * returns false.
 */
export async function detectNewSandboxInstance(deps: EngineDeps, run: ClaimedRun): Promise<boolean> {
  const instance = await requestInstance(deps.service.origin)
  if (instance === undefined) return false
  const [row] = await deps.db.query<DbRow<'destination', 'instance'> & { is_synced: boolean }>(
    `select instance, (exists (select from remote m where m.destination_id = d.id and m.synced_hash is not null)
         or exists (select from batch b where b.destination_id = d.id and b.status = 'settled' and ${mayImply('b')})) as is_synced
     from destination d where id = $1`,
    [run.destinationId],
  )
  if (row === undefined || row.instance === instance) return false
  if (row.instance === null || !row.is_synced) {
    await replaceInstance(deps, run, instance)
    return false
  }
  if (isFullRefresh(run.options)) return true
  const message = `the sandbox at ${deps.service.origin} was started again without its state, so what was synced before is not in it: sluice run ${run.pipeline} --full sends everything again`
  await addWarnings(deps.db, run, [noteOf('SANDBOX_REPLACED', message)], 'first')
  return true
}

/** Stores the current sandbox instance if `options` are those of a full refresh. Returns true if it did. */
export async function acceptSandboxInstance(deps: EngineDeps, run: ClaimedRun, options: RunOptions): Promise<boolean> {
  const instance = isFullRefresh(options) ? await requestInstance(deps.service.origin) : undefined
  if (instance !== undefined) await replaceInstance(deps, run, instance)
  return instance !== undefined
}

/** Returns true if the run sends every desired key again. */
export const isFullRefresh = ({ full, failedOnly }: RunOptions): boolean => full === true && failedOnly !== true

/** Stores the instance. If it replaces another one, deletes the stored product sets, which belong to the old instance. */
async function replaceInstance(deps: EngineDeps, { destinationId }: ClaimedRun, instance: string): Promise<void> {
  await deps.db.transaction(async (tx) => {
    if (await storeInstance(tx, destinationId, instance)) await deleteAllProductSetRows(tx, destinationId)
  })
}

/** Requests the id of the sandbox instance. Returns undefined if the service is not a sandbox on this machine, or does not answer. */
async function requestInstance(origin: string): Promise<string | undefined> {
  if (!URL.canParse(origin) || !isLoopback(new URL(origin).hostname)) return undefined
  try {
    const body: unknown = JSON.parse(await download(`${origin}/_sandbox/instance`))
    const { instance } = recordOf(body)
    return typeof instance === 'string' ? instance : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the body of the answer. Avoids `fetch`, which takes 30 ms and 10 MB to load. `import('node:http')` would load it too, because an
 * import reads every export, also `WebSocket` (Node 24.21).
 */
async function download(url: string): Promise<string> {
  const { get } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  const signal = AbortSignal.timeout(timeoutMs)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => get(url, { signal, agent: false }, resolve).on('error', reject))
  return text(answer)
}
