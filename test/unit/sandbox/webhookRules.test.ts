/** Rules of webhooks: accepted URLs, results and due times of checks, names and dates (spec 3.1, 6.1; docs/spec-notes.md#webhooks). */
import { expect, test } from 'vitest'
import { isCheckDue, recordCheck } from '../../../src/sandbox/webhooks/checks.ts'
import { canonicalType } from '../../../src/sandbox/webhooks/events.ts'
import { parseMinute } from '../../../src/sandbox/webhooks/replay.ts'
import type { CheckOutcome, Webhook } from '../../../src/sandbox/webhooks/state.ts'
import { webhookUrlProblem } from '../../../src/sandbox/webhooks/url.ts'

test.for([
  ['https://hooks.example.com/a?b=1', false, undefined],
  ['https://hooks.example.com', false, undefined],
  ['https://1.1.1.1/', false, undefined],
  ['http://hooks.example.com/', false, 'https'],
  ['https://hooks.example.com:443/', false, 'port'],
  ['https://hooks.example.com:/', false, 'port'],
  ['https://hooks.example.com:8443/', true, 'port'],
  ['https:/hooks.example.com:8443/', false, 'port'],
  ['https:\\\\hooks.example.com:443/', false, 'port'],
  ['https://localhost./', false, 'publicly'],
  ['https://intranet./', false, 'publicly'],
  ['https://hooks.example.com./', false, undefined],
  ['http://hooks.example.com/', true, 'https'],
  ['http://127.0.0.1:4010/', true, undefined],
  ['https://[::1]:1/', true, undefined],
  ['http://localhost/', true, undefined],
  ['http://127.0.0.1/', false, 'https'],
  ['https://127.0.0.1/', false, 'reachable'],
  ['https://10.1.2.3/', false, 'reachable'],
  ['https://192.168.0.1/', true, 'reachable'],
  ['https://[::ffff:127.0.0.1]/', false, 'reachable'],
  ['https://[fd00::1]/', false, 'reachable'],
  ['https://intranet/', false, 'reachable'],
  ['https://a.localhost/', false, 'reachable'],
  ['https://2130706433/', false, 'reachable'],
  ['https://user:pass@hooks.example.com/', false, 'credentials'],
  ['https://hooks.example.com/#a', false, 'fragment'],
  ['ftp://hooks.example.com/', true, 'https'],
  ['', false, 'URL'],
] as const)('%s with developer URLs %s: %s', ([url, devUrls, expected]) => {
  const problem = webhookUrlProblem(url, devUrls)
  if (expected === undefined) expect(problem).toBeUndefined()
  else expect(problem).toContain(expected)
})

test.for([
  ['202701151200', Date.UTC(2027, 0, 15, 12)],
  ['202702300000', undefined],
  ['202701152400', undefined],
  ['202701151260', undefined],
  ['20270115', undefined],
  ['2027-01-15', undefined],
] as const)('the minute %s is %s', ([text, expected]) => {
  expect(parseMinute(text)).toBe(expected)
})

test('deprecated event names are replaced by the new ones', () => {
  expect(canonicalType('ProfileBioUpdate')).toBe('profile.update.bio')
  expect(canonicalType('post.create')).toBe('post.create')
  expect(canonicalType('constructor')).toBe('constructor')
})

const HOUR = 3_600_000
const webhook = (change: Partial<Webhook> = {}): Webhook => ({
  id: '1',
  url: 'https://hooks.example.com/',
  valid: true,
  created_at: '',
  lastSuccessAt: 0,
  lastCheckAt: 0,
  lastOutcome: 'valid',
  ...change,
})

test.for([
  ['valid', 30, true],
  ['wrong-token', 1, false],
  ['redirect', 1, false],
  ['tls', 1, false],
  ['transient', 28, true],
  ['transient', 28.01, false],
] as const)('a check that ends %s after %f hours leaves a webhook valid: %s', ([outcome, hours, expected]) => {
  const one = webhook()
  recordCheck(one, outcome satisfies CheckOutcome, hours * HOUR)
  expect(one.valid).toBe(expected)
})

test('checks are due every 30 minutes once a day has passed without success', () => {
  expect(isCheckDue(webhook(), 24 * HOUR - 1, 'spec')).toBe(false)
  expect(isCheckDue(webhook(), 24 * HOUR, 'spec')).toBe(true)
  expect(isCheckDue(webhook({ lastCheckAt: 24 * HOUR }), 24.4 * HOUR, 'spec')).toBe(false)
  expect(isCheckDue(webhook({ lastCheckAt: 24 * HOUR }), 24.5 * HOUR, 'spec')).toBe(true)
  expect(isCheckDue(webhook({ valid: false }), 99 * HOUR, 'spec')).toBe(false)
  expect(isCheckDue(webhook(), HOUR, 'hourly')).toBe(true)
})
