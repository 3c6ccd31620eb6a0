import { openStore, type Store } from '../store/open.ts'
import type { Context } from './context.ts'
import { waiting } from './waiting.ts'

/** Opens the database for one command and closes it behind it, whatever happened: no server is left running. */
export async function withStore<Result>(
  context: Context,
  work: (store: Store) => Promise<Result>,
  options: { readonly keep?: boolean } = {},
): Promise<Result> {
  const config = context.config()
  const what = config.databaseUrl === undefined ? 'starting the embedded Postgres' : 'reaching the database'
  const store = await waiting(context, what, () =>
    openStore({ databaseUrl: config.databaseUrl?.reveal(), dataDir: config.dataDir, ...options }),
  )
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
