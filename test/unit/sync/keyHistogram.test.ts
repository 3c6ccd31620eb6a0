/** Division of a first load into parts by record key. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyHistogram } from '../../../src/sync/read/keyHistogram.ts'

const key = (of: string) => createHash('sha256').update(of).digest().subarray(0, 16)

function partsOf(keys: readonly Buffer[], starts: readonly Buffer[]): number[] {
  const isIn = (one: Buffer, i: number) => {
    const from = starts[i - 1]
    const before = starts[i]
    return (from === undefined || one.compare(from) >= 0) && (before === undefined || one.compare(before) < 0)
  }
  return [...starts.keys(), starts.length].map((i) => keys.filter((one) => isIn(one, i)).length)
}

function histogramOf(keys: readonly Buffer[]): KeyHistogram {
  const histogram = new KeyHistogram()
  for (const one of keys) histogram.add(one)
  return histogram
}

test('each key is in one part, only a last part may be empty, and no part has more keys than requested', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 300 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 8 }),
      (people, sizes) => {
        const keys = people.map((n) => key(`person ${n}`))
        const parts = partsOf(keys, histogramOf(keys).partStarts(sizes))
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
  const sizes = [7_500, 15_000, 30_000]
  const parts = partsOf(keys, histogramOf(keys).partStarts(sizes)).slice(0, -1)
  expect(parts).toEqual([7_500, 15_000, 29_997])
})

test('a size below the number of rows of one person makes no empty part', () => {
  const keys = ['ann', 'ann', 'ann', 'bob'].map(key)
  expect(partsOf(keys, histogramOf(keys).partStarts([1, 2, 1])).every((n) => n > 0)).toBe(true)
})

test('steps end where partitions end, and divide a partition with too many people', () => {
  const keys = Array.from({ length: 60_000 }, (_, n) => key(`person ${n}`))
  const histogram = histogramOf(keys)
  const hex = (starts: readonly Buffer[]) => starts.map((start) => start.toString('hex'))
  expect(hex(histogram.stepStarts(16_000, 4))).toEqual(['4000', '8000', 'c000'])
  // If a step is full, it ends within a partition. If it is at least half full, it ends at the end of the partition.
  const divided = histogram.stepStarts(8_000, 4)
  expect(hex(divided)).toContain('8000')
  expect(partsOf(keys, divided).every((n) => n > 0 && n <= 8_000)).toBe(true)
  expect(histogram.stepStarts(60_000, 1)).toEqual([])
})
