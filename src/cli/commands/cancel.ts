import { cancel } from '../../sync/run/run.ts'
import { argument, option, writeJson, type CommandRun } from '../context.ts'
import { operator } from '../operator.ts'
import { withStore } from '../store.ts'
import { hintText } from '../terminal/text.ts'

const stateTexts = {
  cancelled: 'had not started; it is cancelled',
  stopping: 'is stopping; what was confirmed is kept',
  ended: 'had already ended: nothing to do',
} as const

/** Cancels a queued run, or requests a running run to stop, in any process. Does not wait until the run has stopped. */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const { runId, state } = await cancel(store, argument(invocation, 0), operator(option(invocation, 'reason')))
    if (context.json) writeJson(context, { runId, state })
    else
      context.stdout.write(
        `${runId} ${stateTexts[state]}${state === 'stopping' ? `   ${hintText(`sluice show ${runId}`, context.stdout)}` : ''}\n`,
      )
    return 0
  })
