import { needService } from '../../config/config.ts'
import { parseCount } from '../parseCount.ts'
import { serve } from '../../jobs/index.ts'
import { option, writeJson, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { concurrencyOf, jobDeps } from '../jobs.ts'
import { startReceiver, type ReceiverServer } from '../receiverServer.ts'
import { untilAborted } from '../wait.ts'

/** Scheduler, worker and webhook receiver in one process. Stays until a signal comes, and ends within 25 s of it. */
export const run: CommandRun = async (context, invocation) => {
  const given = option(invocation, 'port')
  const port = parseCount('--port', given ?? '8080', { min: 0, max: 65_535 })
  const host = option(invocation, 'host') ?? '127.0.0.1'
  const config = context.config()
  const service = needService(config)
  return withEngine(
    context,
    async ({ deps }) => {
      const listen = (at: number): Promise<ReceiverServer> => startReceiver(context, { db: deps.db, config, service, host, port: at })
      const server = await listen(port).catch((error: unknown) => {
        // Several on one machine is ordinary; only a port that somebody asked for is worth failing over.
        if (given === undefined && (error as NodeJS.ErrnoException).code === 'EADDRINUSE') return listen(0)
        throw error
      })
      try {
        const running = await serve(jobDeps(context, deps))
        if (context.json) writeJson(context, { url: server.url, workerId: deps.workerId })
        else context.stdout.write(`serving on ${server.url}   scheduler and worker up, webhooks at ${server.url}/webhooks\n`)
        await untilAborted(context.signal)
        await running.stop()
      } finally {
        await server.close()
      }
      return 0
    },
    { ...concurrencyOf(invocation), role: 'serve', logLevel: 'info' },
  )
}
