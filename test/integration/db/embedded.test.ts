/** The embedded server: its start, its use by several commands, its end. */
import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { checkOwner } from '../../../src/db/embedded/owner.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { placesOf } from '../../../src/db/embedded/places.ts'
import { embeddedUrl, startEmbedded, stopEmbedded } from '../../../src/db/embedded/server.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
})
afterEach(async () => {
  await stopEmbedded(folder)
  rmSync(folder, { recursive: true, force: true })
})

test('two commands share one server, and the last one stops it', async () => {
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

test('a server whose predecessor was killed and is still ending starts when that has ended', async () => {
  await (await startEmbedded(folder)).release()
  const places = placesOf(folder)
  const ending = spawn('sleep', ['1'], { ...places.account })
  writeFileSync(join(places.data, 'postmaster.pid'), `${ending.pid}\n`)
  const server = await startEmbedded(folder)
  await server.release()
})

test('the hint of a server that does not start keeps its data', async () => {
  await (await startEmbedded(folder)).release()
  const { data, log } = placesOf(folder)
  rmSync(join(data, 'global', 'pg_control'))
  await expect(startEmbedded(folder)).rejects.toMatchObject({
    code: 'POSTGRES_UNAVAILABLE',
    hint: expect.stringMatching(new RegExp(`^(?!.*DATABASE_URL).*${log}.*keep `)) as unknown,
  })
})

test('a lock that a dead process left is taken over', async () => {
  // No pid of Linux is that high.
  writeFileSync(join(folder, 'postgres.lock'), '999999999')
  const server = await startEmbedded(folder)
  expect(server.url).toMatch(/^postgresql:\/\/sluice:\w+@127\.0\.0\.1:\d+\/sluice$/)
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

test('a folder of another user is rejected with both possible hints', () => {
  const other = (process.getuid?.() ?? 0) + 4_321
  expect(() => checkOwner(folder, other)).toThrow(/was made by user/)
  expect(() => checkOwner(folder)).not.toThrow()
})
