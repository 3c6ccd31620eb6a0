import { needService } from '../../../config/config.ts'
import { createCaller, refusal, type Call } from '../api/caller.ts'
import { flag, option, writeJson, type CommandRun } from '../../context.ts'
import { writePrivately } from './tokens.ts'

/**
 * Prints the app-only token for other programs, to a pipe or to `--out`, never to a terminal. An application has one
 * valid token, so another request returns the same one (spec 3.2).
 */
export const run: CommandRun = async (context, invocation) => {
  const caller = createCaller(needService(context.config(), { user: false }), context)
  try {
    const token = await caller.bearer()
    if (flag(invocation, 'invalidate')) {
      const call: Call = { method: 'POST', host: 'core', path: '/oauth2/invalidate_token', auth: 'basic', form: { access_token: token } }
      const answer = await caller.answer(call)
      if (answer.status !== 200) throw await refusal(answer, call)
      if (context.json) writeJson(context, { invalidated: true })
      else context.stdout.write('the app-only token is invalid from now on\n')
      return 0
    }
    const out = option(invocation, 'out')
    if (out !== undefined) {
      writePrivately(out, `${token}\n`)
      if (context.json) writeJson(context, { storedIn: out })
      else context.stdout.write(`app-only token written to ${out}, mode 0600\n`)
    } else if (context.stdout.isTTY)
      context.stdout.write('the application has an app-only token; pipe it, or: sluice auth bearer --out FILE\n')
    else if (context.json) writeJson(context, { tokenType: 'bearer', accessToken: token })
    else context.stdout.write(`${token}\n`)
    return 0
  } finally {
    await caller.close()
  }
}
