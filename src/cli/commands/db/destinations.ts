/** Lists the stored destinations, and removes the state of one that no pipeline uses any more. */
import { removeDestination, type RemovedCounts } from '../../../db/removeDestination.ts'
import { destinationOf } from '../../../destinations/index.ts'
import { RunError, UsageError } from '../../../errors.ts'
import type { DestinationKey } from '../../../db/destinations.ts'
import { purgeErasures } from '../../../db/erasures.ts'
import { loadPipelines, type LoadedPipelines } from '../../../pipeline/load.ts'
import { destinationKey } from '../../../sync/destinationKey.ts'
import { listDestinations, type StoredDestination } from '../../../sync/reports/destinations.ts'
import { argument, flag, option, writeJson, writeResult, type CommandRun, type Context } from '../../context.ts'
import { operator } from '../../operator.ts'
import { identityIfConfigured } from '../../services.ts'
import { withStore } from '../../store.ts'
import { hintText, instant, nextLines, plural, safe, tableWithin } from '../../terminal/text.ts'

/** Prints every destination of the database. */
export const list: CommandRun = async (context) => {
  const pipelinesUsing = await findPipelinesUsing(context, { strict: false })
  return withStore(context, async ({ db }) => {
    const destinations = (await listDestinations(db)).map((one) => ({ ...one, usedBy: pipelinesUsing(one) }))
    if (context.json) writeJson(context, destinations)
    else if (destinations.length === 0) context.stdout.write(`no destinations yet: ${hintText('sluice run PIPELINE', context.stdout)}\n`)
    else {
      const rows = destinations.map((one) => [
        one.id,
        nameOf(one),
        one.service,
        one.rows === null ? 'no complete read' : plural(one.rows, 'row'),
        one.usedBy.length > 0 ? `used by ${one.usedBy.map(safe).join(', ')}` : 'no pipeline here',
        one.lastRun === null ? 'no run' : `${one.lastRun.id} of ${safe(one.lastRun.pipeline)}, ${instant(one.lastRun.at)}`,
        openText(one),
      ])
      context.stdout.write(tableWithin(context.stdout.columns, rows))
    }
    return 0
  })
}

/**
 * Removes the state of a destination. Without `--yes`, only prints what would be removed.
 *
 * @throws {UsageError} `UNKNOWN_DESTINATION`, `DESTINATION_IN_USE`
 * @throws {RunError} `PIPELINE_HELD` while a run or a request of the destination has not ended, or a request may still arrive
 */
export const remove: CommandRun = async (context, invocation) => {
  const id = argument(invocation, 0)
  const pipelinesUsing = await findPipelinesUsing(context, { strict: true })
  return withStore(context, async ({ db }) => {
    const destination = (await listDestinations(db)).find((one) => one.id === id)
    if (destination === undefined)
      throw new UsageError('UNKNOWN_DESTINATION', `there is no destination "${id}". Nothing was removed.`, {
        where: id,
        hint: 'sluice db destinations',
      })
    assertRemovable(destination, pipelinesUsing(destination), context.pipelines)
    if (!flag(invocation, 'yes')) {
      const { openRequests, openErasureDeletes, rows } = destination
      const planned = { id: destination.id, removed: false, rows, openRequests, openErasureDeletes }
      writeResult(context, planned, previewText(destination))
      if (!context.json) context.stdout.write(nextLines([`sluice db remove ${destination.id} --yes`], context.stdout))
      return 0
    }
    const removed = await removeDestination(db, Number(destination.id.slice(2)), operator(option(invocation, 'reason')))
    if (removed === undefined)
      throw new RunError('PIPELINE_HELD', `a run or a request of ${nameOf(destination)} has not ended. Nothing was removed.`, {
        where: destination.id,
        hint: 'sluice runs   (shows runs; wait two minutes, or sluice cancel RUN)',
      })
    // Erasures whose last open delete was dropped can now be completed.
    await purgeErasures(db, destination.service)
    writeResult(context, { id: destination.id, removed: true, ...removed }, removedText(destination, removed))
    return 0
  })
}

/** Returns kind and ids: `audience 18ce54d4x5t/1nmth`. */
function nameOf({ kind, accountId, targetId }: StoredDestination): string {
  return `${kind} ${[accountId, targetId].filter(Boolean).map(safe).join('/')}`
}

/** Names of the pipelines of the folder that use a destination. */
type PipelinesUsing = (stored: StoredDestination) => readonly string[]

/**
 * Finds the pipelines of the folder by their destination. If the service of a pipeline is not configured, the ids alone decide. `strict`:
 * throws the error of an invalid pipeline file, because its destination is not known.
 */
async function findPipelinesUsing(context: Context, { strict }: { readonly strict: boolean }): Promise<PipelinesUsing> {
  const { pipelines, broken } = await pipelinesOfFolder(context)
  const [error] = broken.values()
  if (strict && error !== undefined) throw error
  const keyedPipelines: { readonly name: string; readonly key: DestinationKey; readonly service: string | undefined }[] = []
  for (const pipeline of pipelines) {
    const service = (await identityIfConfigured(context, pipeline))?.origin
    keyedPipelines.push({ name: pipeline.name, key: destinationKey({ service: { origin: service ?? '' } }, pipeline), service })
  }
  return (stored) => {
    const isSame = ({ key, service }: (typeof keyedPipelines)[number]) =>
      key.kind === stored.kind &&
      key.accountId === stored.accountId &&
      key.targetId === stored.targetId &&
      (service ?? stored.service) === stored.service
    return keyedPipelines.filter(isSame).map(({ name }) => name)
  }
}

/** Returns the pipelines of the folder; none if it cannot be read. */
async function pipelinesOfFolder(context: Context): Promise<Pick<LoadedPipelines, 'pipelines' | 'broken'>> {
  try {
    return await loadPipelines(context.pipelines, context.config().env)
  } catch (error) {
    if (error instanceof UsageError && error.code === 'PIPELINES_MISSING') return { pipelines: [], broken: new Map() }
    throw error
  }
}

/** @throws {UsageError} `DESTINATION_IN_USE` */
function assertRemovable(destination: StoredDestination, using: readonly string[], folder: string): void {
  const [first] = using
  if (first !== undefined)
    throw new UsageError('DESTINATION_IN_USE', `${nameOf(destination)} is the destination of ${first}. Nothing was removed.`, {
      where: first,
      hint: `move the file of ${first} out of ${folder} first`,
    })
  if (destinationOf(destination.kind).suppresses)
    throw new UsageError(
      'DESTINATION_IN_USE',
      `${nameOf(destination)} keeps its people out of the audiences of the account. Without its state, runs would send them. Nothing was removed.`,
      { where: destination.id, hint: 'to let single people in, remove them from the source of the list while its pipeline runs' },
    )
}

/** Returns the text of a call without `--yes`. */
function previewText(destination: StoredDestination): string {
  const { records } = destinationOf(destination.kind).words
  const { openRequests, openErasureDeletes, lastRun } = destination
  return [
    `${nameOf(destination)} at ${destination.service}`,
    ...(lastRun === null ? [] : [`last run: ${lastRun.id} of ${safe(lastRun.pipeline)}, ${instant(lastRun.at)}`]),
    '',
    'This would be deleted from the database:',
    `  what is stored about the ${records}${destination.rows === null ? '' : `: ${plural(destination.rows, 'row')} at the last complete read`}`,
    ...(openRequests === 0 ? [] : [`  ${plural(openRequests, 'open request')}, never to be sent`]),
    ...(openErasureDeletes === 0 ? [] : [`  ${plural(openErasureDeletes, 'open delete')} of erasures, never to be sent`]),
    '',
    `The service keeps its ${records}: no run renews or deletes them any more. The history of runs stays.`,
    'Nothing was removed.',
    '',
  ].join('\n')
}

function removedText(destination: StoredDestination, { records, requests, erasureDeletes }: RemovedCounts): string {
  const { words } = destinationOf(destination.kind)
  const dropped = [
    ...(requests === 0 ? [] : [plural(requests, 'open request')]),
    ...(erasureDeletes === 0 ? [] : [`${plural(erasureDeletes, 'open delete')} of erasures`]),
  ]
  return [
    `${nameOf(destination)} removed: the stored state of ${plural(records, words.record, words.records)}`,
    ...(dropped.length === 0 ? [] : [`  dropped: ${dropped.join(', ')}`]),
    '',
  ].join('\n')
}

/** Returns the open requests of a destination; empty without any. */
function openText({ openRequests, openErasureDeletes }: StoredDestination): string {
  return [
    ...(openRequests === 0 ? [] : [plural(openRequests, 'open request')]),
    ...(openErasureDeletes === 0 ? [] : [`${plural(openErasureDeletes, 'open delete')} of erasures`]),
  ].join(', ')
}
