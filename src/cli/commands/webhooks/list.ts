import type { CommandRun } from '../../context.ts'
import { callForData, printWebhooks } from './callForData.ts'

export const run: CommandRun = async (context) => {
  const data = await callForData(context, { method: 'GET', host: 'core', path: '/2/webhooks', auth: 'bearer' })
  if (!context.json && Array.isArray(data) && data.length === 0) context.stdout.write('none registered: sluice webhooks add https://…\n')
  else printWebhooks(context, data)
  return 0
}
