import { openStore, type Store } from '../db/open.ts'
import type { Context } from './context.ts'
import { waiting } from './terminal/waiting.ts'

/**
 * Opens and migrates the database, calls `work`, and closes the database. Closing also stops the embedded server, unless another process
 * uses it. `keep`: true to leave the server running from now on. `connections`: number of connections to open immediately; default 1.
 *
 * @throws as `openStore`
 */
export async function withStore<Result>(
  context: Context,
  work: (store: Store) => Promise<Result>,
  options: { readonly keep?: boolean; readonly connections?: number } = {},
): Promise<Result> {
  const config = context.config()
  const activity = config.databaseUrl === undefined ? 'starting the embedded Postgres' : 'connecting to the database'
  const store = await waiting(context, activity, () =>
    openStore({
      databaseUrl: config.databaseUrl?.reveal(),
      dataDir: config.dataDir,
      schema: config.schema,
      applicationName: `sluice ${context.command}`,
      ...restartOption(context),
      ...options,
    }),
  )
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/**
 * For `serve` and `worker`, returns the option that restarts a stopped embedded server and logs each restart. For other commands, returns
 * no option.
 */
function restartOption(context: Context): { readonly onEmbeddedRestart?: (error?: unknown) => void } {
  if (context.command !== 'serve' && context.command !== 'worker') return {}
  const log = context.log('info')
  return {
    onEmbeddedRestart(error) {
      if (error === undefined) log.warn({}, 'the embedded Postgres had stopped; it was restarted')
      else log.error({ reason: error instanceof Error ? error.message : 'error' }, 'the embedded Postgres has stopped and does not start')
    },
  }
}
