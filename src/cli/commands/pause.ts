import { changePause, ownDestinationId } from '../../jobs/index.ts'
import { listArgument, option, writeJson, type CommandRun } from '../context.ts'
import { operator } from '../operator.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { environmentIfKnown, identityOf } from '../services.ts'
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
    const pipelines = await pipelinesNamed(context, listArgument(invocation, 0))
    const by = operator(option(invocation, 'reason'))
    return withStore(context, async ({ db }) => {
      // Finds all services before the first change, because one may not be configured.
      const targets = await Promise.all(
        pipelines.map(async (pipeline) => ({
          pipeline,
          service: await identityOf(context, pipeline),
          isUserKnown: (await environmentIfKnown(context, pipeline)) !== undefined,
        })),
      )
      // Nothing is changed if a destination belongs to another environment.
      for (const { pipeline, service, isUserKnown } of targets) if (isUserKnown) await ownDestinationId({ db, service }, pipeline)
      const changes: { pipeline: string; state: typeof state; changed: boolean }[] = []
      for (const { pipeline, service, isUserKnown } of targets) {
        const changed = await changePause({ db, service }, pipeline, action, { ...by, isUserKnown })
        changes.push({ pipeline: pipeline.name, state, changed })
      }
      if (context.json) writeJson(context, changes)
      else
        for (const { pipeline, changed } of changes)
          context.stdout.write(
            `${pipeline} ${report(pipeline, changed)
              .map((text) => hintText(text, context.stdout))
              .join('   ')}\n`,
          )
      return 0
    })
  }
}
