import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import { GapTracker } from '../../../src/webhooks/gap.ts'

test('a gap keeps its length if the clock is set back meanwhile, also after it could not be recorded', () => {
  let [nowMs, elapsedMs] = [Date.parse('2027-01-15T12:00:00Z'), 0]
  const pass = (ms: number) => {
    nowMs += ms
    elapsedMs += ms
  }
  const gap = new GapTracker(silentLogger, { now: () => nowMs, monotonic: () => elapsedMs })
  gap.noteRefusal()
  pass(60_000)
  nowMs -= 7_200_000
  const ended = { from: new Date('2027-01-15T10:00:00Z'), to: new Date('2027-01-15T10:01:00Z'), refused: 1 }
  expect(gap.since).toEqual(ended.from)
  const found = gap.end()
  expect(found).toEqual(ended)
  if (found !== undefined) gap.reopen(found)
  pass(60_000)
  expect(gap.end()).toEqual({ ...ended, to: new Date('2027-01-15T10:02:00Z') })
})
