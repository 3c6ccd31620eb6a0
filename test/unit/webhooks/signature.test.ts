import { expect, test } from 'vitest'
import { isChallengeToken, isSigned, sign } from '../../../src/webhooks/signature.ts'

const key = 'sandbox-consumer-secret'
/** Computed vector (docs/spec-notes.md#webhooks). */
const vector = 'sha256=Rt3p/i0/zefbGZLDa8XWjDeR7VmxC6nVfUN2GnfVvIM='

test('the published vector verifies', () => {
  expect(sign('challenge_string', key)).toBe(vector)
  expect(isSigned(Buffer.from('challenge_string'), vector, [key])).toBe(true)
})

test.for([
  [undefined, 'absent'],
  ['', 'empty'],
  ['sha256=', 'without a hash'],
  [vector.slice(0, -1), 'one short'],
  [`${vector}=`, 'one long'],
  [vector.toUpperCase(), 'upper-case'],
  [vector.replace('sha256=', ''), 'without the prefix'],
  [vector.replace('R', 'S'), 'one character off'],
  [`sha256=${Buffer.from(vector.slice(7), 'base64').toString('hex')}`, 'hex'],
  [` ${vector}`, 'with a blank'],
  ['sha256=é3p/i0/zefbGZLDa8XWjDeR7VmxC6nVfUN2GnfVvIM=', 'with a character of two bytes'],
] as const)('signature %s is rejected: %s', ([signature]) => {
  expect(isSigned(Buffer.from('challenge_string'), signature, [key])).toBe(false)
})

test('during a rotation both secrets verify, afterwards only the new one', () => {
  const body = Buffer.from('{"a":1}')
  const old = sign(body, 'old')
  expect(isSigned(body, old, ['new', 'old'])).toBe(true)
  expect(isSigned(body, sign(body, 'new'), ['new', 'old'])).toBe(true)
  expect(isSigned(body, old, ['new'])).toBe(false)
  expect(isSigned(body, old, [])).toBe(false)
})

test.for([
  ['challenge_string', true],
  ['A-z_0/9+=', true],
  ['a'.repeat(256), true],
  ['a'.repeat(257), false],
  ['', false],
  ['{"data":{}}', false],
  ['a b', false],
  ['a\r\nb', false],
  ['<b>', false],
  ['a\n', false],
  ['é', false],
] as const)('token %j may be answered: %s', ([token, expected]) => {
  expect(isChallengeToken(token)).toBe(expected)
})
