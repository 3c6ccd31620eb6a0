import { describe, expect, test } from 'vitest'
import { audience } from '../../../src/destinations/audience.ts'
import { catalog } from '../../../src/destinations/catalog.ts'
import type { RequestOutcome, SentEntry } from '../../../src/destinations/destination.ts'
import { doNotReach } from '../../../src/destinations/doNotReach.ts'
import type { Answer, Exchange } from '../../../src/service/client/exchange.ts'

function answer(status: number, body: unknown, headers: Record<string, string> = { 'content-type': 'application/json' }): Answer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { kind: 'answer', status, headers, body: bytes, durationMs: 1 }
}

const html = '<html><body>Over capacity</body></html>'
const errors = (code: string | number, message = 'no') => ({ errors: [{ code, message }], request: { params: {} } })
const products: readonly SentEntry[] = [
  { id: 'sku-1', users: 1 },
  { id: 'sku-2', users: 1 },
]
const keys: readonly SentEntry[] = [
  { id: '100', users: 1 },
  { id: '9007199254740993', users: 1 },
]
const users: readonly SentEntry[] = [
  { id: null, users: 1 },
  { id: null, users: 1 },
  { id: null, users: 1 },
]
const packed: readonly SentEntry[] = [
  { id: null, users: 1_000 },
  { id: null, users: 234 },
]

/** The outcome in one line: its kind, then the details that the test compares. */
function brief(outcome: RequestOutcome): string {
  switch (outcome.kind) {
    case 'entries':
      return outcome.entries
        .map((entry) =>
          entry.outcome === 'confirmed' ? 'confirmed' : entry.outcome === 'refused' ? `refused:${entry.code}` : `ambiguous:${entry.code}`,
        )
        .join(' ')
    case 'retry':
      return `retry ${outcome.code}`
    case 'pause':
      return `pause ${outcome.code}`
    case 'refused':
      return `refused ${outcome.code} [${outcome.failing.join(',')}]`
    case 'ambiguous':
      return `ambiguous ${outcome.code}${outcome.suspectsRecord ? ' miscounted' : ''}${outcome.mayLandLater ? ' late' : ''} [${outcome.failing.join(',')}]`
  }
}

describe('exchanges without a usable response, for every destination', () => {
  const error = new Error('gone')
  const rows: readonly (readonly [string, Exchange, string])[] = [
    ['nothing left this machine', { kind: 'not-sent', error, durationMs: 1 }, 'retry not-sent'],
    ['lost without a head', { kind: 'lost', error, durationMs: 1 }, 'ambiguous connection-lost late []'],
    ['lost behind the head', { kind: 'lost', error, status: 200, durationMs: 1 }, 'ambiguous connection-lost []'],
    ...[408, 500, 502, 503, 504, 524].map(
      (status) =>
        [
          `lost behind the head of a ${status}`,
          { kind: 'lost', error, status, durationMs: 1 },
          'ambiguous connection-lost late []',
        ] as const,
    ),
    ['429 with errors', answer(429, errors('TOO_MANY_REQUESTS')), 'retry rate-limited'],
    ['429 with HTML', answer(429, html, { 'content-type': 'text/html' }), 'retry rate-limited'],
    ['429 of the v2 shape', answer(429, { title: 'Too Many Requests', status: 429 }), 'retry rate-limited'],
    ['423', answer(423, errors('LOCK_ACQUISITION_TIMEOUT')), 'retry locked'],
    ['423 unreadable', answer(423, ''), 'ambiguous http-423-unreadable []'],
    ['401', answer(401, errors('UNAUTHORIZED_ACCESS')), 'retry UNAUTHORIZED_ACCESS'],
    ['401 of the core host', answer(401, errors(89)), 'retry 89'],
    ['401 with HTML', answer(401, html), 'ambiguous http-401-unreadable []'],
    ['403', answer(403, errors('UNAUTHORIZED_CLIENT_APPLICATION')), 'pause UNAUTHORIZED_CLIENT_APPLICATION'],
    ['404', answer(404, errors('NOT_FOUND')), 'pause NOT_FOUND'],
    ['405', answer(405, errors('METHOD_NOT_ALLOWED')), 'pause METHOD_NOT_ALLOWED'],
    ['410', answer(410, errors('NOT_FOUND')), 'pause NOT_FOUND'],
    ['415', answer(415, errors('NOT_FOUND')), 'pause NOT_FOUND'],
    ['403 with HTML', answer(403, html), 'ambiguous http-403-unreadable []'],
    ['gateway 400', answer(400, errors(215, 'Bad Authentication data')), 'pause 215'],
    ['400', answer(400, errors('INVALID_PARAMETER')), 'refused INVALID_PARAMETER []'],
    ['400 in the older form', answer(400, { errors: [{ attribute: 'x', code: 'INVALID', message: 'm' }] }), 'refused INVALID []'],
    ['400 with one object', answer(400, { errors: { code: 'INVALID', message: 'm' } }), 'refused INVALID []'],
    ['401 with one object', answer(401, { errors: { code: 89, message: 'm' } }), 'retry 89'],
    ['200 with one object', answer(200, { errors: { code: 'INVALID', message: 'm' } }), 'refused INVALID []'],
    ['400 with a code that is an object', answer(400, '{"errors":[{"code":{"toString":1},"message":"m"}]}'), 'refused ERROR []'],
    ['400 with an empty code', answer(400, errors('')), 'refused ERROR []'],
    ['400 with an empty object', answer(400, { errors: {} }), 'ambiguous http-400-unreadable miscounted []'],
    ['400 with an empty list of errors', answer(400, { errors: [] }), 'ambiguous http-400-unreadable miscounted []'],
    ['400 with HTML', answer(400, html), 'ambiguous http-400-unreadable miscounted []'],
    ['400 empty', answer(400, ''), 'ambiguous http-400-unreadable miscounted []'],
    ['408', answer(408, errors('CANCELLED_REQUEST')), 'ambiguous http-408 late []'],
    ['413', answer(413, errors('REQUEST_TOO_COMPLEX')), 'refused REQUEST_TOO_COMPLEX []'],
    ['422', answer(422, errors('INVALID')), 'refused INVALID []'],
    ['301', answer(301, ''), 'ambiguous http-301 []'],
    ['308', answer(308, ''), 'ambiguous http-308 []'],
    ['500', answer(500, errors('INTERNAL_ERROR')), 'ambiguous http-500 []'],
    ['502', answer(502, html), 'ambiguous http-502 late []'],
    ['503', answer(503, errors('OVER_CAPACITY')), 'ambiguous http-503 []'],
    ['500 of a gateway', answer(500, html), 'ambiguous http-500 late []'],
    ['503 of a gateway', answer(503, 'upstream connect error or disconnect/reset before headers'), 'ambiguous http-503 late []'],
    ['503 without a body', answer(503, ''), 'ambiguous http-503 late []'],
    ['524 of a gateway', answer(524, html), 'ambiguous http-524 late []'],
    ['504', answer(504, html), 'ambiguous http-504 late []'],
    ['Q5: 200 with errors only', answer(200, errors('INVALID_PARAMETER')), 'refused INVALID_PARAMETER []'],
    ['200 with errors and null data', answer(200, { ...errors('X'), data: null }), 'refused X []'],
    [
      '200 with errors beside results',
      answer(200, { ...errors('X'), data: { success_count: 3, total_count: 3 } }),
      'ambiguous errors-beside-results miscounted []',
    ],
    ['Q5: 200 with HTML', answer(200, html, { 'content-type': 'text/html' }), 'ambiguous unreadable-answer []'],
    ['200 with JSON called text', answer(200, { data: [] }, { 'content-type': 'text/plain' }), 'ambiguous unreadable-answer []'],
    [
      '200 in another charset',
      answer(200, { data: [] }, { 'content-type': 'application/json; charset=latin1' }),
      'ambiguous unreadable-answer []',
    ],
    ['200 empty', answer(200, ''), 'ambiguous unreadable-answer []'],
    ['204', answer(204, '', {}), 'ambiguous unreadable-answer []'],
    ['200 with an array', answer(200, []), 'ambiguous unreadable-answer []'],
    ['200 with null', answer(200, 'null'), 'ambiguous unreadable-answer []'],
    ['Q6: 200 cut', answer(200, '{"data":[{"success_cou'), 'ambiguous unreadable-answer []'],
    ['200 with extra bytes', answer(200, '{"data":{"success_count":3,"total_count":3}}{}'), 'ambiguous unreadable-answer []'],
    ['200 with a byte order mark', answer(200, '\uFEFF{"data":{"success_count":3,"total_count":3}}'), 'ambiguous unreadable-answer []'],
    ['200 with bad UTF-8', answer(200, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), 'ambiguous unreadable-answer []'],
    ['200 in gzip unasked', answer(200, Buffer.from([0x1f, 0x8b, 0x08, 0x00])), 'ambiguous unreadable-answer []'],
    ['200 a hundred thousand deep', answer(200, '['.repeat(100_000) + ']'.repeat(100_000)), 'ambiguous unreadable-answer []'],
    [
      '200 with a prototype',
      answer(200, '{"__proto__":{"a":1},"data":{"success_count":3,"total_count":3}}'),
      'ambiguous unreadable-answer []',
    ],
    [
      '200 with doubled keys',
      answer(200, '{"data":{"success_count":1,"success_count":3,"total_count":3}}'),
      'ambiguous unreadable-answer []',
    ],
    [
      '200 of nine megabytes',
      answer(200, `{"data":{"success_count":3,"total_count":3},"x":"${'a'.repeat(9 * 1024 * 1024)}"}`),
      'ambiguous unreadable-answer []',
    ],
  ]
  test.for(rows)('%s', ([, exchange, expected]) => {
    expect(brief(audience.classify(exchange, users, 'upsert'))).toBe(expected)
    expect(brief(doNotReach.classify(exchange, users, 'upsert'))).toBe(expected)
    expect(brief(catalog.classify(exchange, products, 'upsert'))).toBe(expected)
  })
})

describe('counts of users', () => {
  const one = (success: unknown, total: unknown) => ({ data: { success_count: success, total_count: total } })
  const many = (...pairs: readonly (readonly [unknown, unknown])[]) => ({
    data: pairs.map(([success, total]) => ({ success_count: success, total_count: total })),
  })
  const all = 'confirmed confirmed confirmed'
  const wrong = 'ambiguous count_mismatch miscounted []'
  test.for([
    ['(n,n) as one object', one(3, 3), all],
    ['(n,n) as an array of one', many([3, 3]), all],
    ['a result for each operation', many([1, 1], [1, 1], [1, 1]), all],
    ['whitespace in the answer', `{ "data" : { "success_count" : 3, "total_count" : 3 } }`, all],
    ['(n-1,n)', one(2, 3), wrong],
    ['(n,n-1)', one(3, 2), wrong],
    ['(n-1,n-1)', one(2, 2), wrong],
    ['(0,n)', one(0, 3), wrong],
    ['(0,0)', one(0, 0), wrong],
    ['(n+1,n+1)', one(4, 4), 'ambiguous count_mismatch []'],
    ['(n,n+1)', one(3, 4), wrong],
    ['text', one('3', '3'), wrong],
    ['null', one(null, null), wrong],
    ['absent', { data: {} }, wrong],
    ['negative', many([4, 4], [-1, -1]), wrong],
    ['a fraction', many([1.5, 1.5], [1.5, 1.5]), wrong],
    ['an array too short', many([1, 1], [1, 1]), wrong],
    ['an array too long', many([1, 1], [1, 1], [1, 1], [1, 1]), 'ambiguous count_mismatch []'],
    ['right sums of unequal pairs', many([2, 1], [0, 1], [1, 1]), 'ambiguous count_mismatch miscounted [0,1]'],
    ['one operation short', many([1, 1], [0, 1], [1, 1]), 'ambiguous count_mismatch miscounted [1]'],
    ['an empty array', { data: [] }, wrong],
    ['no data', { request: {} }, 'ambiguous wrong-shape miscounted []'],
    ['data as text', { data: 'ok' }, 'ambiguous wrong-shape miscounted []'],
    ['results that are no objects', { data: [3, 3, 3] }, wrong],
  ] as const)('%s', ([, body, expected]) => {
    expect(brief(audience.classify(answer(200, body), users, 'upsert'))).toBe(expected)
    expect(brief(doNotReach.classify(answer(201, body), users, 'delete'))).toBe(expected)
  })

  test.for([
    ['users, not operations, are counted', one(1234, 1234), 'confirmed confirmed'],
    ['a result for each packed operation', many([1000, 1000], [234, 234]), 'confirmed confirmed'],
    ['operations counted', one(2, 2), 'ambiguous count_mismatch []'],
    ['operations counted, one result each', many([1, 1], [1, 1]), 'ambiguous count_mismatch []'],
    ['one user too few', one(1233, 1233), wrong],
    ['the second operation short', many([1000, 1000], [233, 234]), 'ambiguous count_mismatch miscounted [1]'],
  ] as const)('batched operations: %s', ([, body, expected]) => {
    expect(brief(audience.classify(answer(200, body), packed, 'upsert'))).toBe(expected)
  })
})

describe('operation_errors of users', () => {
  const failing = [{ code: 'MISSING_PARAMETER', message: '"users" is a required parameter', parameter: 'users' }]
  test.for([
    ['aligned', 400, { operation_errors: [[], failing, []] }, 'refused MISSING_PARAMETER [1]'],
    ['flat', 400, { operation_errors: [null, null, failing[0]] }, 'refused MISSING_PARAMETER [2]'],
    ['in a 200', 200, { operation_errors: [failing, [], []] }, 'refused MISSING_PARAMETER [0]'],
    [
      'in a 200 beside results',
      200,
      { operation_errors: [failing], data: { success_count: 3, total_count: 3 } },
      'ambiguous errors-beside-results miscounted []',
    ],
    [
      'empty beside results',
      200,
      { operation_errors: [[], [], []], data: { success_count: 3, total_count: 3 } },
      'confirmed confirmed confirmed',
    ],
    ['out of range', 400, { operation_errors: [[], [], [], failing] }, 'refused MISSING_PARAMETER []'],
    ['at all of them', 400, { operation_errors: [failing, failing, failing] }, 'refused MISSING_PARAMETER []'],
    ['of another shape', 400, { operation_errors: 'no' }, 'ambiguous http-400-unreadable miscounted []'],
  ] as const)('%s', ([, status, body, expected]) => {
    expect(brief(audience.classify(answer(status, body), users, 'upsert'))).toBe(expected)
  })
})

describe('responses about products', () => {
  const result = (id: unknown, status: unknown = 'CREATE_SUCCESS', more: object = {}) => ({
    warnings: [],
    errors: [],
    product_key: '77',
    id,
    status,
    ...more,
  })
  const body = (...results: readonly unknown[]) => ({ data: { products_response: results } })
  test.for([
    ['all created', body(result('sku-1'), result('sku-2')), 'confirmed confirmed'],
    ['updated and unchanged', body(result('sku-1', 'UPDATE_SUCCESS'), result('sku-2', 'NO_CHANGE')), 'confirmed confirmed'],
    ['shuffled', body(result('sku-2', 'ERROR', { errors: ['bad'] }), result('sku-1')), 'confirmed refused:ERROR'],
    [
      'refused with a code',
      body(result('sku-1', 'ERROR', { errors: [{ code: 'INVALID_PRICE', message: 'x' }] }), result('sku-2')),
      'refused:INVALID_PRICE confirmed',
    ],
    ['refused without a reason', body(result('sku-1', 'ERROR'), result('sku-2')), 'refused:ERROR confirmed'],
    ['refused with a null key', body(result('sku-1', 'ERROR', { product_key: null }), result('sku-2')), 'refused:ERROR confirmed'],
    ['one missing', body(result('sku-1')), 'confirmed ambiguous:id-missing'],
    ['one doubled', body(result('sku-1'), result('sku-1'), result('sku-2')), 'ambiguous:id-doubled confirmed'],
    ['an alien', body(result('sku-1'), result('sku-9')), 'confirmed ambiguous:id-missing'],
    ['a null id', body(result('sku-1'), result(null)), 'confirmed ambiguous:id-missing'],
    ['an id in other letters', body(result('sku-1'), result('SKU-2')), 'confirmed ambiguous:id-missing'],
    ['an unknown status', body(result('sku-1', 'QUEUED'), result('sku-2', null)), 'ambiguous:unknown-status ambiguous:unknown-status'],
    [
      'success with errors',
      body(result('sku-1', 'CREATE_SUCCESS', { errors: ['bad'] }), result('sku-2')),
      'ambiguous:success-with-errors confirmed',
    ],
    [
      'errors of another shape',
      body(result('sku-1', 'ERROR', { errors: 'bad' }), result('sku-2', 'ERROR', { errors: [7] })),
      'ambiguous:wrong-shape ambiguous:wrong-shape',
    ],
    ['no results', body(), 'ambiguous id-missing miscounted []'],
    ['results that are no objects', body(null, 'sku-1', ['sku-2']), 'ambiguous id-missing miscounted []'],
    ['no list', { data: { products_response: null } }, 'ambiguous wrong-shape miscounted []'],
    ['the list outside of data', { products_response: [] }, 'ambiguous wrong-shape miscounted []'],
    ['an answer about users', { data: { success_count: 2, total_count: 2 } }, 'ambiguous wrong-shape miscounted []'],
  ] as const)('%s', ([, json, expected]) => {
    expect(brief(catalog.classify(answer(200, json), products, 'upsert'))).toBe(expected)
  })

  test('keys and warnings are kept, in both forms of warnings', () => {
    const classified = catalog.classify(
      answer(
        200,
        body(
          result('sku-1', 'NO_CHANGE', { warnings: ['small'] }),
          result('sku-2', 'NO_CHANGE', { warnings: [{ code: 'W', message: 'old' }], product_key: null }),
        ),
      ),
      products,
      'upsert',
    )
    expect(classified).toEqual({
      kind: 'entries',
      entries: [
        { outcome: 'confirmed', remoteKey: '77', warnings: ['small'] },
        { outcome: 'confirmed', warnings: ['old'] },
      ],
    })
  })

  test('a product called __proto__ or constructor is a product like any other', () => {
    const odd = [
      { id: 'constructor', users: 1 },
      { id: 'toString', users: 1 },
    ]
    expect(brief(catalog.classify(answer(200, body(result('constructor'))), odd, 'upsert'))).toBe('confirmed ambiguous:id-missing')
  })
})

describe('responses about deletes of products', () => {
  const body = (...results: readonly unknown[]) => ({ data: { delete_products: results } })
  const gone = (key: unknown) => ({ product_key: key, failed_product_key: null, message: null })
  const failed = (key: unknown, message: unknown = 'not found') => ({ product_key: null, failed_product_key: key, message })
  test.for([
    ['both gone', body(gone('9007199254740993'), gone('100')), 'confirmed confirmed'],
    [
      'a number beyond 2^53 keeps its digits',
      `{"data":{"delete_products":[{"product_key":100},{"product_key":9007199254740993}]}}`,
      'confirmed confirmed',
    ],
    [
      'a neighbour beyond 2^53 is not taken for it',
      `{"data":{"delete_products":[{"product_key":100},{"product_key":9007199254740992}]}}`,
      'confirmed ambiguous:key-missing',
    ],
    ['one failed', body(gone('100'), failed('9007199254740993')), 'confirmed refused:DELETE_FAILED'],
    ['one missing', body(gone('100')), 'confirmed ambiguous:key-missing'],
    ['one doubled', body(gone('100'), gone('100'), gone('9007199254740993')), 'ambiguous:key-doubled confirmed'],
    ['gone and failed', body(gone('100'), failed('100')), 'ambiguous:key-doubled ambiguous:key-missing'],
    [
      'gone and failed in one',
      body({ product_key: '100', failed_product_key: '100', message: 'x' }),
      'ambiguous:key-contradicted ambiguous:key-missing',
    ],
    ['an unset key as an empty text', body({ product_key: '', failed_product_key: '100' }), 'refused:DELETE_FAILED ambiguous:key-missing'],
    ['an unset failed key as an empty text', body({ product_key: '100', failed_product_key: '' }), 'confirmed ambiguous:key-missing'],
    ['nothing', body(), 'ambiguous key-missing miscounted []'],
  ] as const)('%s', ([, json, expected]) => {
    expect(brief(catalog.classify(answer(200, json), keys, 'delete'))).toBe(expected)
  })

  test('a 404 of several keys is split before the destination is paused', () => {
    expect(brief(catalog.classify(answer(404, errors('NOT_FOUND')), keys, 'delete'))).toBe('refused NOT_FOUND []')
    expect(brief(catalog.classify(answer(404, errors('NOT_FOUND')), keys.slice(0, 1), 'delete'))).toBe('pause NOT_FOUND')
  })
})

test('messages of the service are cleaned of digests, addresses, phone numbers and control characters', () => {
  const classified = catalog.classify(
    answer(400, errors('X', `bad ${'ab'.repeat(32)} of\u001b[31m a@example.com +1 202 555 0143 ${'y'.repeat(500)}`)),
    products,
    'upsert',
  )
  expect(classified).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/^bad \[digest\] of \[31m \[email\] \[phone\] y+$/) as unknown,
  })
  expect((classified as { message: string }).message.length).toBeLessThanOrEqual(300)
})

test('each destination has its endpoint', () => {
  const target = { accountId: '18ce54d4x5t', targetId: 'a/b', version: '12' }
  expect(catalog.request({ ...target, accountId: null }, 'upsert')).toMatchObject({
    method: 'PUT',
    path: '/12/product_catalogs/a%2Fb/products',
  })
  expect(catalog.request({ ...target, accountId: null }, 'delete')).toMatchObject({
    method: 'DELETE',
    path: '/12/product_catalogs/a%2Fb/products',
  })
  expect(audience.request(target, 'upsert')).toMatchObject({
    method: 'POST',
    path: '/12/accounts/18ce54d4x5t/custom_audiences/a%2Fb/users',
  })
  expect(doNotReach.request(target, 'delete')).toMatchObject({
    method: 'POST',
    path: '/12/batch/accounts/18ce54d4x5t/do_not_reach_lists/a%2Fb/users',
  })
  expect(catalog.request({ ...target, version: '13' }, 'delete')).toMatchObject({
    path: '/13/product_catalogs/a%2Fb/products',
  })
  expect([catalog.limitClass('delete'), doNotReach.limitClass('delete')]).toEqual(['product_deletes', 'user_lists'])
})

test('each destination has its limits of a request (spec 8)', () => {
  expect(catalog.limits).toEqual({ entries: 25, bytes: 5_000_000 })
  for (const { limits } of [audience, doNotReach]) expect(limits).toEqual({ entries: 2_500, bytes: 5_000_000 })
})
