/** A state file has one lock, also while other processes lock it at any moment. */
import * as fs from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

/** Called after each call of `node:fs` in `lockStateFile`, with the name of the function and the path. */
let afterCall: (name: string, path: string) => void = () => undefined

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>()
  const traced = (name: 'readFileSync' | 'linkSync' | 'renameSync' | 'rmSync') => [
    name,
    (...args: unknown[]): unknown => {
      try {
        return Reflect.apply(real[name], real, args)
      } finally {
        afterCall(name, String(args[0]))
      }
    },
  ]
  return { ...real, ...Object.fromEntries((['readFileSync', 'linkSync', 'renameSync', 'rmSync'] as const).map(traced)) }
})
const real = await vi.importActual<typeof fs>('node:fs')
// Test files share a process, so an earlier one may have loaded the module with the real functions.
vi.resetModules()
const { lockStateFile } = await import('../../../src/sandbox/state/fileLock.ts')

let folder: string
let file: string
beforeEach(() => {
  folder = real.mkdtempSync(join(tmpdir(), 'sluice-lock-'))
  file = join(folder, 'state.jsonl')
})
afterEach(() => {
  afterCall = () => undefined
  real.rmSync(folder, { recursive: true, force: true })
})

const ended = JSON.stringify({ pid: process.ppid, host: hostname(), startedAt: 'another start' })
const running = JSON.stringify({ pid: process.ppid, host: hostname(), startedAt: null })

test('the lock of a running process is never removed, although the lock before it had expired', () => {
  real.writeFileSync(`${file}.lock`, ended)
  real.writeFileSync(join(folder, 'third'), running)
  let isReplaced = false
  let thirdHasLock = false
  afterCall = (name, path) => {
    if (!isReplaced) {
      // A second process replaces the expired lock just after it was read.
      if (name !== 'readFileSync' || path !== `${file}.lock`) return
      isReplaced = true
      real.writeFileSync(`${file}.lock`, running)
      return
    }
    try {
      real.linkSync(join(folder, 'third'), `${file}.lock`)
      thirdHasLock = true
    } catch {
      // The second process has the lock.
    }
  }
  expect(() => lockStateFile(file)).toThrow(`process id ${process.ppid}`)
  expect([isReplaced, thirdHasLock]).toEqual([true, false])
  expect(real.readFileSync(`${file}.lock`, 'utf8')).toBe(running)
  expect(real.readdirSync(folder).toSorted()).toEqual(['state.jsonl.lock', 'third'])
})

test('a lock that is released after it was found is taken, and that of the next process is not removed', () => {
  real.writeFileSync(`${file}.lock`, ended)
  let reads = 0
  afterCall = (name, path) => {
    if (name !== 'readFileSync' || path !== `${file}.lock`) return
    reads++
    if (reads === 1) real.rmSync(`${file}.lock`)
    // Without a lock at the second read, another process may lock the file immediately after it.
    if (reads === 2 && !real.existsSync(`${file}.lock`)) real.writeFileSync(`${file}.lock`, running)
  }
  expect(() => lockStateFile(file)).toThrow(`process id ${process.ppid}`)
  expect(real.readFileSync(`${file}.lock`, 'utf8')).toBe(running)
})

test.for(['', ended])('an expired lock is replaced, also if a process was killed while it replaced one: %j', (content) => {
  for (const name of ['.lock', '.lock.lock']) real.writeFileSync(`${file}${name}`, content)
  const lock = lockStateFile(file)
  expect(JSON.parse(real.readFileSync(`${file}.lock`, 'utf8'))).toMatchObject({ pid: process.pid })
  expect(() => lockStateFile(file)).toThrow(`process id ${process.pid}`)
  lock.release()
  expect(real.readdirSync(folder)).toEqual([])
})
