/** A server of another owner: roles and databases with their own settings, encodings and rights. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openQueues } from '../../../src/jobs/queues.ts'
import { silentLogger } from '../../../src/log.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { startEmbedded } from '../../../src/db/embedded/server.ts'
import { migrateDatabase, migrationStatus } from '../../../src/db/migrate.ts'
import { openStore } from '../../../src/db/open.ts'
import { testDatabase } from '../../support/postgres.ts'

/** A role with these settings or rights, and the address of `database` for it; dropped with the block. */
async function roleWith(owner: Awaited<ReturnType<typeof testDatabase>>, options: string, settings: readonly string[], database?: string) {
  const role = `r_${randomBytes(6).toString('hex')}`
  await owner.db.execute(`create role ${role} login password 'only-a-test' ${options}`)
  for (const setting of settings) await owner.db.execute(`alter role ${role} set ${setting}`)
  const url = new URL(owner.url)
  url.username = role
  url.password = 'only-a-test'
  if (database !== undefined) url.pathname = `/${database}`
  return {
    role,
    url: url.href,
    async [Symbol.asyncDispose]() {
      await owner.db.execute(`drop owned by ${role}`)
      await owner.db.execute(`drop role ${role}`)
    },
  }
}

async function databaseWith(owner: Awaited<ReturnType<typeof testDatabase>>, options: string) {
  const name = `d_${randomBytes(6).toString('hex')}`
  await owner.db.execute(`create database ${name} ${options}`)
  const url = new URL(owner.url)
  url.pathname = `/${name}`
  return {
    name,
    url: url.href,
    async [Symbol.asyncDispose]() {
      await owner.db.execute(`drop database ${name} with (force)`)
    },
  }
}

const open = async (databaseUrl: string) => {
  const store = await openStore({ databaseUrl, dataDir: mkdtempSync(join(tmpdir(), 'sluice-foreign-')) })
  await store.close()
}

test('settings of the role do not change times and transactions', async () => {
  await using owner = await testDatabase()
  await using foreign = await roleWith(owner, 'superuser', [
    `datestyle = 'German'`,
    `timezone = 'Pacific/Chatham'`,
    `intervalstyle = 'sql_standard'`,
    'standard_conforming_strings = off',
    `bytea_output = 'escape'`,
    'array_nulls = off',
    `default_transaction_isolation = 'serializable'`,
  ])
  const db = openDatabase(foreign.url)
  try {
    const [row] = await db.query<{ at: Date; day: string; length: number; bytes: string; texts: (string | null)[]; level: string }>(
      `select '2026-03-01T00:30:00Z'::timestamptz as at, '2026-03-01T00:30:00Z'::timestamptz::date::text as day,
              length('a\\nb') as length, array_to_string(array['\\x01ff'::bytea], ',') as bytes, $1::text[] as texts,
              current_setting('transaction_isolation') as level`,
      [[null, 'NULL']],
    )
    expect(row).toEqual({
      at: new Date('2026-03-01T00:30:00Z'),
      day: '2026-03-01',
      length: 4,
      bytes: '\\x01ff',
      texts: [null, 'NULL'],
      level: 'read committed',
    })
    // The statements of the queue need standard strings too.
    const queues = await openQueues(db, { supervise: false, log: silentLogger })
    await queues.close()
  } finally {
    await db.close()
  }
})

test('K5: timeouts of the role end no statement and no connection, and commits wait for the disk', async () => {
  await using owner = await testDatabase()
  const of = async (...settings: string[]) => {
    await using role = await roleWith(owner, 'superuser', settings)
    const db = openDatabase(role.url)
    try {
      await db.transaction((tx) => tx.query('select pg_sleep(0.05)'))
      const client = await db.connect()
      try {
        await client.query('create temp table kept (n int)')
        await sleep(100)
        await client.query('select from kept')
      } finally {
        client.release(true)
      }
      const [row] = await db.query<{ commit: string }>(`select current_setting('synchronous_commit') as commit`)
      return row?.commit
    } finally {
      await db.close()
    }
  }
  const [server] = await owner.db.query<{ version: number }>(`select current_setting('server_version_num')::int as version`)
  const timeouts = [`statement_timeout = '20ms'`, `lock_timeout = '20ms'`, `idle_session_timeout = '20ms'`]
  if ((server?.version ?? 0) >= 170_000) timeouts.push(`transaction_timeout = '20ms'`)
  expect(await of(...timeouts, 'synchronous_commit = off')).toBe('on')
  expect(await of('synchronous_commit = remote_apply')).toBe('remote_apply')
})

test.for([`statement_timeout = '50ms'`, `lock_timeout = '50ms'`, `default_transaction_isolation = 'serializable'`])(
  'K8: a start waits for another migration, whatever the role has set (%s)',
  async (setting) => {
    await using owner = await testDatabase()
    await owner.db.execute('drop schema sluice cascade')
    await using foreign = await roleWith(owner, 'superuser', [setting])
    const starts = await owner.db.transaction(async (tx) => {
      await tx.query(`select pg_advisory_xact_lock(5104371, hashtext('sluice'))`)
      const started = [1, 2].map(() => migrateDatabase(foreign.url).catch((error: unknown) => error))
      await tx.query('select pg_sleep(0.3)')
      return { ended: Promise.all(started) }
    })
    const ended = await starts.ended
    const status = await migrationStatus(owner.url)
    expect(ended).toEqual([status, status])
  },
)

test('a database that is not in UTF-8 is rejected before anything is read', async () => {
  await using owner = await testDatabase()
  await using latin = await databaseWith(owner, `template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`)
  await expect(open(latin.url)).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE', message: expect.stringContaining('LATIN1') })
  await using bytes = await databaseWith(owner, `template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'`)
  await expect(open(bytes.url)).resolves.toBeUndefined()
})

test('a role that may not create tables, or may only read, gets an error with a hint', async () => {
  await using owner = await testDatabase()
  await using empty = await databaseWith(owner, 'template template0')
  {
    await using foreign = await roleWith(owner, '', [], empty.name)
    await expect(open(foreign.url)).rejects.toMatchObject({
      code: 'DATABASE_UNUSABLE',
      message: expect.stringContaining(`permission denied for database ${empty.name}`),
    })
  }
  await using reader = await roleWith(owner, 'superuser', ['default_transaction_read_only = on'], empty.name)
  await expect(open(reader.url)).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE', message: expect.stringContaining('read-only') })
})

test('a role without rights on the tables of another role gets an error with a hint', async () => {
  await using owner = await testDatabase()
  await using foreign = await roleWith(owner, '', [])
  await expect(open(foreign.url)).rejects.toMatchObject({
    code: 'DATABASE_UNUSABLE',
    message: expect.stringContaining('permission denied'),
  })
})

test('a data directory that is a file is a configuration error, not an internal one', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'sluice-foreign-')), 'file')
  writeFileSync(file, '')
  await expect(startEmbedded(file)).rejects.toMatchObject({
    code: 'POSTGRES_UNAVAILABLE',
    message: `the data directory is not a folder: ${file}`,
  })
  await expect(startEmbedded(join(file, 'below'))).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
})
