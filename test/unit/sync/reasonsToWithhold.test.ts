/** Every limit of the delete guards (docs/guarantees.md). */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { enoughConfirmed, reasonsToWithhold, guardResultOfRejects, type GuardFacts } from '../../../src/sync/plan/reasonsToWithhold.ts'

const guards = { minRows: 1, maxDeleteCount: 10, maxDeletePercent: 10, maxRejectPercent: 50 }
const calm: GuardFacts = {
  pipeline: 'shop',
  guards,
  valid: 1_000,
  previousValid: 1_000,
  fallenSources: [],
  lostIds: undefined,
  suppressed: 0,
  read: 1_000,
  rejected: 0,
  deletes: 0,
  outOfStock: 0,
  allowedBefore: 0,
  identifierOnlyDeletes: 0,
  noun: 'products',
  confirmed: 1_000,
  incompleteReason: undefined,
  fromUnprovenPipe: false,
  approveDeletes: undefined,
  backfillCommand: undefined,
  ignoresMissing: false,
  examples: ['SKU-1'],
}
const codes = (facts: Partial<GuardFacts>) =>
  reasonsToWithhold({ ...calm, ...facts })
    .map(({ code }) => code)
    .join(' ')

test.for([
  [{ deletes: 1 }, 'GUARD_IDS_LOST'],
  [{ deletes: 0 }, ''],
  [{ deletes: 1, allowedBefore: 1 }, ''],
  [{ deletes: 1, approveDeletes: 1 }, ''],
  [{ deletes: 1, ignoresMissing: true }, ''],
] as const)('after more rows without a readable id, %o withholds: %s', ([facts, expected]) => {
  expect(codes({ ...facts, lostIds: { before: 0, now: 1 } })).toBe(expected)
})

test('counts confirmed records only as far as necessary', () => {
  let held = 0
  const percent = fc.oneof(
    fc.nat(100),
    fc.double({ min: 0, max: 100, noNaN: true }).map((value) => Math.round(value * 10) / 10),
  )
  // Near the percentage, where one record makes a difference.
  const near = fc.tuple(fc.integer({ min: 11, max: 3_000 }), percent, fc.integer({ min: -2, max: 2 }))
  fc.assert(
    fc.property(near, ([deletes, maxDeletePercent, off]) => {
      const edge = maxDeletePercent === 0 ? 1_000_000 : Math.round((deletes * 100) / maxDeletePercent)
      const confirmed = Math.min(Math.max(deletes, edge + off), 10_000_000)
      const facts = { ...calm, deletes, guards: { ...guards, maxDeletePercent } }
      const whole = reasonsToWithhold({ ...facts, confirmed })
      held += whole.length
      expect(
        reasonsToWithhold({ ...facts, confirmed: Math.min(confirmed, enoughConfirmed(deletes, maxDeletePercent) ?? confirmed) }),
      ).toEqual(whole)
    }),
    { numRuns: 5_000 },
  )
  expect(held).toBeGreaterThan(100)
})

test.for([
  [0, 'deleted'],
  [10, 'deleted or set out of stock'],
  [50, 'set out of stock'],
] as const)('the message on 50 deletes, of which %i set products out of stock, says that they are %s', ([outOfStock, what]) => {
  const messageOf = (facts: Partial<GuardFacts>) =>
    reasonsToWithhold({ ...calm, deletes: 50, outOfStock, confirmed: 100, ...facts })[0]?.message
  expect(messageOf({})).toBe(`50 of 100 synced products would be ${what} (50.0 %), over both limits (10 products and 10 %)`)
  expect(messageOf({ valid: 0 })).toMatch(new RegExp(`: nothing is ${what}$`))
  expect(messageOf({ incompleteReason: 'cut' })).toBe(`the end of the source is not proven (cut): nothing is ${what}`)
  expect(reasonsToWithhold({ ...calm, deletes: 50, outOfStock, confirmed: 100 })[0]?.outOfStock ?? 0).toBe(outOfStock)
})

describe('deletes', () => {
  test.for<[name: string, facts: Partial<GuardFacts>, codes: string]>([
    ['none', {}, ''],
    ['10 of 20: at the count, whatever the percent', { deletes: 10, confirmed: 20, valid: 10, previousValid: 19 }, ''],
    ['11 of 110: at the percent exactly', { deletes: 11, confirmed: 110 }, ''],
    ['11 of 109: above both', { deletes: 11, confirmed: 109 }, 'GUARD_DELETES'],
    ['99 of 1,000: 9.9 %', { deletes: 99 }, ''],
    ['100 of 1,000: 10 %', { deletes: 100 }, ''],
    ['101 of 1,000: 10.1 %', { deletes: 101 }, 'GUARD_DELETES'],
    ['11 with nothing confirmed', { deletes: 11, confirmed: 0 }, 'GUARD_DELETES'],
    ['rows that a list takes away are no fall', { valid: 499, suppressed: 1, deletes: 1 }, ''],
    ['rows that fell by half beside one that a list takes away', { valid: 498, suppressed: 1, deletes: 1 }, 'GUARD_ROWS_FELL'],
    ['no valid row', { valid: 0, deletes: 3, previousValid: 3 }, 'GUARD_MIN_ROWS'],
    ['no valid row and nothing to delete', { valid: 0, previousValid: undefined }, 'GUARD_MIN_ROWS'],
    ['one valid row, as many as min_rows', { valid: 1, deletes: 3, previousValid: 4 }, ''],
    ['fewer than a higher min_rows', { valid: 499, deletes: 3, guards: { ...guards, minRows: 500 } }, 'GUARD_MIN_ROWS'],
    ['rows fell by half exactly', { valid: 10, previousValid: 20, deletes: 10, confirmed: 20 }, ''],
    ['rows fell by more than half', { valid: 9, previousValid: 20, deletes: 5, confirmed: 1_000 }, 'GUARD_ROWS_FELL'],
    ['rows fell, but there were fewer than 20', { valid: 9, previousValid: 19, deletes: 5 }, ''],
    ['rows fell, but nothing would be deleted', { valid: 9, previousValid: 20 }, ''],
    ['rows of one source fell', { fallenSources: [{ uri: 'b.csv', before: 15, now: 0 }], deletes: 5 }, 'GUARD_ROWS_FELL'],
    ['rows of one source fell, but nothing would be deleted', { fallenSources: [{ uri: 'b.csv', before: 15, now: 0 }] }, ''],
    ['rows of one source fell, approved', { fallenSources: [{ uri: 'b.csv', before: 15, now: 0 }], deletes: 5, approveDeletes: 5 }, ''],
    ['above both, and rows fell', { valid: 100, deletes: 900 }, 'GUARD_DELETES GUARD_ROWS_FELL'],
    ['end not proven', { incompleteReason: 'no closing element', deletes: 1 }, 'GUARD_INCOMPLETE'],
    ['end not proven, and nothing to delete', { incompleteReason: 'no closing element' }, 'GUARD_INCOMPLETE'],
    ['end of a pipe not proven, and nothing to delete', { incompleteReason: 'a pipe', fromUnprovenPipe: true }, ''],
    ['end of a pipe not proven', { incompleteReason: 'a pipe', fromUnprovenPipe: true, deletes: 1 }, 'GUARD_INCOMPLETE'],
    ['end not proven, no row', { incompleteReason: 'no closing element', valid: 0, deletes: 1 }, 'GUARD_MIN_ROWS GUARD_INCOMPLETE'],
    ['approved exactly', { deletes: 900, valid: 100, approveDeletes: 900 }, ''],
    ['approved one too few', { deletes: 900, approveDeletes: 899 }, 'GUARD_DELETES'],
    ['approval is no word on min_rows', { deletes: 3, valid: 0, approveDeletes: 3 }, 'GUARD_MIN_ROWS'],
    ['approval is no proof of the end', { deletes: 3, incompleteReason: 'cut', approveDeletes: 3 }, 'GUARD_INCOMPLETE'],
    ['approval of nothing', { deletes: 101, approveDeletes: 0 }, 'GUARD_DELETES'],
    ['11 of 109, of which one was approved before', { deletes: 11, allowedBefore: 1, confirmed: 109 }, ''],
    ['900, all approved before', { deletes: 900, allowedBefore: 900, valid: 100 }, ''],
    ['900 approved before and 101 more', { deletes: 1_001, allowedBefore: 900 }, 'GUARD_DELETES'],
    ['101 more than were approved before, approved now', { deletes: 1_001, allowedBefore: 900, approveDeletes: 101 }, ''],
    ['an earlier approval does not cover min_rows', { deletes: 3, allowedBefore: 3, valid: 0 }, 'GUARD_MIN_ROWS'],
    ['an earlier approval does not prove the end', { deletes: 3, allowedBefore: 3, incompleteReason: 'cut' }, 'GUARD_INCOMPLETE'],
    ['101 identifiers of rows that stay', { deletes: 101, identifierOnlyDeletes: 101, noun: 'people' }, 'GUARD_IDENTIFIERS'],
    ['60 people who leave and 60 who lose identifiers: each below', { deletes: 120, identifierOnlyDeletes: 60, noun: 'people' }, ''],
    ['101 of each', { deletes: 202, identifierOnlyDeletes: 101, noun: 'people' }, 'GUARD_DELETES GUARD_IDENTIFIERS'],
    ['101 of each, approved together', { deletes: 202, identifierOnlyDeletes: 101, approveDeletes: 202 }, ''],
    ['a source that deletes no missing rows needs no rows', { valid: 0, ignoresMissing: true, previousValid: 100 }, ''],
  ])('%s', ([, facts, expected]) => {
    expect(codes(facts)).toBe(expected)
  })

  test('has the number of withheld deletes and the command that approves them', () => {
    expect(reasonsToWithhold({ ...calm, deletes: 101 })).toEqual([
      {
        code: 'GUARD_DELETES',
        message: expect.stringContaining('101 of 1,000') as string,
        hint: 'sluice run shop --approve-deletes 101',
        withheld: 101,
        examples: ['SKU-1'],
      },
    ])
  })

  test('of a backfill repeats the backfill with a setting, because no run has its deletes', () => {
    const [result] = reasonsToWithhold({ ...calm, deletes: 101, backfillCommand: 'sluice backfill shop --source -' })
    expect(result).toMatchObject({
      hint: 'set guards: { max_delete_count: 101 } in the pipeline and sluice backfill shop --source -',
      ofBackfill: true,
    })
  })

  test('names the columns that may have left out every row, or else the source', () => {
    const [optedOut, rejected, empty] = [{}, { rejected: 1_000 }, { read: 0 }].map(
      (facts) => reasonsToWithhold({ ...calm, valid: 0, ...facts })[0],
    )
    expect(optedOut?.message).toBe('0 of 1,000 rows are valid, fewer than min_rows 1: nothing is deleted')
    expect(optedOut?.hint).toBe(
      'compare the cells of the consent and filter columns with those in the pipeline: sluice check shop; if all are right, set guards.min_rows there',
    )
    expect([rejected?.hint, empty?.hint]).toEqual(
      Array(2).fill('check the source; if it is right, set guards.min_rows in the pipeline and sluice check shop'),
    )
  })

  test('names a proof for an unproven end: a trailer row for a pipe', () => {
    const hints = [true, false].map(
      (fromUnprovenPipe) => reasonsToWithhold({ ...calm, incompleteReason: 'cut', deletes: 1, fromUnprovenPipe })[0]?.hint,
    )
    expect(hints[0]).toContain('source.complete: { trailer: "#rows={n}" }')
    expect(hints[0]).not.toContain('sluice run')
    expect(hints[1]).toMatch(/^sluice run shop {3}\(/)
  })

  test('no approved number overrides min_rows', () => {
    for (let approveDeletes = 0; approveDeletes < 50; approveDeletes++)
      expect(codes({ valid: 0, deletes: 20, approveDeletes })).toBe('GUARD_MIN_ROWS')
  })
})

describe('rejects', () => {
  test.for([
    [0, 0, undefined],
    [1, 2, undefined],
    [50, 100, undefined],
    [51, 100, 'GUARD_REJECTS'],
    [1, 1, 'GUARD_REJECTS'],
  ] as const)('%i of %i rows', ([rejected, read, code]) => {
    const result = guardResultOfRejects({ guards, rejected, read, pipeline: 'shop', run: 'r_7' })
    expect([result?.code, result?.hint]).toEqual([code, code === undefined ? undefined : 'sluice rejects r_7'])
  })

  test.for([
    [{ rejected: 5, filtered: 900 }, undefined],
    [{ rejected: 60, filtered: 900 }, '60 of 100 rows that the filters keep were rejected (60.0 %), above 50 %'],
    [{ rejected: 600, filtered: 300 }, '600 of 1,000 rows were rejected (60.0 %), above 50 %'],
    [{ rejected: 0, filtered: 1_000 }, undefined],
  ] as const)('%o of 1,000 rows', ([facts, message]) => {
    expect(guardResultOfRejects({ guards, read: 1_000, ...facts, pipeline: 'shop' })?.message).toBe(message)
  })

  test.for(['ROW_RAGGED', 'TEXT_BROKEN', 'JOIN_ROW_MISSING', 'PRODUCT_ROW_MISSING'])(
    '%s counts only among all rows: no filter may have been applied',
    (code) => {
      const facts = { guards, read: 1_000, rejected: 60, filtered: 920, pipeline: 'shop' }
      expect(guardResultOfRejects({ ...facts, codes: [{ code, count: 55 }] })).toBeUndefined()
      expect(guardResultOfRejects({ ...facts, codes: [{ code, count: 5 }] })?.message).toContain('55 of 75 rows')
    },
  )
})
