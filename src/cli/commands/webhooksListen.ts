import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { needService, parseCount } from '../../config/config.ts'
import { createWebhookReceiver } from '../../webhooks/index.ts'
import { option, writeJson, type CommandRun } from '../context.ts'
import { withStore } from '../store.ts'
import { instant } from '../text.ts'
import { untilAborted } from '../wait.ts'

/** A receiver on its own: answers challenges, keeps each event once. Stays until a signal comes. */
export const run: CommandRun = async (context, invocation) => {
  const port = parseCount('--port', option(invocation, 'port') ?? '8081', { min: 0, max: 65_535 })
  const host = option(invocation, 'host') ?? '127.0.0.1'
  const config = context.config()
  const { consumerSecret, names } = needService(config, { user: false })
  const previous = config.service.previousConsumerSecret?.reveal()
  return withStore(context, async (store) => {
    const header = names['x-service-webhooks-signature']
    const receiver = createWebhookReceiver({
      db: store.db,
      secrets: [consumerSecret, ...(previous === undefined ? [] : [previous])],
      log: context.log(),
      clock: context.clock,
      ...(option(invocation, 'path') === undefined ? {} : { path: option(invocation, 'path') as string }),
      ...(header === undefined ? {} : { signatureHeader: header }),
    })
    const server = createServer((request, response) => {
      response.on('finish', () => {
        // Method and status only: query and body may hold tokens and people.
        if (!context.json) context.stdout.write(`${instant(context.clock.now())} ${request.method} ${receiver.path} ${response.statusCode}\n`)
      })
      void receiver.handle(request, response).then((ours) => ours || response.writeHead(404).end())
    })
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}${receiver.path}`
    if (context.json) writeJson(context, { url })
    else context.stdout.write(`listening on ${url}\n`)
    context.stderr.write(`register the public https address that leads here: sluice webhooks add https://…${receiver.path}\n`)
    await untilAborted(context.signal)
    await new Promise((resolve) => server.close(resolve))
    return 0
  })
}
