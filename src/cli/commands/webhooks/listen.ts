import { needService } from '../../../config/config.ts'
import { UsageError } from '../../../errors.ts'
import { parseCount } from '../../commandLine/parseCount.ts'
import { option, writeResult, type CommandRun } from '../../context.ts'
import { startHttpServer } from '../../servers/httpServer.ts'
import { withStore } from '../../store.ts'
import { instant, safe } from '../../terminal/text.ts'
import { untilAborted } from '../../servers/untilAborted.ts'

/**
 * Runs only a webhook receiver, until a signal. It answers challenges and stores each event once in the database. It requests replays of
 * the events that it refused while the database was down.
 */
export const run: CommandRun = async (context, invocation) => {
  const port = parseCount('--port', option(invocation, 'port') ?? '8081', { min: 0, max: 65_535 })
  const path = parsePath(option(invocation, 'path') ?? '/webhooks')
  const config = context.config()
  const service = needService(config, { user: false })
  return withStore(context, async (store) => {
    const server = await startHttpServer(context, {
      db: store.db,
      config,
      service,
      port,
      path,
      host: option(invocation, 'host') ?? '127.0.0.1',
      onAnswer: (method, requested, status) => {
        if (!context.json) context.stdout.write(`${instant(context.clock.now())} ${method} ${safe(requested)} ${status}\n`)
      },
    })
    writeResult(context, { url: server.url + path }, `listening on ${server.url}${path}\n`)
    context.stderr.write(`register its public https address: sluice webhooks add https://…${path}\n`)
    await untilAborted(context.signal)
    await server.close()
    return 0
  })
}

/** Returns the path unchanged if a request can have it. @throws {UsageError} `INVALID_VALUE` */
function parsePath(path: string): string {
  const baseUrl = 'http://127.0.0.1'
  const requested = URL.canParse(path, baseUrl) ? new URL(path, baseUrl).pathname : '/webhooks'
  if (requested === path) return path
  throw new UsageError('INVALID_VALUE', '--path must be the path of a URL, such as /webhooks. Nothing was started.', {
    where: '--path',
    hint: `sluice webhooks listen --path ${requested}`,
  })
}
