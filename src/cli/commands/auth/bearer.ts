import { needService } from '../../../config/config.ts'
import { flag, option, writeJson, writeResult, type CommandRun } from '../../context.ts'
import { withClient } from '../../withClient.ts'
import { writeWholeFile } from '../../wholeFile.ts'

/**
 * Writes the app-only token for other programs to a pipe or to the file of `--out`, never to a terminal. With `--invalidate`, invalidates
 * the token instead. An application has one valid token, so a new request returns the same token (spec 3.2).
 */
export const run: CommandRun = async (context, invocation) =>
  withClient(context, needService(context.config(), { user: false }), async ({ call, bearerToken }) => {
    const token = await bearerToken()
    if (flag(invocation, 'invalidate')) {
      await call('oauth2.invalidateToken', { access_token: token })
      writeResult(context, { invalidated: true }, 'the app-only token is invalid from now on\n')
      return 0
    }
    const out = option(invocation, 'out')
    if (out !== undefined) {
      writeWholeFile(out, `${token}\n`, { private: true })
      writeResult(context, { storedIn: out }, `app-only token written to ${out}, mode 0600\n`)
    } else if (context.stdout.isTTY) {
      const hint = 'pipe it, or: sluice auth bearer --out FILE'
      writeResult(context, { tokenType: 'bearer', hint }, `the application has an app-only token; ${hint}\n`)
    } else if (context.json) writeJson(context, { tokenType: 'bearer', accessToken: token })
    else context.stdout.write(`${token}\n`)
    return 0
  })
