/** Backup and restore of the schema. If pg_dump and psql fit the server, they do it, else COPY of every table and sequence. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import type { Database } from '../../src/db/database.ts'
import type { EngineUnderTest } from './engine.ts'

const execute = promisify(execFile)
const maxBuffer = 256 * 1024 * 1024

export interface Backup {
  readonly by: 'pg_dump' | 'copy'
  readonly restore: () => Promise<void>
}

type Restorable = Pick<EngineUnderTest, 'db' | 'databaseUrl' | 'folder'>

export async function backUp(engine: Restorable): Promise<Backup> {
  return (await dumpFits(engine)) ? dump(engine) : copy(engine)
}

/** Returns true if pg_dump is not older than the server, which it would reject. */
async function dumpFits({ db }: Restorable): Promise<boolean> {
  const [server] = await db.query<{ major: number }>(`select current_setting('server_version_num')::int / 10000 as major`)
  const { stdout } = await execute('pg_dump', ['--version']).catch(() => ({ stdout: '' }))
  const [, major = '0'] = /\b(\d+)\.\d/.exec(stdout) ?? []
  return Number(major) >= (server?.major ?? Infinity)
}

async function dump({ db, databaseUrl, folder }: Restorable): Promise<Backup> {
  const { stdout } = await execute('pg_dump', ['--schema=sluice', databaseUrl], { maxBuffer })
  const file = join(folder, 'backup.sql')
  writeFileSync(file, stdout)
  return {
    by: 'pg_dump',
    async restore() {
      await db.execute('drop schema sluice cascade')
      await execute('psql', ['--quiet', '--set', 'ON_ERROR_STOP=1', '--file', file, databaseUrl], { maxBuffer })
    },
  }
}

/** Copies the content of every table. `restore` writes it into the same database or, as a dump that is restored elsewhere, into `into`. */
export async function copy({ db }: Pick<Restorable, 'db'>): Promise<Backup & { readonly restore: (into?: Database) => Promise<void> }> {
  const tables = await db.query<{ name: string; columns: string }>(
    `select c.relname as name, string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = 'sluice'::regnamespace and c.relkind = 'r' group by c.relname`,
  )
  const sequences = await db.query<{ name: string; last: string; called: boolean }>(
    `select sequencename as name, coalesce(last_value, start_value)::text as last, last_value is not null as called from pg_sequences where schemaname = 'sluice'`,
  )
  const contents = new Map<string, Buffer>()
  const client = await db.connect()
  try {
    // One snapshot for all tables, as pg_dump takes.
    await client.query('begin isolation level repeatable read')
    for (const { name, columns } of tables) {
      const chunks: Buffer[] = []
      for await (const chunk of client.query(copyTo(`copy sluice."${name}" (${columns}) to stdout`)) as AsyncIterable<Buffer>)
        chunks.push(Buffer.from(chunk))
      contents.set(name, Buffer.concat(chunks))
    }
    await client.query('commit')
  } finally {
    client.release()
  }
  return {
    by: 'copy',
    async restore(into: Database = db) {
      const restoring = await into.connect()
      try {
        await restoring.query('begin')
        await restoring.query(`set local session_replication_role = 'replica'`)
        await restoring.query(`truncate ${tables.map(({ name }) => `sluice."${name}"`).join(', ')}`)
        for (const { name, columns } of tables)
          await pipeline(
            Readable.from([contents.get(name) ?? Buffer.of()]),
            restoring.query(copyFrom(`copy sluice."${name}" (${columns}) from stdin`)),
          )
        for (const { name, last, called } of sequences)
          await restoring.query(`select setval('sluice."${name}"', $1::bigint, $2)`, [last, called])
        await restoring.query('commit')
      } finally {
        restoring.release(true)
      }
    },
  }
}
