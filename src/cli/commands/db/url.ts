import { safeUrl } from '../../../db/connectionFault.ts'
import { writeResult, type CommandRun } from '../../context.ts'
import { withStore } from '../../store.ts'

/**
 * Prints the address of the database for psql, and keeps the embedded server running. The address of the embedded server includes its
 * local password; the password of DATABASE_URL is left out, because the user has it.
 */
export const run: CommandRun = async (context) =>
  withStore(
    context,
    async (store) => {
      const url = store.isEmbedded ? store.db.url : safeUrl(store.db.url)
      writeResult(context, { url, embedded: store.isEmbedded }, `${url}\n`)
      if (store.isEmbedded && context.stderr.isTTY)
        context.stderr.write('the embedded Postgres keeps running; stop it with: sluice db stop\n')
      return 0
    },
    { keep: true },
  )
