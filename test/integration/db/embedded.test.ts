/** The embedded server: its start, its use by several commands, its end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { copyBinaries } from '../../../src/db/embedded/binaries.ts'
import { lockServer } from '../../../src/db/embedded/commandLock.ts'
import { checkOwner } from '../../../src/db/embedded/serverPaths.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { prepareServerPaths } from '../../../src/db/embedded/serverPaths.ts'
import { embeddedUrl, startEmbedded, stopEmbedded } from '../../../src/db/embedded/server.ts'

/** ErrorResponse of a Postgres that replays its log. */
const startingUp = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeInt32BE(fields.length + 4, 1)
  return Buffer.concat([head, fields])
})()

const newFolder = () => mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
let shared: string | undefined
let folder: string
beforeEach(() => {
  folder = shared ?? newFolder()
})
afterEach(async () => {
  await stopEmbedded(folder)
  if (folder !== shared) rmSync(folder, { recursive: true, force: true })
})

/** Lets the tests of a group use one data directory: to make its files takes a second of processor time. */
function shareFolder(): void {
  beforeAll(() => {
    shared = newFolder()
  })
  afterAll(() => {
    if (shared !== undefined) rmSync(shared, { recursive: true, force: true })
    shared = undefined
  })
}

describe('the server of one data directory', () => {
  shareFolder()

  test('two commands share one server, and the last one stops it', { tags: ['long'] }, async () => {
    expect(await embeddedUrl(folder)).toBeUndefined()
    const [first, second] = await Promise.all([startEmbedded(folder), startEmbedded(folder)])
    expect(second.url).toBe(first.url)
    const client = new pg.Client({ connectionString: second.url })
    await client.connect()
    await first.release()
    expect(await embeddedUrl(folder), 'a client is connected').toBe(first.url)
    await client.end()
    await expect
      .poll(
        async () => {
          await second.release()
          return embeddedUrl(folder)
        },
        { timeout: 10_000 },
      )
      .toBeUndefined()
  })

  test('a server started with `keep` continues after its command, and is stopped once', async () => {
    const kept = await startEmbedded(folder, { keep: true })
    await kept.release()
    expect(await embeddedUrl(folder)).toBe(kept.url)
    expect([await stopEmbedded(folder), await stopEmbedded(folder)]).toEqual([true, false])
  })

  test('a command that ends does not stop a server that another command has kept meanwhile', async () => {
    const { url, release } = await startEmbedded(folder)
    const paths = prepareServerPaths(folder)
    const unlock = await lockServer(paths.lock)
    const released = release()
    // As \`sluice db url\` does under the lock.
    writeFileSync(paths.keep, '')
    unlock()
    await released
    expect(await embeddedUrl(folder)).toBe(url)
    await stopEmbedded(folder)
  })

  test('a server whose predecessor was killed and is still ending starts when that has ended', async () => {
    await (await startEmbedded(folder)).release()
    const paths = prepareServerPaths(folder)
    const ending = spawn('sleep', ['1'], { ...paths.account })
    writeFileSync(join(paths.data, 'postmaster.pid'), `${ending.pid}\n`)
    const server = await startEmbedded(folder)
    await server.release()
  })

  test('a server that another command started and that still replays its log is waited for, and no second one is started', async () => {
    await (await startEmbedded(folder)).release()
    const paths = prepareServerPaths(folder)
    const recovering = spawn('sleep', ['60'], { ...paths.account })
    let asked = 0
    const port = createServer((socket) => {
      asked++
      socket.on('error', () => undefined).once('data', () => socket.end(startingUp))
    })
    await new Promise<void>((listening) => port.listen(0, '127.0.0.1', listening))
    const { port: number } = port.address() as AddressInfo
    const file = join(paths.data, 'postmaster.pid')
    writeFileSync(file, `${recovering.pid}\n${paths.data}\n0\n${number}\n\n\n\nstarting\n`)
    const before = readFileSync(paths.log, 'utf8').length
    const starting = startEmbedded(folder)
    await expect.poll(() => asked, { timeout: 10_000 }).toBeGreaterThan(2)
    rmSync(file)
    recovering.kill()
    port.close()
    const server = await starting
    expect(readFileSync(paths.log, 'utf8').slice(before)).not.toContain('already exists')
    await server.release()
  })

  test('a program that has the pid of an outdated file is not stopped', async () => {
    await (await startEmbedded(folder)).release()
    const { data, account } = prepareServerPaths(folder)
    const other = spawn('sleep', ['30'], { ...account })
    const ended = once(other, 'exit')
    writeFileSync(join(data, 'postmaster.pid'), `${other.pid}\n${data}\n0\n1\n\n\n\nready\n`)
    expect(await stopEmbedded(folder)).toBe(false)
    expect(other.exitCode ?? other.signalCode).toBeNull()
    other.kill()
    await ended
    rmSync(join(data, 'postmaster.pid'))
  })

  test('a lock that a dead process left is taken over', async () => {
    // No pid of Linux is that high.
    writeFileSync(join(folder, 'postgres.lock'), '999999999')
    const server = await startEmbedded(folder)
    expect(server.url).toMatch(/^postgresql:\/\/sluice:\w+@127\.0\.0\.1:\d+\/sluice$/)
  })

  // The last one, because no server starts from the folder after it.
  test('the hint of a server that does not start keeps its data', async () => {
    await (await startEmbedded(folder)).release()
    const { data, log } = prepareServerPaths(folder)
    rmSync(join(data, 'global', 'pg_control'))
    await expect(startEmbedded(folder)).rejects.toMatchObject({
      code: 'POSTGRES_UNAVAILABLE',
      hint: expect.stringMatching(new RegExp(`^(?!.*DATABASE_URL).*${log}.*keep `)) as unknown,
    })
  })
})

test.for(['with its initdb', 'alone'])(
  'a server whose first start was killed (%s) while its files were made is set up by the next start',
  { tags: ['long'] },
  async (how) => {
    const paths = prepareServerPaths(folder)
    const module = join(import.meta.dirname, '../../../src/db/embedded/server.ts')
    const code = `import { startEmbedded } from ${JSON.stringify(module)}; await startEmbedded(${JSON.stringify(folder)})`
    const starting = spawn(process.execPath, ['--input-type=module', '-e', code], { detached: true, stdio: 'ignore' })
    const parent = dirname(paths.data)
    const begun = () => readdirSync(parent).some((name) => existsSync(join(parent, name, 'PG_VERSION')))
    await expect.poll(begun, { timeout: 20_000, interval: 2 }).toBe(true)
    process.kill(how === 'alone' ? starting.pid! : -starting.pid!, 'SIGKILL')
    await once(starting, 'exit')
    const server = await startEmbedded(folder)
    expect(await embeddedUrl(folder)).toBe(server.url)
  },
)

test('a lock is renewed while its command runs, so that it does not expire', async () => {
  const path = join(folder, 'postgres.lock')
  const unlock = await lockServer(path, 10)
  const longAgo = new Date(Date.now() - 120_000)
  utimesSync(path, longAgo, longAgo)
  await expect.poll(() => Date.now() - statSync(path).mtimeMs, { timeout: 10_000 }).toBeLessThan(60_000)
  unlock()
  expect(existsSync(path)).toBe(false)
})

test('a lock is renewed also while the files of the server are made', async () => {
  const parent = dirname(prepareServerPaths(folder).data)
  let ticks = 0
  const timer = setInterval(() => (ticks += readdirSync(parent).some((name) => name.includes('.new-')) ? 1 : 0), 10)
  await startEmbedded(folder)
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(0)
})

test('a command does not remove the lock of another command that replaced its own', async () => {
  const path = join(folder, 'postgres.lock')
  const unlock = await lockServer(path)
  writeFileSync(path, `${process.pid} another`)
  unlock()
  expect(readFileSync(path, 'utf8')).toBe(`${process.pid} another`)
  rmSync(path)
})

test('a copy of the binaries is used for one version of the package', () => {
  const [native, copies] = [join(folder, 'package', 'native'), join(folder, 'copies')]
  mkdirSync(native, { recursive: true })
  const install = (version: string) => {
    writeFileSync(join(native, '..', 'package.json'), JSON.stringify({ version }))
    writeFileSync(join(native, 'postgres'), version)
    return readFileSync(join(copyBinaries(native, copies), 'postgres'), 'utf8')
  }
  expect([install('18.4.0'), install('18.4.0'), install('18.5.0')]).toEqual(['18.4.0', '18.4.0', '18.5.0'])
  expect(readdirSync(copies).toSorted()).toEqual(['postgres-18.4.0-binaries', 'postgres-18.5.0-binaries'])
})

const root = process.getuid?.() === 0

test.skipIf(!root)('root does not use the data of another user, and names that user (needs root)', async () => {
  const nobody = 65_534
  writeFileSync(join(folder, 'postgres.password'), 'x')
  for (const path of [folder, join(folder, 'postgres.password')]) chownSync(path, nobody, nobody)
  await expect(startEmbedded(folder)).rejects.toMatchObject({ code: 'WRONG_USER', hint: expect.stringMatching(/sudo -u \S+ sluice/) })
  expect(readdirSync(folder)).toEqual(['postgres.password'])
  expect(statSync(join(folder, 'postgres.password')).uid).toBe(nobody)
  chownSync(join(folder, 'postgres.password'), 0, 0)
  chownSync(folder, 0, 0)
})

describe.skipIf(!root)('the files of a server below the system folder (needs root)', () => {
  shareFolder()
  const first = async <Value>(sql: string): Promise<Value | undefined> => {
    const server = await startEmbedded(folder)
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      const { rows } = await client.query({ text: sql, rowMode: 'array' })
      return (rows[0] as readonly Value[] | undefined)?.[0]
    } finally {
      await client.end()
      await server.release()
    }
  }

  beforeEach(() => {
    // A deleted data directory below a folder of temporary files means that its database is not needed. Elsewhere it does not.
    vi.stubEnv('TMPDIR', '/nowhere')
  })
  afterEach(() => vi.unstubAllEnvs())

  test('are not shared with a copy of the data directory', { tags: ['long'] }, async () => {
    await first('create table if not exists sent ()')
    const original = folder
    folder = `${original}-copy`
    cpSync(original, folder, { recursive: true })
    chmodSync(folder, 0o700)
    await expect(startEmbedded(folder)).rejects.toMatchObject({
      code: 'POSTGRES_UNAVAILABLE',
      hint: expect.stringContaining('postgres.place') as unknown,
    })
    rmSync(folder, { recursive: true })
    folder = original
    expect(await first(`select to_regclass('sent')::text`)).toBe('sent')
  })

  test('that are missing are not replaced by an empty database', async () => {
    await first('create table if not exists sent ()')
    const { data } = prepareServerPaths(folder)
    renameSync(data, `${data}.away`)
    await expect(startEmbedded(folder)).rejects.toMatchObject({
      code: 'POSTGRES_UNAVAILABLE',
      message: expect.stringContaining(data) as unknown,
    })
    renameSync(`${data}.away`, data)
    expect(await first(`select to_regclass('sent')::text`)).toBe('sent')
  })

  test('that are missing: the command of the hint can be pasted for a folder with a space', async () => {
    const spaced = join(folder, 'a b')
    const { elsewhere } = prepareServerPaths(spaced)
    writeFileSync(elsewhere?.file ?? '', elsewhere?.name ?? '')
    await expect(startEmbedded(spaced)).rejects.toMatchObject({ hint: expect.stringContaining(`rm '${elsewhere?.file}'`) as unknown })
  })

  test('are kept when the data directory is moved, also to a place that every user can access', async () => {
    await first('create table if not exists sent ()')
    const beside = dirname(folder)
    const other = mkdtempSync(join(beside, 'sluice-embedded-other-'))
    for (const move of ['moved', 'open']) {
      const moved = join(beside, `sluice-embedded-${move}-${process.pid}`)
      renameSync(folder, moved)
      folder = moved
      if (move === 'open') chmodSync(moved, 0o755)
      // Commands of other folders do not delete the files meanwhile.
      prepareServerPaths(other)
      expect(await first(`select to_regclass('sent')::text`)).toBe('sent')
    }
    rmSync(other, { recursive: true })
  })
})

test('a folder of another user is rejected, and the hint leads to no empty database', () => {
  const other = (process.getuid?.() ?? 0) + 4_321
  expect(() => checkOwner(folder, other)).toThrow(/was made by user/)
  expect(() => checkOwner(folder, other)).toThrow(
    expect.objectContaining({ hint: expect.not.stringContaining('set SLUICE_DATA_DIR') as unknown }),
  )
  expect(() => checkOwner(folder)).not.toThrow()
})
