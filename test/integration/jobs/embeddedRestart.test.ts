/** The embedded Postgres stops while a process keeps running. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { withSandbox } from '../../support/sandbox.ts'
import { emptyFolder, printed, sluice, start } from '../cli/support.ts'
import { feed, shopYaml } from '../cli/workspace.ts'

const served = async () => {
  const folder = emptyFolder()
  const sandbox = await withSandbox()
  const env = {
    SLUICE_BASE_URL: sandbox.url,
    SLUICE_CONSUMER_KEY: sandbox.credentials.consumerKey,
    SLUICE_CONSUMER_SECRET: sandbox.credentials.consumerSecret,
    SLUICE_ACCESS_TOKEN: sandbox.credentials.accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: sandbox.credentials.accessTokenSecret,
  }
  mkdirSync(join(folder, 'pipelines'))
  writeFileSync(join(folder, 'pipelines/shop.yaml'), `schedule: "* * * * * *"\n${shopYaml}`)
  writeFileSync(join(folder, 'feed.csv'), feed(1))
  const child = start(['serve', '--port', '0'], { cwd: folder, env })
  await printed(child, /serving on/)
  return {
    folder,
    env,
    postmaster: () => Number(readFileSync(join(folder, '.sluice/postgres-18/postmaster.pid'), 'utf8').split('\n')[0]),
    address: async () => (await sluice(['db', 'url'], { cwd: folder, env })).stdout.trim(),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await new Promise((done) => child.once('close', done))
      await sluice(['db', 'stop'], { cwd: folder, env })
      await sandbox.close()
    },
  }
}

/** Returns the newest successful run of the schedule; 0 while the server is down. */
async function lastRun(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    const { rows } = await client.query<{ id: string | null }>(
      `select max(id) as id from sluice.run where trigger = 'schedule' and status = 'succeeded'`,
    )
    return Number(rows[0]?.id ?? 0)
  } catch {
    return 0
  } finally {
    await client.end().catch(() => undefined)
  }
}

test(
  'serve continues its schedule after its Postgres was killed or stopped, at the same address',
  { tags: ['long'], timeout: 150_000 },
  async () => {
    await using service = await served()
    const url = await service.address()
    await expect.poll(() => lastRun(url), { timeout: 40_000 }).toBeGreaterThan(0)

    const before = await lastRun(url)
    process.kill(service.postmaster(), 'SIGKILL')
    await expect.poll(() => lastRun(url), { timeout: 40_000, interval: 200 }).toBeGreaterThan(before)

    const stopped = await sluice(['db', 'stop'], { cwd: service.folder, env: service.env })
    expect(stopped.stderr).toMatch(/^warning {2}still connected: .*sluice serve \(\d+ connections?\).*restart it within seconds/m)
    await expect.poll(() => lastRun(url), { timeout: 40_000, interval: 200 }).toBeGreaterThan(before + 1)
    expect(await service.address()).toBe(url)
  },
)
