import { describe, expect, test } from 'vitest'
import { Pace } from '../../../src/sync/push/pace.ts'

const settings = { concurrency: 64, httpTimeoutMs: 30_000, backoffMinMs: 1_000, backoffMaxMs: 60_000 }
const uploads = { limit: 1_500, windowMs: 60_000 }

function paced() {
  let now = 0
  const clock = { now: () => now, monotonic: () => now, sleep: async () => undefined }
  return { pace: new Pace(clock, settings, uploads), pass: (ms: number) => (now += ms) }
}

describe('concurrency', () => {
  test('follows latency between a floor and the cap', () => {
    const { pace } = paced()
    expect(pace.slots).toBe(8)
    for (let i = 0; i < 30; i++) pace.answered(20)
    expect(pace.slots).toBe(8)
    // 25 a second at 300 ms need 7.5 under way; twice that leaves room for what varies.
    for (let i = 0; i < 30; i++) pace.answered(300)
    expect(pace.slots).toBeGreaterThanOrEqual(14)
    // And at 2 s they need 50.
    for (let i = 0; i < 30; i++) pace.answered(2_000)
    expect(pace.slots).toBe(64)
    // A service that needs half of the deadline is at its own limit.
    for (let i = 0; i < 30; i++) pace.answered(15_000)
    expect(pace.slots).toBeLessThan(25)
    expect(pace.slots).toBeGreaterThan(15)
  })

  test('while requests fail, one probe after growing pauses; an answer ends it', () => {
    const { pace, pass } = paced()
    pace.failed()
    const first = pace.stillMs
    expect(pace.slots).toBe(0)
    // Those under way together say the same thing.
    pace.failed()
    expect(pace.failuresInRow).toBe(1)
    pass(first)
    expect(pace.slots).toBe(1)
    for (let i = 0; i < 10; i++) {
      pace.failed()
      pass(pace.stillMs)
    }
    expect(pace.failuresInRow).toBe(11)
    pace.answered(10)
    expect(pace.slots).toBe(8)
  })
})
