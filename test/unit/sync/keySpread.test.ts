/** Division of a first load into parts by record key. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeySpread } from '../../../src/sync/read/keySpread.ts'

const key = (of: string) => createHash('sha256').update(of).digest().subarray(0, 16)

function partsOf(keys: readonly Buffer[], ends: readonly Buffer[]): number[] {
  const isIn = (one: Buffer, i: number) => {
    const after = ends[i - 1]
    const end = ends[i]
    return (after === undefined || one.compare(after) > 0) && (end === undefined || one.compare(end) <= 0)
  }
  return [...ends.keys(), ends.length].map((i) => keys.filter((one) => isIn(one, i)).length)
}

test('each key is in one part, only a last part may be empty, and no part has more keys than requested', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 300 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 8 }),
      (people, sizes) => {
        const keys = people.map((n) => key(`person ${n}`))
        const spread = new KeySpread()
        for (const one of keys) spread.add(one)
        const ends = spread.cut(sizes)
        const parts = partsOf(keys, ends)
        expect(parts.reduce((sum, n) => sum + n, 0)).toBe(keys.length)
        expect(parts.slice(0, -1).every((n) => n > 0)).toBe(true)
        // A person may be on several rows, which must be in one part.
        const mostOfOne = Math.max(0, ...keys.map((one) => keys.filter((other) => other.equals(one)).length))
        const largest = Math.max(...sizes, 0)
        expect(parts.slice(0, -1).every((n) => n <= Math.max(largest, mostOfOne))).toBe(true)
      },
    ),
  )
})

test('parts of many people are full, except for the people of one prefix', () => {
  const keys = Array.from({ length: 100_000 }, (_, n) => key(`person ${n}`))
  const spread = new KeySpread()
  for (const one of keys) spread.add(one)
  const sizes = [7_500, 15_000, 30_000]
  const parts = partsOf(keys, spread.cut(sizes)).slice(0, -1)
  expect(parts).toEqual([7_500, 15_000, 29_997])
})

test('a size below the number of rows of one person makes no empty part', () => {
  const spread = new KeySpread()
  const keys = ['ann', 'ann', 'ann', 'bob'].map(key)
  for (const one of keys) spread.add(one)
  expect(partsOf(keys, spread.cut([1, 2, 1])).every((n) => n > 0)).toBe(true)
})
