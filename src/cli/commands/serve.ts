import { needService } from '../../config/config.ts'
import { parseCount } from '../commandLine/parseCount.ts'
import { serve } from '../../jobs/index.ts'
import { option, writeJson, type CommandRun } from '../context.ts'
import { withEngine, type EngineOptions } from '../engine.ts'
import { credentialSets } from '../services.ts'
import { concurrencyOf, jobDeps, startForNamedCredentials, type Running } from '../servers/jobs.ts'
import { untilAborted } from '../servers/untilAborted.ts'
import { accessSettings, startWebServer } from '../servers/webServer.ts'

/** Runs scheduler, worker, dashboard, API, alerts and webhook receiver in one process, until a signal. */
export const run: CommandRun = async (context, invocation) => {
  const port = parseCount('--port', option(invocation, 'port') ?? '8080', { min: 0, max: 65_535 })
  const host = option(invocation, 'host') ?? '127.0.0.1'
  const config = context.config()
  const service = needService(config)
  // `startWebServer` calls this too. Here it throws before the database is opened.
  accessSettings(config, host)
  const options: EngineOptions = { ...concurrencyOf(invocation), role: 'serve', logLevel: 'info' }
  return withEngine(
    context,
    async ({ deps }) => {
      let schedulerIdleS: (() => number) | undefined
      const sets = new Set(await credentialSets(context))
      const server = await startWebServer(context, deps, {
        config,
        service,
        host,
        port,
        schedulerIdleS: () => schedulerIdleS?.() ?? Number.POSITIVE_INFINITY,
        sets,
      })
      try {
        const running = await serve(jobDeps(context, deps, undefined, sets))
        let others: Running | undefined
        try {
          others = await startForNamedCredentials(context, sets, options, serve)
          schedulerIdleS = running.schedulerIdleS
          if (context.json) writeJson(context, { url: server.url, workerId: deps.workerId })
          else
            context.stdout.write(
              `serving on ${server.url}   dashboard, API, scheduler and worker are up; webhooks at ${server.url}/webhooks\n`,
            )
          await untilAborted(context.signal)
        } finally {
          // Also if another set of credentials cannot start, so that runs end before the database is closed.
          await Promise.all([running.stop(), others?.stop()])
        }
      } finally {
        await server.close()
      }
      return 0
    },
    options,
  )
}
