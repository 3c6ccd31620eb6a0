/**
 * Two services, two folders, three schemas and four processes on one database. SLUICE_TEST_SECONDS lets them work for longer:
 * 180 is the long run.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { goodProduct, item, rss, expectedProduct, type Product } from './products.ts'

const workS = Number(process.env['SLUICE_TEST_SECONDS'] ?? 5)
const script = fileURLToPath(new URL('../jobs/jobProcess.ts', import.meta.url))
const children: ChildProcess[] = []
const folders: string[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function serve(databaseUrl: string, sandbox: SandboxUnderTest, folder: string, schema: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, 'serve', databaseUrl, sandbox.url, folder, schema], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child
}

interface Folder {
  readonly path: string
  /** Writes both sources with this many records. */
  readonly fill: (count: number) => void
  readonly people: (count: number) => string
  readonly products: (count: number) => string
}

/** Pipelines with the same names and destinations in every folder, each with records of its own. */
function folderOf(name: string, first: number): Folder {
  const path = mkdtempSync(join(tmpdir(), 'sluice-environments-'))
  folders.push(path)
  const rows = (count: number): Product[] => Array.from({ length: count }, (_, i) => goodProduct(first + i))
  const addresses = (count: number) => Array.from({ length: count }, (_, i) => `${name}.${i}@example.com`)
  // Replaced atomically, because a run may read at any moment.
  const replace = (file: string, text: string) => {
    writeFileSync(join(path, `${file}.new`), text)
    renameSync(join(path, `${file}.new`), join(path, file))
  }
  const schedule = 'schedule: "* * * * * *"\n'
  writeFileSync(
    join(path, 'people.yaml'),
    `${schedule}source: { url: "${path}/people.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`,
  )
  writeFileSync(
    join(path, 'shop.yaml'),
    `${schedule}source: { url: "${path}/feed.xml" }\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
  )
  writeFileSync(join(path, `broken-${name}.yaml`), 'source: [')
  return {
    path,
    fill(count) {
      replace(
        'people.csv',
        `id,email\n${addresses(count)
          .map((address, i) => `${i},${address}\n`)
          .join('')}`,
      )
      replace('feed.xml', rss(rows(count).map((row) => item(row))))
    },
    people: (count) => audienceDigest(addresses(count).map((address) => email(address))),
    products: (count) => catalogDigest(rows(count).map(expectedProduct)),
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('each of four environments on one database does only its own work', { timeout: (workS + 90) * 1_000 }, async () => {
  await using database = await testDatabase()
  await using first = await withSandbox()
  await using second = await withSandbox()
  const [one, two] = [folderOf('one', 0), folderOf('two', 5_000)]
  for (const folder of [one, two]) folder.fill(20)
  const schemas = ['sluice', 'staging', 'tenant_b']
  for (const schema of schemas) await migrateDatabase(database.url, schema)
  const running = await Promise.all([
    serve(database.url, first, one.path, 'sluice'),
    serve(database.url, second, two.path, 'sluice'),
    serve(database.url, first, one.path, 'staging'),
    serve(database.url, second, two.path, 'tenant_b'),
  ])
  const until = Date.now() + workS * 1_000
  let count = 20
  while (Date.now() < until) {
    for (const folder of [one, two]) folder.fill((count += 1))
    await pause(700)
  }
  for (const folder of [one, two]) folder.fill(count)
  for (const [sandbox, folder] of [
    [first, one],
    [second, two],
  ] as const) {
    await expect.poll(async () => (await sandbox.control.audience()).digest, { timeout: 40_000, interval: 300 }).toBe(folder.people(count))
    await expect.poll(async () => (await sandbox.control.catalog()).digest, { timeout: 40_000, interval: 300 }).toBe(folder.products(count))
  }
  const ends = running.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of running) child.kill('SIGTERM')
  expect(await Promise.all(ends)).toEqual([0, 0, 0, 0])

  for (const schema of schemas) {
    const db = openDatabase(database.url, { schema })
    try {
      // A file that is replaced during a read is replaced by its own environment.
      expect(
        await db.query(
          `select id, error from run where status in ('failed', 'withheld', 'partial') and error ->> 'code' is distinct from 'SOURCE_CHANGED'`,
        ),
        schema,
      ).toEqual([])
      expect(await db.query(`select from tick where run_id is null and outcome <> 'missed'`), schema).toEqual([])
      // Every second from the first to the last has a line.
      const gaps = await db.query(
        `select pipeline, destination_id from tick where pipeline <> '' group by pipeline, destination_id
         having count(*) <> extract(epoch from max(scheduled_for) - min(scheduled_for)) + 1`,
      )
      expect(gaps, schema).toEqual([])
      const services = await db.query<{ service: string; pipelines: number }>(
        `select d.service, count(distinct t.pipeline)::int as pipelines from tick t join destination d on d.id = t.destination_id group by d.service order by 1`,
      )
      const expected = { sluice: [first, second], staging: [first], tenant_b: [second] }[schema] ?? []
      expect(services).toEqual(
        expected.map(({ url }) => ({ service: url, pipelines: 2 })).toSorted((a, b) => (a.service < b.service ? -1 : 1)),
      )
    } finally {
      await db.close()
    }
  }
})
