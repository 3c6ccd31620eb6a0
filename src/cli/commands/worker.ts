import { startWorker } from '../../jobs/index.ts'
import { writeJson, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { concurrencyOf, jobDeps, withNamedCredentials } from '../servers/jobs.ts'
import { untilAborted } from '../servers/untilAborted.ts'

/** Runs a worker: carries out queued runs and helps other runs to push, on any number of machines. */
export const run: CommandRun = async (context, invocation) =>
  withEngine(
    context,
    async ({ deps }) => {
      const worker = await startWorker(jobDeps(context, deps))
      const others = await withNamedCredentials(context, { ...concurrencyOf(invocation), role: 'worker', logLevel: 'info' }, startWorker)
      if (context.json) writeJson(context, { workerId: deps.workerId })
      else context.stdout.write(`worker ${deps.workerId} is up\n`)
      await untilAborted(context.signal)
      await Promise.all([worker.stop(), others.stop()])
      return 0
    },
    { ...concurrencyOf(invocation), role: 'worker', logLevel: 'info' },
  )
