import { changePause } from '../../jobs/index.ts'
import { list, option, writeJson, type CommandRun } from '../context.ts'
import { operator } from '../operator.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { identityOf } from '../services.ts'
import { withStore } from '../store.ts'

/** Starts runs of the pipelines again. */
export const run: CommandRun = async (context, invocation) => {
  const pipelines = await pipelinesNamed(context, list(invocation, 0))
  const by = operator(option(invocation, 'reason'))
  return withStore(context, async ({ db }) => {
    const changes: { pipeline: string; state: 'active'; changed: boolean }[] = []
    for (const pipeline of pipelines)
      changes.push({
        pipeline: pipeline.name,
        state: 'active',
        changed: await changePause({ db, service: await identityOf(context, pipeline) }, pipeline, 'resume', by),
      })
    if (context.json) writeJson(context, changes)
    else
      for (const { pipeline, changed } of changes)
        context.stdout.write(`${pipeline} ${changed ? 'is resumed' : 'was not paused'}   sluice run ${pipeline}\n`)
    return 0
  })
}
