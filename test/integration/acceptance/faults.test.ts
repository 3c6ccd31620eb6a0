/** Every kind of fault, for products and users: the final content is the same as without it, and no rule is broken. */
import { describe, expect, test } from 'vitest'
import { audienceDigest, sha256 } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { imbalance } from '../../support/engine.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { eachWave, people, shop, writesOf } from './targets.ts'

/** A fault with the parameters that make it visible. The service answers again once the fault is over. */
const singles: readonly (readonly [name: string, fault: Record<string, unknown>])[] = [
  ['Q8: counts of nothing', { kind: 'counts' }],
  ['Q8: counts too high', { kind: 'counts', success: 99_999, total: 99_999 }],
  ['Q8: counts of an empty answer', { kind: 'counts', shape: 'empty', apply: 'all' }],
  ['Q8: counts of one too few', { kind: 'counts', success: 'n-1', total: 'n', apply: 'all' }],
  ['Q1: applied, and no byte of the answer came', { kind: 'commit_then_reset' }],
  ['Q1: applied, and the answer truncated', { kind: 'truncate', bytes: 20 }],
  ['Q1: applied, and the last chunk missing', { kind: 'no_chunk_end' }],
  ['Q1: applied, and the answer shorter than its length', { kind: 'wrong_length' }],
  ['Q2: dropped without being applied', { kind: 'close', at: 'after' }],
  ...[500, 502, 503, 504].flatMap((status): [string, Record<string, unknown>][] => [
    [`Q3: ${status}, not applied`, { kind: 'status', status }],
    [`Q3: ${status}, applied`, { kind: 'status', status, apply: 'all', stage: 'after_apply' }],
  ]),
  ['Q4: 429 with seconds to wait', { kind: 'rate_limit', retry_after: 1 }],
  ['Q4: 429 with an unreadable hint', { kind: 'rate_limit', headers: { 'retry-after': 'soon' } }],
  ['Q4: 429 with a hint below zero', { kind: 'rate_limit', headers: { 'retry-after': '-5' } }],
  ['Q4: 429 with a time that has passed', { kind: 'rate_limit', headers: { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' } }],
  ['Q4: 429 after it was applied', { kind: 'status', status: 429, apply: 'all', stage: 'after_apply' }],
  ['Q5: an empty 200', { kind: 'empty' }],
  ['Q5: a 200 of HTML', { kind: 'html' }],
  ['Q5: 204', { kind: 'status', status: 204 }],
  ['Q6: bytes after the answer', { kind: 'extra_bytes' }],
  ['Q6: an answer that is not UTF-8', { kind: 'bad_utf8' }],
  ['Q6: a byte order mark', { kind: 'bom' }],
  ['Q6: a gzip answer', { kind: 'gzip' }],
  ['Q6: a broken gzip answer', { kind: 'gzip_broken' }],
  ['Q6: a gzip bomb', { kind: 'gzip_bomb' }],
  ['Q6: another type of content', { kind: 'wrong_type' }],
  ['Q6: an answer far too large', { kind: 'large', bytes: 40_000_000 }],
  ['Q6: an answer far too deep', { kind: 'deep', depth: 100_000 }],
  ['Q6: repeated keys', { kind: 'doubled_keys' }],
  ['Q6: a key called __proto__', { kind: 'proto' }],
  ['Q7: a result missing', { kind: 'short' }],
  ['Q7: one result too many', { kind: 'long' }],
  ['Q7: results in another order', { kind: 'reorder' }],
  ['Q7: results twice', { kind: 'duplicate_results' }],
  ['Q7 and Q9: results of another request', { kind: 'alien_id' }],
  ['Q7: a result without an id', { kind: 'null_id' }],
  ['Q7: a result without a key', { kind: 'null_key' }],
  ['Q7: an unknown status', { kind: 'unknown_status' }],
  ['Q7: success with errors', { kind: 'success_with_errors' }],
  ['Q10: no answer before the deadline', { kind: 'delay', ms: 900 }],
  ['Q10: an answer that drips past the deadline', { kind: 'slow', bytes_per_s: 40 }],
  ['Q11: warnings', { kind: 'warnings' }],
  ['Q13: another product_key', { kind: 'changed_key' }],
  ...[301, 302, 307, 308].map((status): [string, Record<string, unknown>] => [
    `W10: ${status} instead of an answer`,
    { kind: 'status', status, headers: { location: '/12/elsewhere' } },
  ]),
  ['partial_apply', { kind: 'partial_apply' }],
  ['expire_token', { kind: 'expire_token' }],
  ['W8: reset before the body', { kind: 'reset', at: 'before' }],
  ['W8: reset during the body', { kind: 'reset', at: 'during' }],
  ['W8: reset after the body', { kind: 'reset', at: 'after' }],
]

const ofResults: ReadonlySet<string> = new Set(
  'reorder duplicate_results alien_id null_id null_key unknown_status success_with_errors warnings changed_key'.split(' '),
)
const settings = { httpTimeoutMs: 400, horizonMs: 1_000 }
describe.for([
  ['products', shop],
  ['users', people],
] as const)('%s', ([what, open]) => {
  const playNext = eachWave(open, settings)
  // Answers on products have no counts, and answers on users no single results.
  test.for(singles.filter(([, { kind }]) => (what === 'users' ? !ofResults.has(String(kind)) : kind !== 'counts')))(
    '%s on the first request of a run with creates and deletes: later runs reach the content of the file',
    { tags: ['long'] },
    ([, fault]) =>
      playNext(async ({ engine, target: under, expected, before }) => {
        const { control } = engine.sandbox
        await control.fault({ path: under.path, nth: 1 }, fault)
        // A second 401 in a row means that the credentials are refused.
        if (fault['kind'] !== 'expire_token') await control.fault({ path: under.path, nth: 2 }, fault)
        let report = await engine.run(under.name)
        expect(report.error).toBeUndefined()
        if (what === 'products' && (fault['kind'] === 'partial_apply' || fault['status'] === 429)) {
          // The service refuses each product: the refusals are reported, and the products sent again. A refused delete takes two more runs:
          // one to get the current key, one to delete it (docs/decisions/lost-delete-answers.md). A 429 means that nothing was applied, so an
          // applied delete is refused the second time.
          expect(report.status).toBe('partial')
          expect((await engine.run(under.name)).status).toBe('partial')
          report = await engine.run(under.name)
        }
        expect(report).toMatchObject({ status: 'succeeded', counts: { refused: 0, ambiguous: 0, pending: 0 } })
        expect(imbalance(report.counts)).toEqual([])
        expect((await control.ledger(before)).filter((line) => line.fault === fault['kind']).length, 'the fault was met').toBeGreaterThan(0)
        expect(await under.digest()).toBe(expected)
        expect(await control.violations()).toEqual([])
      }),
  )
})

test(
  'one record that breaks every count is found within 24 extra requests, and all others are confirmed',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    const rows = customers(2_400, 33)
    const failing = rows[1_234]
    if (!failing) throw new Error('a failing')
    engine.pipeline('customers', customersYaml)
    engine.write('crm.csv', crm(rows))
    const [, digest = ''] = failing.identifiers[0] ?? []
    await control.fault({ path: writesOf.audience, contains_key: digest }, { kind: 'counts', success: 0, total: 0 }, 'always')
    const report = await engine.run('customers')
    expect(report.status).toBe('partial')
    expect(imbalance(report.counts)).toEqual([])
    expect(report.counts.confirmed).toBe(report.counts.creates - 1)
    // One request, its repeats until enough answers had wrong counts, and the splits.
    expect(report.counts.requests).toBeLessThanOrEqual(1 + 24)
    expect(await control.violations()).toEqual([])

    // It stays refused and reported, and does not delay new records.
    const more = [...rows, ...customers(10, 34, 9_000)]
    engine.write('crm.csv', crm(more))
    const second = await engine.run('customers')
    expect(second).toMatchObject({ status: 'partial' })
    expect(second.counts.confirmed).toBe(10)
    await control.clearFaults()
    const corrected = await engine.rerun(second.runId, { failedOnly: true })
    expect(corrected).toMatchObject({ status: 'succeeded', trigger: 'rerun' })
    expect((await control.audience()).digest).toBe(audienceDigest(identifiersOf(more)))
  },
)

test('a refused product is reported with its reason; the other products of its request are confirmed', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const under = shop(engine)
  const expected = under.wave(0)
  await control.fault({ path: under.path }, { kind: 'product_error', ids: ['SKU-7'] }, 'always')
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'partial', counts: { creates: 60, refused: 1, confirmed: 59 } })
  const [entry] = await engine.db.query<{ message: string }>(`select message from sluice.entry where outcome = 'refused'`)
  expect(entry?.message).toContain('image_link could not be fetched')
  await control.clearFaults()
  expect(await engine.rerun(report.runId, { failedOnly: true })).toMatchObject({ status: 'succeeded' })
  expect(await under.digest()).toBe(expected)
})

test('refused credentials pause the destination, and the records keep their state', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const under = people(engine)
  const expected = under.wave(0)
  await control.fault({ path: under.path }, { kind: 'expire_token' }, 'always')
  const report = await engine.run('customers')
  expect(report).toMatchObject({ status: 'failed', counts: { refused: 0, confirmed: 0 }, error: { code: 'CREDENTIALS_REFUSED' } })
  expect(report.counts.requests).toBeLessThanOrEqual(2)
  await control.clearFaults()
  expect((await engine.run('customers')).status).toBe('succeeded')
  expect(await under.digest()).toBe(expected)
  expect(sha256(await control.identifiers())).not.toBe(sha256(''))
})
