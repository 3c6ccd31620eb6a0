/** The server that Sluice brings along: who starts it, who shares it, who ends it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { embeddedUrl, startEmbedded, stopEmbedded } from '../../../src/store/embedded/server.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-embedded-'))
})
afterEach(async () => {
  await stopEmbedded(folder)
  rmSync(folder, { recursive: true, force: true })
})

test('two commands share one server, and the last one out stops it', async () => {
  expect(await embeddedUrl(folder)).toBeUndefined()
  const [first, second] = await Promise.all([startEmbedded(folder), startEmbedded(folder)])
  expect(second.url).toBe(first.url)
  const client = new pg.Client({ connectionString: second.url })
  await client.connect()
  await first.release()
  expect(await embeddedUrl(folder), 'somebody is connected').toBe(first.url)
  await client.end()
  await expect
    .poll(async () => {
      await second.release()
      return embeddedUrl(folder)
    })
    .toBeUndefined()
})

test('one that was asked to be kept outlives its command, and is stopped once', async () => {
  const kept = await startEmbedded(folder, { keep: true })
  await kept.release()
  expect(await embeddedUrl(folder)).toBe(kept.url)
  expect([await stopEmbedded(folder), await stopEmbedded(folder)]).toEqual([true, false])
})

test('a lock that a dead process left is taken over', async () => {
  // No pid of Linux is that high.
  writeFileSync(join(folder, 'postgres.lock'), '999999999')
  const server = await startEmbedded(folder)
  expect(server.url).toMatch(/^postgresql:\/\/sluice:\w+@127\.0\.0\.1:\d+\/sluice$/)
})
