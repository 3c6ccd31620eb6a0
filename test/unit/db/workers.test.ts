/** Liveness of processes whose /proc entry cannot be read. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

// Files of unit tests share a process, so the module may be loaded already, with the real file system.
let workers: typeof import('../../../src/db/workers.ts')
beforeAll(async () => {
  vi.resetModules()
  // `/proc` with `hidepid=2` has no entry for a process of another user.
  vi.doMock('node:fs', async (original) => {
    const fs = await original<typeof import('node:fs')>()
    const readFileSync = ((path: string, encoding: 'utf8') => {
      if (/^\/proc\/\d+\/stat$/.test(path)) throw Object.assign(new Error('hidden'), { code: 'ENOENT' })
      return fs.readFileSync(path, encoding)
    }) as typeof fs.readFileSync
    return { ...fs, readFileSync }
  })
  workers = await import('../../../src/db/workers.ts')
})
afterAll(() => {
  vi.doUnmock('node:fs')
  vi.resetModules()
})

test('a live process whose start time is hidden counts as alive, and an ended one as ended', () => {
  const self = { ...workers.identifyProcess(process.pid), pidStarted: '4711' }
  expect(workers.isWorkerAlive(self)).toBe(true)
  const { pid } = spawnSync('true')
  expect(workers.isWorkerAlive({ ...self, pid })).toBe(false)
})
