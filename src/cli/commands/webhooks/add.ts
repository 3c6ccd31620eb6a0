import { argument, type CommandRun } from '../../context.ts'
import { callForData, printWebhooks } from './callForData.ts'

/** Registers an address. The service challenges it immediately, so the receiver must be up. */
export const run: CommandRun = async (context, invocation) => {
  const json = JSON.stringify({ url: argument(invocation, 0) })
  printWebhooks(context, await callForData(context, { method: 'POST', host: 'core', path: '/2/webhooks', auth: 'bearer', json }))
  return 0
}
