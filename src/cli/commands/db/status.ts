import { embeddedUrl } from '../../../db/embedded/server.ts'
import { migrationStatus } from '../../../db/migrate.ts'
import { openDatabase } from '../../../db/database.ts'
import { connectionFault, isConnectionFault, safeUrl } from '../../../db/connectionFault.ts'
import { writeJson, type CommandRun } from '../../context.ts'

/** Shows the state of the database. Exits 1 while migrations are outstanding, 0 if the embedded server is stopped. Does not start it. */
export const run: CommandRun = async (context) => {
  const config = context.config()
  const url = config.databaseUrl?.reveal() ?? (await embeddedUrl(config.dataDir))
  const kind = config.databaseUrl === undefined ? 'embedded' : 'external'
  if (url === undefined) {
    if (context.json) writeJson(context, { kind, running: false, address: null, server: null, migrations: null })
    else context.stdout.write(`embedded Postgres   stopped, until a run starts it; to start it now: sluice db url\n`)
    return 0
  }
  const db = openDatabase(url, { schema: config.schema })
  try {
    // This query is first, because its connection has the short connection timeout of a command.
    const migrations = await migrationStatus(url, config.schema)
    const [server] = await db.query<{ server_version: string }>('show server_version')
    if (context.json) writeJson(context, { kind, running: true, address: safeUrl(url), server: server?.server_version ?? null, migrations })
    else {
      context.stdout.write(
        `${kind} Postgres   ${server?.server_version ?? ''}\naddress             ${safeUrl(url)}\nmigrations          ${migrations.applied} of ${migrations.known}\n`,
      )
    }
    return migrations.applied === migrations.known ? 0 : 1
  } catch (error) {
    throw isConnectionFault(error) ? connectionFault(error, url) : error
  } finally {
    await db.close()
  }
}
