import { changePause } from '../../jobs/index.ts'
import { list, option, writeJson, type CommandRun } from '../context.ts'
import { operator } from '../operator.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { identityOf } from '../services.ts'
import { withStore } from '../store.ts'

/** Starts no run of the pipelines until they are resumed. */
export const run: CommandRun = async (context, invocation) => {
  const pipelines = await pipelinesNamed(context, list(invocation, 0))
  const by = operator(option(invocation, 'reason'))
  return withStore(context, async ({ db }) => {
    const changes: { pipeline: string; state: 'paused'; changed: boolean }[] = []
    for (const pipeline of pipelines)
      changes.push({
        pipeline: pipeline.name,
        state: 'paused',
        changed: await changePause({ db, service: await identityOf(context, pipeline) }, pipeline, 'pause', by),
      })
    if (context.json) writeJson(context, changes)
    else
      for (const { pipeline, changed } of changes)
        context.stdout.write(`${pipeline} ${changed ? 'is paused' : 'was paused before'}   sluice resume ${pipeline}\n`)
    return 0
  })
}
