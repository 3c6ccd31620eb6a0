import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { confirmsEveryUser } from '../../../src/destinations/confirmationScan.ts'
import { isObject, parseAnswer, readCount } from '../../../src/destinations/json.ts'

/** Oracle: reads the same proof from the parsed body. */
function parserConfirms(body: Buffer, users: number): boolean {
  const parsed = parseAnswer(body)
  if (!isObject(parsed) || parsed['errors'] !== undefined || parsed['operation_errors'] !== undefined) return false
  const { data } = parsed
  const results = Array.isArray(data) ? data : [data]
  const counts = results.map((result) => (isObject(result) ? [readCount(result['success_count']), readCount(result['total_count'])] : []))
  return (
    counts.length > 0 &&
    counts.every(([success, total]) => success !== undefined && success === total) &&
    counts.reduce((sum, [success]) => sum + (success ?? 0), 0) === users
  )
}

const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
const result = (users: number, total = users) => ({ success_count: users, total_count: total })
const ones = (count: number) => Array.from({ length: count }, () => result(1))
const echo = Array.from({ length: 5 }, () => ({ params: { account_id: '18ce54d4x5t' }, operation_type: 'Update' }))

describe('a response that confirms every user', () => {
  test.for([
    ['a result per operation', { request: echo, data: ones(5) }, 5],
    ['results of packed operations', { data: [result(1_000), result(234)] }, 1_234],
    ['one object', { request: { params: {} }, data: result(7) }, 7],
    ['results first, then the echo', { data: [result(2)], request: echo, total_count: 1 }, 2],
    ['2,500 results', { data: ones(2_500) }, 2_500],
    ['six results, whose copies do not come in a power of two', { data: [...ones(6), result(3)] }, 9],
  ] as const)('%s', ([, body, users]) => {
    expect(confirmsEveryUser(bytes(body), users)).toBe(true)
    expect(parserConfirms(bytes(body), users)).toBe(true)
  })
})

describe('a response that only the parser can read', () => {
  test.for([
    ['too few', { data: ones(4) }],
    ['too many', { data: ones(6) }],
    ['unequal counts', { data: [...ones(4), result(1, 2)] }],
    ['errors beside results', { data: ones(5), errors: [] }],
    ['errors of operations', { operation_errors: [], data: ones(5) }],
    ['no results', { data: [] }],
    ['no data', { request: {} }],
    ['another member in a result', { data: [...ones(4), { ...result(1), id: 1 }] }],
    ['counts in another order', { data: [...ones(4), { total_count: 1, success_count: 1 }] }],
    ['a count as text', { data: [...ones(4), { success_count: '1', total_count: '1' }] }],
    ['data twice', '{"data":[{"success_count":5,"total_count":5}],"data":[{"success_count":5,"total_count":5}]}'],
    ['a doubled key in the echo', '{"request":[{"a":1,"a":1}],"data":{"success_count":5,"total_count":5}}'],
    ['an escaped key that is errors', '{"data":{"success_count":5,"total_count":5},"\\u0065rrors":[1]}'],
    ['a fraction', '{"data":{"success_count":5.0,"total_count":5.0}}'],
    ['a leading zero', '{"data":{"success_count":05,"total_count":05}}'],
    ['a minus', '{"data":{"success_count":-5,"total_count":-5}}'],
    ['a comma too many', '{"data":[{"success_count":5,"total_count":5},]}'],
    ['no end', '{"data":{"success_count":5,"total_count":5}'],
    ['more behind the end', '{"data":{"success_count":5,"total_count":5}}{}'],
    ['a space', '{"data": {"success_count":5,"total_count":5}}'],
    ['a prototype', '{"__proto__":{},"data":{"success_count":5,"total_count":5}}'],
    ['a control character', '{"request":"\u0001","data":{"success_count":5,"total_count":5}}'],
    ['text beyond ASCII', '{"request":"\u00e9","data":{"success_count":5,"total_count":5}}'],
    ['nested too deeply', `{"request":${'['.repeat(40)}${']'.repeat(40)},"data":{"success_count":5,"total_count":5}}`],
    ['a bare list', ones(5)],
    ['nothing', ''],
  ] as const)('%s', ([, body]) => {
    expect(confirmsEveryUser(bytes(body), 5)).toBe(false)
  })
})

describe('the scan compared with the parser', () => {
  /** Compact answers, and the same with a few bytes changed, doubled or removed. */
  const honest = fc.record(
    {
      request: fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(echo)),
      data: fc.oneof(
        fc.array(
          fc.nat(3).map((users) => result(users)),
          { maxLength: 8 },
        ),
        fc.nat(9).map((users) => result(users)),
      ),
      errors: fc.constantFrom(undefined, undefined, undefined, undefined, [], [{ code: 'X' }], null),
      total_count: fc.nat(),
    },
    { requiredKeys: ['data'] },
  )
  const edit = fc.record({
    at: fc.nat(400),
    remove: fc.nat(3),
    insert: fc.constantFrom('', '0', '1', ',', '"', '{', '}', '[', ']', ':', ' ', 'e', '\\', '-', '.'),
  })

  test('never accepts what the parser does not accept', () => {
    let accepted = 0
    fc.assert(
      fc.property(honest, fc.array(edit, { maxLength: 2 }), fc.nat(12), (body, edits, guess) => {
        let text = JSON.stringify(body)
        for (const { at, remove, insert } of edits)
          text = text.slice(0, at % (text.length + 1)) + insert + text.slice((at % (text.length + 1)) + remove)
        const sum = [body.data].flat().reduce((all, one) => all + one.success_count, 0)
        for (const users of [guess, sum]) {
          if (!confirmsEveryUser(Buffer.from(text), users)) continue
          accepted++
          expect(parserConfirms(Buffer.from(text), users), text).toBe(true)
        }
      }),
      { numRuns: 3_000 },
    )
    expect(accepted).toBeGreaterThan(200)
  })
})
