/** Findings of the doctor on the dashboard, which are refreshed in the background. */
import { expect, test } from 'vitest'
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
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep: () => Promise.resolve() }
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
