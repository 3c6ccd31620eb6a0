/** Times of `webhooks replay` on a machine in another zone than UTC. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceMinute } from '../../../src/cli/commands/webhooks/replay.ts'

const zone = process.env['TZ']
beforeAll(() => {
  process.env['TZ'] = 'America/New_York'
})
afterAll(() => {
  if (zone === undefined) delete process.env['TZ']
  else process.env['TZ'] = zone
})

test.for([
  ['202611200930', '202611200930'],
  ['2026-11-20', '202611200000'],
  ['2026-11-20T09:30', '202611200930'],
  ['2026-11-20 09:30:15', '202611200930'],
  ['2026-11-20T09:30Z', '202611200930'],
  ['2026-11-20T09:30+02:00', '202611200730'],
  ['yesterday', undefined],
  ['202613200930', undefined],
  ['202602300930', undefined],
  ['202611202460', undefined],
  ['2026-11-40T09:30', undefined],
] as const)('%s is the minute %s in UTC', ([text, minute]) => {
  expect(serviceMinute(text)).toBe(minute)
})
