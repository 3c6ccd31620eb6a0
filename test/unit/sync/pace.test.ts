import { describe, expect, test } from 'vitest'
import { Pace } from '../../../src/sync/push/pace.ts'

const settings = { concurrency: 64, httpTimeoutMs: 30_000, backoffMinMs: 1_000, backoffMaxMs: 60_000 }
const uploads = { limit: 1_500, windowMs: 60_000 }

function paced() {
  let now = 0
  const clock = { now: () => now, monotonic: () => now, sleep: async () => undefined }
  return { pace: new Pace(clock, settings, uploads), pass: (ms: number) => (now += ms) }
}

interface Service {
  /** Milliseconds from the request to the answer of an idle service. */
  readonly latencyMs: (request: number) => number
  /** Maximum number of requests that it answers in a second. */
  readonly perSecond?: number
  /** True if each request waits until the 1,500th before it has left the window of 61 s. */
  readonly isLimited?: boolean
}

/** Sends `requests` as fast as the pace permits. Returns the latency of each, the numbers in flight, and the whole time. */
function push(requests: number, { latencyMs, perSecond = Number.POSITIVE_INFINITY, isLimited = false }: Service) {
  const { pace, pass } = paced()
  const inFlight: { readonly begun: number; readonly answered: number }[] = []
  const latencies: number[] = []
  const slots: number[] = []
  const sentAt: number[] = []
  let now = 0
  let sent = 0
  let freeAt = 0
  while (latencies.length < requests) {
    while (sent < requests && inFlight.length < pace.slots) {
      // The service processes one request after the other, and answers after its latency.
      const begun = isLimited && sent >= 1_500 ? Math.max(now, sentAt[sent - 1_500]! + 61_000) : now
      sentAt.push(begun)
      freeAt = Math.max(freeAt, begun) + 1_000 / perSecond
      inFlight.push({ begun, answered: freeAt + latencyMs(sent++) })
      slots.push(pace.slots)
    }
    inFlight.sort((a, b) => a.answered - b.answered)
    const next = inFlight.shift()
    if (next === undefined) throw new Error('nothing is in flight')
    if (next.begun > now) pace.restartMeasurement()
    pass(next.answered - now)
    now = next.answered
    latencies.push(now - next.begun)
    pace.noteAnswer(now - next.begun)
  }
  return { latencies, slots, seconds: now / 1_000, pace, pass }
}

describe('concurrency', () => {
  test('begins with few requests', () => {
    expect(paced().pace.slots).toBe(8)
  })

  test.each([20, 100, 300, 1_000, 2_000])('uses the whole allowance at %i ms latency', (ms) => {
    const { seconds } = push(4_500, { latencyMs: () => ms })
    // Three minutes of the allowance: 1,500 requests per minute.
    expect(4_500 / seconds).toBeGreaterThan(25 * 0.95)
  })

  test.each([300, 1_000, 2_000])('waits for the rate limit do not count as a slow service at %i ms latency', (ms) => {
    const { slots, seconds } = push(4_500, { latencyMs: () => ms, isLimited: true })
    expect(4_500 / seconds).toBeGreaterThan(25 * 0.95)
    for (let i = 600; i < slots.length; i++) expect(slots[i]).toBeGreaterThanOrEqual(slots[i - 1]!)
  })

  test('batches that arrive slowly do not count as a limit of the service', () => {
    const { pace, pass } = paced()
    const answer = (count: number, everyMs: number) => {
      for (let i = 0; i < count; i++) {
        pass(everyMs)
        pace.noteAnswer(300)
      }
    }
    answer(8, 300 / 8)
    expect(pace.slots).toBe(15)
    // While the next part of the plan is made, 3 batches a second are ready.
    for (let i = 0; i < 60; i++) {
      answer(1, 333)
      pace.restartMeasurement()
    }
    answer(300, 20)
    expect(pace.slots).toBe(15)
  })

  test('a short push to a slow service soon has enough requests in flight', () => {
    expect(400 / push(400, { latencyMs: () => 2_000 }).seconds).toBeGreaterThan(25 * 0.82)
    expect(400 / push(400, { latencyMs: () => 1_000 }).seconds).toBeGreaterThan(25 * 0.95)
  })

  test('a latency that varies by a factor of ten does not slow it down', () => {
    let seed = 7
    const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
    const { seconds } = push(4_500, { latencyMs: () => 200 + random() * 1_800 })
    expect(4_500 / seconds).toBeGreaterThan(25 * 0.95)
  })

  test.each([
    [0.5, 8],
    [2, 8],
    [10, 8],
    [20, 16],
  ])('a service that answers at most %d a second soon gets no more than %i requests at a time', (perSecond, enough) => {
    const { latencies, seconds } = push(1_000, { latencyMs: () => 300, perSecond })
    const sorted = latencies.toSorted((a, b) => a - b)
    // One after the other; four times as many at one point, and later twice as many, while a larger number is tried.
    expect(sorted[600]).toBeLessThanOrEqual((enough / perSecond) * 1_000 + 300)
    expect(sorted.at(-1)).toBeLessThan(((4 * enough + 1) / perSecond) * 1_000 + 300)
    expect(sorted[900]).toBeLessThan(((2 * enough + 1) / perSecond) * 1_000 + 300)
    expect(sorted.at(-1)).toBeLessThan(30_000)
    expect(1_000 / seconds).toBeGreaterThan(perSecond * 0.95)
  })

  test('a service that becomes slower gets more requests at a time, and fewer when it is fast again', () => {
    const { slots, seconds } = push(3_000, { latencyMs: (request) => (request < 500 ? 50 : request < 2_500 ? 1_500 : 50) })
    expect(slots[400]).toBe(8)
    expect(Math.max(...slots.slice(1_000, 2_400))).toBeGreaterThanOrEqual(40)
    expect(slots.at(-1)).toBe(8)
    expect(seconds).toBeLessThan((2_000 / 25) * 1.1 + 10)
  })

  test('a service that needs half of the deadline has reached its limit', () => {
    const { slots } = push(400, { latencyMs: () => 15_000 })
    expect(slots.at(-1)).toBeLessThan(25)
    expect(slots.at(-1)).toBeGreaterThan(15)
  })

  test('while requests fail, sends single probes after growing pauses, until an answer arrives', () => {
    const { pace, pass } = paced()
    pace.noteFailure()
    const first = pace.backoffLeftMs
    expect(pace.slots).toBe(0)
    // Requests in flight together fail for the same reason.
    pace.noteFailure()
    expect(pace.failuresInRow).toBe(1)
    pass(first)
    expect(pace.slots).toBe(1)
    for (let i = 0; i < 10; i++) {
      pace.noteFailure()
      pass(pace.backoffLeftMs)
    }
    expect(pace.failuresInRow).toBe(11)
    pace.noteAnswer(10)
    expect(pace.slots).toBe(8)
  })
})
