import { safeUrl } from '../../db/connectionFault.ts'
import { writeJson, type CommandRun } from '../context.ts'
import { withStore } from '../store.ts'

/**
 * The address that psql takes. The embedded server's holds its local password, because that is what this command is
 * for; the one in DATABASE_URL is known to whoever set it, and stays masked.
 */
export const run: CommandRun = async (context) =>
  withStore(
    context,
    async (store) => {
      const url = store.embedded ? store.url : safeUrl(store.url)
      if (context.json) writeJson(context, { url, embedded: store.embedded })
      else context.stdout.write(`${url}\n`)
      if (store.embedded && context.stderr.isTTY) context.stderr.write('the embedded Postgres keeps running; end it with: sluice db stop\n')
      return 0
    },
    { keep: true },
  )
