/** Liveness of processes whose /proc entry cannot be read. */
import { spawnSync } from 'node:child_process'
import { expect, test, vi } from 'vitest'
import { identifyProcess, isAlive } from '../../../src/db/workers.ts'

// `/proc` with `hidepid=2` has no entry for a process of another user.
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const readFileSync = ((path: string, encoding: 'utf8') => {
    if (/^\/proc\/\d+\/stat$/.test(path)) throw Object.assign(new Error('hidden'), { code: 'ENOENT' })
    return fs.readFileSync(path, encoding)
  }) as typeof fs.readFileSync
  return { ...fs, readFileSync }
})

test('a live process whose start time is hidden counts as alive, and an ended one as ended', () => {
  const self = { ...identifyProcess(process.pid), pidStarted: '4711' }
  expect(isAlive(self)).toBe(true)
  const { pid } = spawnSync('true')
  expect(isAlive({ ...self, pid })).toBe(false)
})
