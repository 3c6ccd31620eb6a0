import { destinationsOfRuns } from '../../db/destinations.ts'
import type { Store } from '../../db/open.ts'
import { pausePipeline, resumePipeline } from '../../db/pauses.ts'
import { ConfigError, fallbackOn } from '../../errors.ts'
import { changePause, ownDestinationId } from '../../jobs/index.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { readProjectFile } from '../../pipeline/projectFile.ts'
import { listArgument, option, writeJson, type CommandRun, type Context } from '../context.ts'
import { operator } from '../operator.ts'
import { pipelinesToPause } from '../pipelines.ts'
import { identityIfConfigured, identityOf } from '../services.ts'
import { withStore } from '../store.ts'
import { hintText } from '../terminal/text.ts'

/** Pauses the pipelines: no run starts until they are resumed, except plans and audits. A running run continues. */
export const pause: CommandRun = pauseCommand('pause', 'paused', (pipeline, changed) => [
  changed ? 'is paused' : 'was paused before',
  `sluice resume ${pipeline}`,
])

/** Allows runs of the pipelines again after a pause. */
export const resume: CommandRun = pauseCommand('resume', 'active', (pipeline, changed) => [
  changed ? 'is resumed' : 'was not paused',
  `sluice run ${pipeline}`,
])

/** Returns the command that pauses or resumes. `report` returns the result and the next command for a pipeline. */
function pauseCommand(
  action: 'pause' | 'resume',
  state: 'paused' | 'active',
  report: (pipeline: string, changed: boolean) => readonly [result: string, next: string],
): CommandRun {
  return async (context, invocation) => {
    const { pipelines, invalid } = await pipelinesToPause(context, listArgument(invocation, 0))
    const by = operator(option(invocation, 'reason'))
    return withStore(context, async ({ db }) => {
      // Finds all services and destinations before the first change, because one may not be configured.
      const targets = [
        ...(await Promise.all(pipelines.map((pipeline) => targetOf(context, db, pipeline)))),
        ...(await Promise.all([...invalid].map(([name, error]) => targetOfInvalid(context, db, name, error)))),
      ]
      const changes: { pipeline: string; state: typeof state; changed: boolean }[] = []
      for (const { name, change } of targets) changes.push({ pipeline: name, state, changed: await change(action, by) })
      if (context.json) writeJson(context, changes)
      else
        for (const { pipeline, changed } of changes)
          context.stdout.write(
            `${pipeline} ${report(pipeline, changed)
              .map((text) => hintText(text, context.stdout))
              .join('   ')}\n`,
          )
      for (const name of invalid.keys())
        context.stderr.write(`note   the file of ${name} is invalid, so this applies to the destination of its last run\n`)
      return 0
    })
  }
}

/** Pipeline to pause or to resume. */
interface Target {
  readonly name: string
  readonly change: (action: 'pause' | 'resume', by: ReturnType<typeof operator>) => Promise<boolean>
}

/** Returns the target of a pipeline. @throws {RunError} `OTHER_CREDENTIALS` if its destination belongs to another environment */
async function targetOf(context: Context, db: Store['db'], pipeline: Pipeline): Promise<Target> {
  const service = await identityOf(context, pipeline)
  const isUserKnown = (await identityIfConfigured(context, pipeline)) !== undefined
  if (isUserKnown) await ownDestinationId({ db, service }, pipeline)
  return { name: pipeline.name, change: (action, by) => changePause({ db, service }, pipeline, action, { ...by, isUserKnown }) }
}

/**
 * Returns the target of a pipeline with an invalid file: the destination of its last run. Only runs with the credentials of the environment
 * or of a set in sluice.yaml count.
 *
 * @throws {ConfigError} `error` if there is none, or if a newer run may belong to an unusable set
 */
async function targetOfInvalid(context: Context, db: Store['db'], name: string, error: ConfigError): Promise<Target> {
  const { credentials: sets, unusableCredentials } = await readProjectFile(context.pipelines, context.config().env)
  const settings = [{}, ...Object.keys(sets).map((credentials) => ({ credentials }))]
  const environments = await Promise.all(settings.map((setting) => environmentOf(context, setting)))
  const destinations = await destinationsOfRuns(db, name)
  const index = destinations.findIndex(({ service, credentials }) =>
    environments.some(
      (own) => own?.origin === service && (credentials === null || own.credentials === undefined || own.credentials === credentials),
    ),
  )
  const destination = destinations[index]
  if (destination === undefined || (index > 0 && Object.keys(unusableCredentials).length > 0)) throw error
  return {
    name,
    change: (action, by) =>
      (action === 'pause' ? pausePipeline : resumePipeline)(db, { destinationId: destination.id, pipeline: name, ...by }),
  }
}

/** Returns the service of the environment or of a named set, and its user if known. Undefined if no service is configured. */
async function environmentOf(
  context: Context,
  setting: Pick<Pipeline, 'credentials'>,
): Promise<{ readonly origin: string; readonly credentials?: string } | undefined> {
  const known = await identityIfConfigured(context, setting)
  if (known !== undefined) return known
  const service = await identityOf(context, setting).catch(fallbackOn(ConfigError, undefined))
  return service && { origin: service.origin }
}
