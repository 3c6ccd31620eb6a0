import { cancel } from '../../sync/index.ts'
import { argument, option, writeJson, type CommandRun } from '../context.ts'
import { operator } from '../operator.ts'
import { withStore } from '../store.ts'

const said = {
  cancelled: 'had not begun, and will not',
  stopping: 'is stopping; what was confirmed is kept',
  ended: 'had ended before: nothing to do',
} as const

/** Asks a run to stop, whichever process carries it out. */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const { runId, state } = await cancel(store, argument(invocation, 0), operator(option(invocation, 'reason')))
    if (context.json) writeJson(context, { runId, state })
    else context.stdout.write(`${runId} ${said[state]}${state === 'stopping' ? `   sluice show ${runId}` : ''}\n`)
    return 0
  })
