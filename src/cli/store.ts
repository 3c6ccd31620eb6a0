import { openStore, type Store } from '../store/open.ts'
import type { Context } from './context.ts'

/** Opens the database for one command and closes it behind it, whatever happened: no server is left running. */
export async function withStore<Result>(
  context: Context,
  work: (store: Store) => Promise<Result>,
  options: { readonly keep?: boolean } = {},
): Promise<Result> {
  const config = context.config()
  const fleeting = config.databaseUrl === undefined && context.stderr.isTTY && !context.stderr.style.plain
  if (fleeting) context.stderr.write(context.stderr.style.dim('starting the embedded Postgres …\r'))
  const store = await openStore({ databaseUrl: config.databaseUrl?.reveal(), dataDir: config.dataDir, ...options })
  if (fleeting) context.stderr.write('\u001b[2K\r')
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
