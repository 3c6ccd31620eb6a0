import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { FrequentDigests } from '../../../../src/mapping/statistics/frequentDigests.ts'
import { hashIdentifier, packPlain } from '../../../../src/mapping/identifiers/packIdentifier.ts'

/** Counts of the kept values, highest first. */
const countsOf = (frequent: FrequentDigests) =>
  frequent
    .entries()
    .map(([, count]) => count)
    .toSorted((a, b) => b - a)

describe('the most frequent identifiers', () => {
  test('are counted exactly as long as all of them fit', () => {
    const frequent = new FrequentDigests(64)
    for (let n = 0; n < 60; n++) for (let i = 0; i <= n; i++) frequent.add(hashIdentifier('email', `person${n}@example.com`))
    expect(countsOf(frequent)).toEqual(Array.from({ length: 60 }, (_, n) => 60 - n))
    expect(countsOf(frequent).filter((count) => count > 50)).toHaveLength(10)
  })

  test('are kept among many others, and never counted too often', () => {
    const frequent = new FrequentDigests(64)
    for (let n = 0; n < 20_000; n++) {
      frequent.add(hashIdentifier('email', `person${n}@example.com`))
      if (n % 4 === 0) frequent.add(hashIdentifier('phone_number', '+14155550100'))
    }
    const [most = 0] = countsOf(frequent)
    expect(most).toBeLessThanOrEqual(5_000)
    // By the algorithm of Misra and Gries, a count is too low by at most one for every 65 identifiers.
    expect(most).toBeGreaterThanOrEqual(5_000 - Math.ceil(25_000 / 65))
  })

  test('differ by type, and plain ones by their last character', () => {
    const frequent = new FrequentDigests(64)
    frequent.add(hashIdentifier('email', 'a'))
    frequent.add(hashIdentifier('phone_number', 'a'))
    for (const end of ['1', '2', '3']) frequent.add(packPlain(`customer-number-${hash('md5', 'x')}-${end}`))
    expect(countsOf(frequent)).toEqual([1, 1, 1, 1, 1])
    // These have the length of a digest.
    const ids = new FrequentDigests(64)
    for (const end of ['1', '2', '3']) ids.add(packPlain(`customer${'0'.repeat(23)}${end}`))
    expect(countsOf(ids)).toEqual([1, 1, 1])
  })
})
