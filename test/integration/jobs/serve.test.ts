import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox } from '../../support/sandbox.ts'

const script = fileURLToPath(new URL('./jobProcess.ts', import.meta.url))
const children: ChildProcess[] = []
const folders: string[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function start(role: 'serve' | 'worker', databaseUrl: string, sandboxUrl: string, pipelines: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, role, databaseUrl, sandboxUrl, pipelines], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.on('exit', resolve))
}

function pipelineFolder(
  members: number,
  schedule: string,
): { readonly folder: string; readonly write: (from: number, to: number) => void } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-jobs-'))
  folders.push(folder)
  const file = join(folder, 'customers.csv')
  const write = (from: number, to: number) =>
    writeFileSync(
      file,
      `id,email\n${Array.from({ length: to - from }, (_, i) => `${from + i},person.${from + i}@example.com`).join('\n')}\n`,
    )
  write(0, members)
  writeFileSync(
    join(folder, 'members.yaml'),
    `schedule: "${schedule}"\nsource:\n  url: ${file}\nmap:\n  key: id\n  email: email\ndestination:\n  kind: audience\n  account_id: 18ce54d4x5t\n  audience_id: 1nmth\n`,
  )
  return { folder, write }
}

// Five processes start, perhaps on two busy cores.
test(
  'K1: with three schedulers and two workers each tick runs once, the work is shared, and a kill loses nothing',
  { timeout: 180_000 },
  async () => {
    await using database = await testDatabase()
    await using sandbox = await withSandbox()
    const { folder, write } = pipelineFolder(20_000, '*/2 * * * * *')
    const { db } = database
    const started = await Promise.all([
      start('serve', database.url, sandbox.url, folder),
      start('serve', database.url, sandbox.url, folder),
      start('serve', database.url, sandbox.url, folder),
      start('worker', database.url, sandbox.url, folder),
      start('worker', database.url, sandbox.url, folder),
    ])
    await expect.poll(async () => (await sandbox.control.audience()).members, { timeout: 80_000, interval: 200 }).toBe(20_000)
    write(0, 20_010)
    started[0]!.kill('SIGKILL')
    started[3]!.kill('SIGKILL')
    await expect.poll(async () => (await sandbox.control.audience()).members, { timeout: 80_000, interval: 200 }).toBe(20_010)
    const ends = [started[1]!, started[2]!, started[4]!].map((child) => {
      const end = ended(child)
      child.kill('SIGTERM')
      return end
    })
    expect(await Promise.all(ends)).toEqual([0, 0, 0])

    expect(await sandbox.control.violations()).toEqual([])
    expect(
      await db.query(
        `select scheduled_for from sluice.run where trigger = 'schedule' group by pipeline, scheduled_for having count(*) > 1`,
      ),
    ).toEqual([])
    expect(await db.query(`select from sluice.tick where outcome in ('ran', 'queued', 'skipped') and run_id is null`)).toEqual([])
    expect(await db.query(`select from sluice.run where status = 'running'`)).toEqual([])
    expect(await db.query(`select from sluice.batch where status = 'in_flight'`)).toEqual([])
    expect((await db.query('select distinct worker_id from sluice.attempt')).length).toBeGreaterThan(1)
  },
)
