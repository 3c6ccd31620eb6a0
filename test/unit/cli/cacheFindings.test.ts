/** Findings of the doctor on the dashboard, which are refreshed in the background. */
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import { cacheFindings } from '../../../src/cli/servers/cacheFindings.ts'

test('a refresh that fails is logged, and the last findings are kept', async () => {
  let nowMs = 0
  let fails = false
  const logged: string[] = []
  const log = {
    debug: () => undefined,
    info: () => undefined,
    error: () => undefined,
    warn: (_: unknown, text: string) => void logged.push(text),
  }
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep: () => new Promise<never>(() => undefined) }
  const finding = { check: 'database', state: 'ok', message: 'up' } as const
  const read = cacheFindings({ clock, log }, () => (fails ? Promise.reject(new Error('no permission')) : Promise.resolve([finding])))
  expect(await read()).toEqual([finding])

  fails = true
  nowMs = 61_000
  expect(await read()).toEqual([finding])
  await new Promise((resolve) => setImmediate(resolve))
  expect(logged).toEqual(['the checks of the doctor failed'])
  expect(await read()).toEqual([finding])
})

test('first findings that take long are shown as running', async () => {
  const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }
  const read = cacheFindings({ clock, log: silentLogger }, () => new Promise<never>(() => undefined))
  expect(await read()).toMatchObject([{ state: 'warning', message: 'the checks are still running' }])
})

test('findings of more than five minutes ago are refreshed before they are returned', async () => {
  let nowMs = 0
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep: () => new Promise<never>(() => undefined) }
  const read = cacheFindings({ clock, log: silentLogger }, () => {
    if (nowMs > 400_000) return Promise.reject(new Error('no permission'))
    return Promise.resolve([{ check: 'service', state: 'ok', message: `at ${nowMs}` }])
  })
  expect(await read()).toMatchObject([{ message: 'at 0' }])
  nowMs = 301_000
  expect(await read()).toMatchObject([{ message: 'at 301000' }])
  nowMs = 700_000
  expect(await read()).toMatchObject([{ message: 'at 301000' }])
})
