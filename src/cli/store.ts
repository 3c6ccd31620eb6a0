import { openStore, type Store } from '../db/open.ts'
import type { Context } from './context.ts'
import { waiting } from './terminal/waiting.ts'

/** Opens the database for one command and always closes it, so that no server is left running. */
export async function withStore<Result>(
  context: Context,
  work: (store: Store) => Promise<Result>,
  options: { readonly keep?: boolean; readonly connections?: number } = {},
): Promise<Result> {
  const config = context.config()
  const what = config.databaseUrl === undefined ? 'starting the embedded Postgres' : 'reaching the database'
  const store = await waiting(context, what, () =>
    openStore({
      databaseUrl: config.databaseUrl?.reveal(),
      dataDir: config.dataDir,
      schema: config.schema,
      applicationName: `sluice ${context.command}`,
      ...staysUp(context),
      ...options,
    }),
  )
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Restarts a stopped embedded server in commands that stay up. */
function staysUp(context: Context): { readonly onEmbeddedRestart?: (error?: unknown) => void } {
  if (context.command !== 'serve' && context.command !== 'worker') return {}
  const log = context.log('info')
  return {
    onEmbeddedRestart(error) {
      if (error === undefined) log.warn({}, 'the embedded Postgres had stopped; it was restarted')
      else log.error({ reason: error instanceof Error ? error.message : 'error' }, 'the embedded Postgres has stopped and does not start')
    },
  }
}
