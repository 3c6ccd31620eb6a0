import { argument, writeJson, type CommandRun } from '../../context.ts'
import { callForData } from './callForData.ts'

/** Requests a new challenge, which enables a registration again. Exits 1 if the address fails it. */
export const run: CommandRun = async (context, invocation) => {
  const id = argument(invocation, 0)
  const data = await callForData(context, { method: 'PUT', host: 'core', path: `/2/webhooks/${encodeURIComponent(id)}`, auth: 'bearer' })
  const valid = typeof data === 'object' && data !== null && 'valid' in data && data.valid === true
  if (context.json) writeJson(context, data)
  else if (valid) context.stdout.write(`${id}  valid\n`)
  else context.stdout.write(`${id}  INVALID: the address did not answer the challenge\nNext  sluice webhooks listen\n`)
  return valid ? 0 : 1
}
