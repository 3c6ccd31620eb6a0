import { writeJson, type CommandRun } from '../context.ts'
import { withStore } from '../store.ts'
import { migrationStatus } from '../../store/migrate.ts'

/** Opening the store migrates it; what remains is to say so. */
export const run: CommandRun = async (context) =>
  withStore(context, async (store) => {
    const status = await migrationStatus(store.url)
    if (context.json) writeJson(context, { applied: status.applied, known: status.known })
    else context.stdout.write(`migrations ${status.applied} of ${status.known}\n`)
    return 0
  })
