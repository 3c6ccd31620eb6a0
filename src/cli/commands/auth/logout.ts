import { writeJson, type CommandRun } from '../../context.ts'
import { callForData } from '../webhooks/callForData.ts'

/** Invalidates the access token at the service: every later call with it is refused with code 89. */
export const run: CommandRun = async (context) => {
  await callForData(context, { method: 'POST', host: 'core', path: '/1.1/oauth/invalidate_token', auth: 'user' })
  if (context.json) writeJson(context, { invalidated: true })
  else context.stdout.write('signed out: the access token is invalid from now on\nNext  sluice auth login\n')
  return 0
}
