import { expect, test } from 'vitest'
import { parseInstant } from '../../../src/mapping/instant.ts'

test.for([
  ['Europe/Berlin', '2026-10-25T02:30:00', '+01:00', 'the later of two instants'],
  ['America/New_York', '2026-11-01T01:30:00', '-05:00', 'the later of two instants'],
  ['Europe/Berlin', '2026-03-29T02:30:00', '+01:00', 'the offset before the change'],
  ['America/New_York', '2026-03-08T02:30:00', '-05:00', 'the offset before the change'],
  ['Pacific/Kiritimati', '2026-01-01T00:30:00', '+14:00', 'the only offset'],
  ['Pacific/Pago_Pago', '2026-01-01T23:30:00', '-11:00', 'the only offset'],
] as const)('a local time of %s at %s is read with %s: %s', ([zone, local, offset]) => {
  expect(parseInstant(local, undefined, zone)?.text).toBe(`${local}${offset}`)
})

test.for([
  ['Europe/Paris', '1900-01-01T00:00:00', '+00:09'],
  ['Africa/Monrovia', '1910-06-15T12:00:00', '-00:43'],
  ['America/Sao_Paulo', '1900-01-01T00:00:00', '-03:06'],
] as const)('an old offset of %s with seconds is written at %s without them: %s', ([zone, local, offset]) => {
  const instant = parseInstant(local, undefined, zone)
  expect(instant).toEqual({ ms: Date.parse(`${local}${offset}`), text: `${local}${offset}` })
})
