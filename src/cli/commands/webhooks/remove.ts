import { argument, writeJson, type CommandRun } from '../../context.ts'
import { callForData } from './callForData.ts'

export const run: CommandRun = async (context, invocation) => {
  const id = argument(invocation, 0)
  const data = await callForData(context, { method: 'DELETE', host: 'core', path: `/2/webhooks/${encodeURIComponent(id)}`, auth: 'bearer' })
  if (context.json) writeJson(context, data)
  else context.stdout.write(`${id}  removed\n`)
  return 0
}
