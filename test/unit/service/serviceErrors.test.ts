/** Every refusal becomes one class, with a hint for the user (spec 7; docs/spec-notes.md#signing). */
import { describe, expect, test } from 'vitest'
import { findEndpoint } from '../../../src/service/contract/index.ts'
import type { Endpoint } from '../../../src/service/contract/endpoint.ts'
import type { Exchange } from '../../../src/service/client/exchange.ts'
import { isRetryable, toServiceError } from '../../../src/service/client/toServiceError.ts'
import { webhookReasons } from '../../../src/service/contract/webhookResources.ts'
import { adsErrorStatus, coreErrors, problemTypes } from '../../support/serviceErrorCodes.ts'

const nowMs = Date.UTC(2026, 2, 1, 12)
const endpoint = (name: string) => findEndpoint(name) as Endpoint

function errorOf(
  status: number,
  body: unknown,
  { name = 'accounts.list', headers = {} }: { name?: string; headers?: Record<string, string> } = {},
) {
  const exchange: Exchange = {
    kind: 'answer',
    status,
    headers,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    durationMs: 1,
  }
  return toServiceError(exchange, { endpoint: endpoint(name), where: 'GET /12/accounts', nowMs })
}

const ads = (code: string | number, more: object = {}) => ({ errors: [{ code, message: 'said so', ...more }], request: { params: {} } })

test('a refused verifier has a hint about the sign-in, not about the credentials', () => {
  const body = { errors: [{ code: 32, message: 'Could not authenticate you.' }] }
  expect(errorOf(401, body, { name: 'oauth.accessToken' })?.hint).toBe(
    'Start the sign-in again: the verifier or PIN is wrong, or the request token was used before or is too old.',
  )
})

test('the hint of a failed call warns of an effect only for a write', () => {
  const hintsOf = (name: string) => {
    const lost = toServiceError(
      { kind: 'lost', error: new Error('reset'), durationMs: 1 },
      { endpoint: endpoint(name), where: name, nowMs },
    )
    return [lost, errorOf(503, '', { name }), errorOf(200, 'OK', { name }), errorOf(200, '[]', { name })].map((error) => error?.hint)
  }
  for (const hint of hintsOf('catalogs.update')) expect(hint).toContain('may have been applied')
  for (const hint of hintsOf('catalogs.list')) expect(hint).toMatch(/^(?!.*applied).*again/)
})

test('the hint of a failed creation does not say to repeat it, because that could create a second record', () => {
  for (const name of ['campaigns.create', 'lineItems.batch', 'advertiserPosts.create', 'catalogs.delete'])
    expect(errorOf(503, '', { name })?.hint).toBe(
      'The service failed. The request may have been applied: read back before sending it again.',
    )
  expect(errorOf(503, '', { name: 'campaigns.update' })?.hint).toContain('try again later')
})

describe('the answer of the service becomes one class', () => {
  test.for([
    [401, ads('UNAUTHORIZED_ACCESS'), 'SERVICE_BAD_SIGNATURE'],
    [401, { errors: [{ code: 32, message: 'Could not authenticate you.' }] }, 'SERVICE_BAD_SIGNATURE'],
    [400, { errors: [{ message: 'Bad Authentication data', code: 215 }] }, 'SERVICE_BAD_SIGNATURE'],
    [401, { title: 'Unauthorized', type: 'about:blank', status: 401, detail: 'Unauthorized' }, 'SERVICE_BAD_SIGNATURE'],
    [401, '', 'SERVICE_BAD_SIGNATURE'],
    [401, '<html><body>401</body></html>', 'SERVICE_BAD_SIGNATURE'],
    [401, { errors: [{ code: 89, message: 'Invalid or expired token.' }] }, 'SERVICE_TOKEN_INVALID'],
    [401, { errors: [{ code: '89', message: 'Invalid or expired token.' }] }, 'SERVICE_TOKEN_INVALID'],
    [403, ads('UNAUTHORIZED_CLIENT_APPLICATION'), 'SERVICE_APPLICATION_NOT_APPROVED'],
    [
      403,
      { title: 'Client Forbidden', detail: 'x', type: 'https://api.example.com/2/problems/client-forbidden' },
      'SERVICE_APPLICATION_NOT_APPROVED',
    ],
    [403, ads('ACCOUNT_NOT_FOUND'), 'SERVICE_ACCOUNT_OUT_OF_REACH'],
    [404, ads('ACCOUNT_NOT_FOUND'), 'SERVICE_ACCOUNT_OUT_OF_REACH'],
    [403, ads('READONLY_CLIENT_APPLICATION'), 'SERVICE_FORBIDDEN'],
    [403, { errors: [{ code: 93, message: 'x' }] }, 'SERVICE_PERMISSION_LEVEL'],
    [403, { errors: [{ code: 220, message: 'x' }] }, 'SERVICE_WRONG_CONTEXT'],
    [
      403,
      { title: 'Unsupported Authentication', detail: 'x', type: 'https://api.example.com/2/problems/unsupported-authentication' },
      'SERVICE_WRONG_CONTEXT',
    ],
    [403, { errors: [{ code: 415, message: 'Callback URL not approved' }] }, 'SERVICE_CALLBACK_NOT_APPROVED'],
    [403, { errors: [{ code: 99, label: 'authenticity_token_error', message: 'x' }] }, 'SERVICE_BEARER_REFUSED'],
    [429, ads('TOO_MANY_REQUESTS'), 'SERVICE_RATE_LIMITED'],
    [429, { errors: [{ code: 88, message: 'Rate limit exceeded' }] }, 'SERVICE_RATE_LIMITED'],
    [429, { title: 'Too Many Requests', type: 'about:blank', status: 429 }, 'SERVICE_RATE_LIMITED'],
    [429, '', 'SERVICE_RATE_LIMITED'],
    [404, ads('LINE_ITEM_NOT_FOUND'), 'SERVICE_NOT_FOUND'],
    [404, '<!DOCTYPE html><p>', 'SERVICE_NOT_FOUND'],
    [400, ads('MISSING_PARAMETER', { parameter: 'count' }), 'SERVICE_INVALID_PARAMETER'],
    [
      400,
      {
        errors: [{ parameters: { ids: ['x'] }, message: 'm' }],
        title: 'Invalid Request',
        detail: 'd',
        type: 'https://api.example.com/2/problems/invalid-request',
      },
      'SERVICE_INVALID_PARAMETER',
    ],
    [400, ads(400), 'SERVICE_INVALID_PARAMETER'],
    [413, ads('REQUEST_TOO_COMPLEX'), 'SERVICE_REQUEST_TOO_LARGE'],
    [400, ads('REQUEST_TOO_COMPLEX'), 'SERVICE_REQUEST_TOO_LARGE'],
    [400, { operation_errors: [[], [{ code: 'MISSING_PARAMETER', message: 'x', parameter: 'users' }]] }, 'SERVICE_BATCH_REFUSED'],
    [400, { operation_errors: [null, { code: 'MISSING_PARAMETER', message: 'x' }] }, 'SERVICE_BATCH_REFUSED'],
    [200, { operation_errors: [[{ code: 'MISSING_PARAMETER', message: 'x' }]], data: [] }, 'SERVICE_BATCH_REFUSED'],
    [200, ads('INVALID_PARAMETER'), 'SERVICE_INVALID_PARAMETER'],
    [200, { ...ads('INVALID_PARAMETER'), data: [{ id: 'a' }] }, 'SERVICE_ANSWER_UNREADABLE'],
    [200, '<html>', 'SERVICE_ANSWER_UNREADABLE'],
    [200, '{"data":[', 'SERVICE_ANSWER_UNREADABLE'],
    [200, '', 'SERVICE_ANSWER_UNREADABLE'],
    [405, ads('METHOD_NOT_ALLOWED'), 'SERVICE_REFUSED'],
    [302, '', 'SERVICE_REFUSED'],
    [408, ads('CANCELLED_REQUEST'), 'SERVICE_UNAVAILABLE'],
    [423, ads('LOCK_ACQUISITION_TIMEOUT'), 'SERVICE_UNAVAILABLE'],
    [500, ads('INTERNAL_ERROR'), 'SERVICE_UNAVAILABLE'],
    [502, '<html>', 'SERVICE_UNAVAILABLE'],
    [503, { errors: { code: 'OVER_CAPACITY', message: 'x' } }, 'SERVICE_UNAVAILABLE'],
    [200, { data: [] }, 'SERVICE_ANSWER_UNREADABLE', 'catalogs.create'],
    [200, { data: [{ id: 'a' }, { id: 'b' }] }, 'SERVICE_ANSWER_UNREADABLE', 'catalogs.create'],
  ] as const)('%i %j is %s', ([status, body, code, name]) => {
    expect(errorOf(status, body, name === undefined ? {} : { name })?.code).toBe(code)
  })

  test.for([
    ['keywords.search', 'end_time', '`start_time` and `end_time` at most 7 days apart'],
    ['audiences.users', 'params.expires_at', 'later than `params.effective_at`'],
  ] as const)('the hint of %s for %s has the rule about it', ([name, parameter, rule]) => {
    expect(errorOf(400, ads('INVALID_PARAMETER', { parameter }), { name })?.hint).toContain(rule)
  })

  test('a hint counts each failing entry of a batch once', () => {
    const errors = Array.from({ length: 7 }, () => ({ code: 'INVALID', message: 'x' }))
    expect(errorOf(400, { operation_errors: [errors, [], errors] }, { name: 'audiences.users' })?.hint).toMatch(
      /Correct or remove entry 0, entry 2\.$/,
    )
  })

  test.for([
    ['posts.lookup', true, 'sluice auth bearer'],
    ['posts.lookup', false, 'sluice auth login'],
    ['webhooks.list', true, 'sluice auth bearer'],
    ['accounts.list', undefined, 'sluice auth login'],
  ] as const)('the hint for an invalid token of %s is about the token that was sent (app-only: %s)', ([name, asApplication, hint]) => {
    const body = Buffer.from('{"errors":[{"code":89,"message":"x"}]}')
    const context = { endpoint: endpoint(name), where: 'GET /', nowMs, ...(asApplication === undefined ? {} : { asApplication }) }
    expect(toServiceError({ kind: 'answer', status: 401, headers: {}, body, durationMs: 1 }, context)?.hint).toContain(hint)
  })

  test('every code of the catalogue at its status is some error, with a hint', () => {
    for (const [code, status] of adsErrorStatus) expect(errorOf(status, ads(code))?.hint, code).not.toBe('')
    expect(adsErrorStatus.size).toBeGreaterThan(70)
  })

  test('every code of the core host and every type of a v2 problem is some error, with a hint', () => {
    const core = Object.entries(coreErrors).map(([code, { status }]) => errorOf(status, { errors: [{ code: Number(code), message: 'x' }] }))
    const problems = problemTypes.map((type) =>
      errorOf(403, { title: 'T', detail: 'd', type: `https://api.example.com/2/problems/${type}`, status: 403 }),
    )
    expect(core.length + problems.length).toBeGreaterThan(15)
    for (const error of [...core, ...problems]) {
      expect(error?.hint).not.toBe('')
      expect(error?.issues[0]?.code).not.toBe('')
    }
  })

  test('a repeatable call is retried after every temporary status, and after no other', () => {
    const temporary = new Set([408, 423, 429, 500, 502, 503, 504])
    const statuses = new Set([...adsErrorStatus.values(), ...temporary, 501, 505, 507, 520, 599])
    const again = [...statuses].filter((status) => {
      const error = errorOf(status, '')
      return error !== undefined && isRetryable(error, true)
    })
    expect(new Set(again)).toEqual(temporary)
  })

  test.for([
    [{ data: [] }, 'accounts.list'],
    [{ data: { id: 'a' }, request: { params: {} } }, 'accounts.list'],
    [{ data: [], errors: [], operation_errors: [] }, 'accounts.list'],
    [{ data: [{ id: '1' }], errors: [{ resource_id: '2', title: 'Not Found Error', type: 'about:blank' }] }, 'posts.lookup'],
    ['oauth_token=a&oauth_token_secret=b', 'oauth.requestToken'],
  ] as const)('%j is a success of %s', ([body, name]) => {
    expect(errorOf(200, body, { name })).toBeUndefined()
  })
})

describe('text of an error', () => {
  test('names a refused parameter with its rule and the hint of the contract', () => {
    const error = errorOf(400, ads('INVALID_PARAMETER', { parameter: 'count', details: 'out of range' }))
    expect(error?.issues[0]).toEqual({ code: 'INVALID_PARAMETER', message: 'said so', parameter: 'count', details: 'out of range' })
    expect(error?.hint).toBe('count: a whole number, 1 to 1000, default 200 (spec 8)')
  })

  test('names the missing permission for code 93 of a direct message', () => {
    expect(errorOf(403, { errors: [{ code: 93, message: 'x' }] })?.hint).toContain('permission level')
  })

  test('reads the older `attribute` as `parameter`', () => {
    expect(errorOf(400, ads('INVALID_PARAMETER', { attribute: 'count' }))?.issues[0]?.parameter).toBe('count')
  })

  test('keeps all errors of one answer, in order', () => {
    const error = errorOf(400, {
      errors: [{ code: 'A', message: 'a', parameter: 'count' }, 'plain words', { code: 'B', message: 'b', parameter: 'cursor' }],
    })
    expect(error?.issues.map(({ code, message }) => [code, message])).toEqual([
      ['A', 'a'],
      ['', 'plain words'],
      ['B', 'b'],
    ])
    expect(error?.hint).toContain('count:')
    expect(error?.hint).toContain('cursor:')
  })

  test('has three different texts for three refusals of access, each with the variable at fault', () => {
    expect(errorOf(401, ads('UNAUTHORIZED_ACCESS'))?.hint).toContain('SLUICE_CONSUMER_SECRET')
    expect(errorOf(403, ads('UNAUTHORIZED_CLIENT_APPLICATION'))?.hint).toContain('SLUICE_CONSUMER_KEY')
    expect(errorOf(403, ads('ACCOUNT_NOT_FOUND'))?.hint).toContain('SLUICE_ACCESS_TOKEN')
  })

  test('keeps the index of a refused batch entry in both forms', () => {
    expect(errorOf(400, { operation_errors: [[], [{ code: 'X', message: 'x' }]] })?.issues[0]?.index).toBe(1)
    expect(errorOf(400, { operation_errors: [null, null, { code: 'X', message: 'x' }] })?.issues[0]?.index).toBe(2)
  })

  test('contains no address, number or digest that the service repeats', () => {
    const digest = 'a'.repeat(64)
    const error = errorOf(
      400,
      ads('INVALID_PARAMETER', {
        message: `Expected x, got "canary@example.com" +1 202-555-0143 ${digest} for users`,
        value: 'canary@example.com',
        parameter: 'canary@example.com',
      }),
    )
    const printed = JSON.stringify(error) + String(error?.stack) + String(error?.message) + String(error?.hint)
    expect(printed).not.toMatch(/canary|555-0143|aaaaaaaaaa/)
  })

  test.for([
    ['{"errors":[{"code":"X","message":{"id":12345678901234567890}}]}', '400 X: {"id":12345678901234567890}'],
    ['{"errors":[[{"toString":1}]]}', '400: [{"toString":1}]'],
  ] as const)('contains a message of any JSON: %s', ([body, message]) => {
    expect(errorOf(400, body)).toMatchObject({ code: 'SERVICE_INVALID_PARAMETER', message })
  })

  test('keeps the wait of a 429 as a time', () => {
    expect(errorOf(429, '', { headers: { 'retry-after': '7' } })?.waitUntilMs).toBe(nowMs + 7_000)
  })

  test('names no wait for too many open streams, but how to close them', () => {
    const body = { title: 'ConnectionException', detail: 'limit', type: 'https://api.example.com/2/problems/streaming-connection' }
    const headers = { 'x-rate-limit-remaining': '48', 'x-rate-limit-reset': String(nowMs / 1000 + 900) }
    const error = errorOf(429, body, { name: 'activity.stream', headers })
    expect([error?.code, error?.waitUntilMs]).toEqual(['SERVICE_RATE_LIMITED', undefined])
    expect(error?.hint).toBe('Close an open stream of the app, or all of them: DELETE /2/connections/all.')
  })
})

describe('repeatable calls', () => {
  const exchange = (kind: 'not-sent' | 'lost') =>
    toServiceError({ kind, error: new Error('x'), durationMs: 1 }, { endpoint: endpoint('catalogs.create'), where: '', nowMs })
  test.for([
    ['nothing was sent', () => exchange('not-sent'), true, true],
    ['the answer was lost', () => exchange('lost'), true, false],
    ['429', () => errorOf(429, ''), true, true],
    ['423', () => errorOf(423, ''), true, true],
    ['408', () => errorOf(408, ''), true, false],
    ['500', () => errorOf(500, ''), true, false],
    ['502', () => errorOf(502, ''), true, false],
    ['503', () => errorOf(503, ''), true, false],
    ['504', () => errorOf(504, ''), true, false],
    ['400', () => errorOf(400, ''), false, false],
    ['401', () => errorOf(401, ''), false, false],
    ['403 code 99', () => errorOf(403, ads(99)), false, false],
    ['404', () => errorOf(404, ''), false, false],
    ['413', () => errorOf(413, ''), false, false],
    ['200 that cannot be read', () => errorOf(200, '<html>'), false, false],
  ] as const)('%s', ([, make, repeatable, other]) => {
    const error = make()
    expect(error && [isRetryable(error, true), isRetryable(error, false)]).toEqual([repeatable, other])
  })
})

describe('a success with an unexpected shape is an error', () => {
  const record = { id: '1', name: 'a' }
  test.for([
    ['accounts.list', []],
    ['accounts.list', [[]]],
    ['accounts.list', {}],
    ['accounts.list', 'null'],
    ['accounts.list', { data: 5 }],
    ['accounts.list', { data: [record, 1] }],
    ['accounts.list', { data: [[record]] }],
    ['accounts.get', { data: null }],
    ['accounts.get', { data: 'a' }],
    ['accounts.get', { items: [record] }],
    ['products.put', { request: { params: {} } }],
  ] as const)('%s: %j', ([name, body]) => {
    expect(errorOf(200, body, { name })?.code).toBe('SERVICE_ANSWER_UNREADABLE')
  })
  test.for([
    ['accounts.list', { data: [record], next_cursor: null }],
    ['accounts.list', { data: [] }],
    ['accounts.list', { data: null }],
    ['accounts.list', { data: record }],
    ['accounts.get', { data: record }],
    ['accounts.get', { data: [record] }],
    ['features.list', { data: ['AGE_TARGETING'] }],
    ['audiences.users', { data: { success_count: 1, total_count: 1 } }],
    ['webhooks.list', { meta: { result_count: 0 } }],
    ['oauth2.token', { token_type: 'bearer', access_token: 'a' }],
  ] as const)('%s is read from %j', ([name, body]) => {
    expect(errorOf(200, body, { name })).toBeUndefined()
  })
})

test('each reason of the webhook endpoints has a hint that names a command', () => {
  const hints = webhookReasons.map((reason) => {
    const problem = { errors: [{ parameters: { url: ['x'] }, message: `${reason}: x` }], title: 'Invalid Request', detail: 'x', type: 'x' }
    return errorOf(400, problem, { name: 'webhooks.create' })?.hint
  })
  expect(new Set(hints).size).toBe(webhookReasons.length)
  expect(hints.filter((hint) => !/sluice (?:webhooks|serve)|https address/.test(hint ?? ''))).toEqual([])
  expect(errorOf(400, ads('INVALID_PARAMETER', { parameter: 'count' }))?.hint).toContain('count')
})
