import { list, writeJson, type CommandRun } from '../../context.ts'
import { folderStatus } from './folderStatus.ts'
import { statusScreen } from './statusScreen.ts'
import { withStore } from '../../store.ts'

/** Shows each pipeline's last result and what needs a person. Reads only. */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const status = await folderStatus(context, store.db, list(invocation, 0))
    if (context.json) writeJson(context, status)
    else context.stdout.write(statusScreen(status, context.stdout))
    return 0
  })
