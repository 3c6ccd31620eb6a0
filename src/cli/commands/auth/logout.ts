import { needService } from '../../../config/config.ts'
import { writeResult, type CommandRun } from '../../context.ts'
import { withClient } from '../../withClient.ts'

/** Invalidates the access token. From then on, the service refuses every call with this token (code 89). */
export const run: CommandRun = async (context) => {
  await withClient(context, needService(context.config()), ({ call }) => call('oauth.invalidateToken', {}))
  writeResult(context, { invalidated: true }, 'signed out: the access token is invalid from now on\nNext  sluice auth login\n')
  return 0
}
