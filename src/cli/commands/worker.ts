import { startWorker } from '../../jobs/index.ts'
import { writeResult, type CommandRun } from '../context.ts'
import { withEngine, type EngineOptions } from '../engine.ts'
import { credentialSets } from '../services.ts'
import { concurrencyOf, jobDeps, startForNamedCredentials } from '../servers/jobs.ts'
import { untilAborted } from '../servers/untilAborted.ts'

/** Runs a worker until a signal. The worker executes queued runs and sends batches of other runs. Several machines may run workers. */
export const run: CommandRun = async (context, invocation) => {
  const options: EngineOptions = { ...concurrencyOf(invocation), role: 'worker', logLevel: 'info' }
  return withEngine(
    context,
    async ({ deps }) => {
      const sets = new Set(await credentialSets(context))
      const worker = await startWorker(jobDeps(context, deps))
      const others = await startForNamedCredentials(context, sets, options, startWorker)
      writeResult(context, { workerId: deps.workerId }, `worker ${deps.workerId} is up\n`)
      await untilAborted(context.signal)
      await Promise.all([worker.stop(), others.stop()])
      return 0
    },
    options,
  )
}
