import { UsageError } from '../../errors.ts'
import { startWorker, type JobDeps } from '../../jobs/index.ts'
import { writeResult, type CommandRun } from '../context.ts'
import { withEngine, type EngineOptions } from '../engine.ts'
import { credentialSets } from '../services.ts'
import { concurrencyOf, jobDeps, startForNamedCredentials, type Running } from '../servers/jobs.ts'
import { untilAborted } from '../servers/untilAborted.ts'

/** Runs a worker until a signal. The worker executes queued runs and sends batches of other runs. Several machines may run workers. */
export const run: CommandRun = async (context, invocation) => {
  const options: EngineOptions = { ...concurrencyOf(invocation), role: 'worker', logLevel: 'info' }
  return withEngine(
    context,
    async ({ deps }) => {
      const sets = new Set(await credentialSets(context))
      const ownDeps = jobDeps(context, deps, undefined, sets)
      const worker = await startWorker(ownDeps)
      let others: Running | undefined
      try {
        others = await startForNamedCredentials(context, sets, options, startWorker)
        await logUnusableFiles(ownDeps, context.pipelines)
        writeResult(context, { workerId: deps.workerId }, `worker ${deps.workerId} is up\n`)
        await untilAborted(context.signal)
      } finally {
        // Also if another set of credentials cannot start, so that runs end before the database is closed.
        await Promise.all([worker.stop(), others?.stop()])
      }
      return 0
    },
    options,
  )
}

/** Logs the pipelines of which this worker takes no run. Without a readable folder it takes none, and only helps to send. */
async function logUnusableFiles({ loadPipelines, log }: JobDeps, folder: string): Promise<void> {
  try {
    await loadPipelines()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    log.warn({ code: error.code, where: folder }, `${error.message}: this worker takes no run, and only helps to send plans`)
  }
}
