import { userInfo } from 'node:os'
import { embeddedUrl } from '../../../db/embedded/server.ts'
import { handoverScript } from '../../../db/handover.ts'
import { examineSchema, migrationStatus } from '../../../db/migrate.ts'
import { queueScript } from '../../../jobs/index.ts'
import { flag, writeResult, type CommandRun, type Context } from '../../context.ts'
import { withStore } from '../../store.ts'

/** Migrates the database by opening it, and reports the migrations. With `--sql`, only prints the outstanding SQL and grants. */
export const run: CommandRun = async (context, invocation) => {
  if (flag(invocation, 'sql')) return printSql(context)
  return withStore(context, async (store) => {
    const status = await migrationStatus(store.db.url, store.db.schema)
    writeResult(context, { applied: status.applied, known: status.known }, `migrations ${status.applied} of ${status.known}\n`)
    return 0
  })
}

async function printSql(context: Context): Promise<number> {
  const { databaseUrl, dataDir, schema } = context.config()
  const url = databaseUrl?.reveal() ?? (await embeddedUrl(dataDir))
  const { hasSchema, queueVersion, statements } = await examineSchema(url, schema)
  const queue = queueScript(schema, queueVersion)
  const { username, pathname } = url === undefined ? { username: '', pathname: '' } : new URL(url)
  const sql = handoverScript({
    schema,
    database: decodeURIComponent(pathname.slice(1)) || 'sluice',
    role: decodeURIComponent(username) || userInfo().username,
    hasSchema,
    statements,
    queue,
  })
  writeResult(context, { schema, pending: statements.length > 0 || queue !== undefined, sql }, sql)
  return 0
}
