import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KnownDigests } from '../../../src/sync/read/knownDigests.ts'

const digestOf = (n: number) => Int32Array.of(n, n * 3, 7, n === 0 ? 1 : 0)

interface Stored {
  readonly numbers: readonly number[]
  readonly gone: readonly number[]
}

const stored = fc
  .uniqueArray(fc.nat({ max: 60 }), { maxLength: 40 })
  .chain((numbers) => fc.record({ numbers: fc.constant(numbers), gone: fc.subarray(numbers.map((_, i) => i)) }))

function load({ numbers, gone }: Stored, chunk: number, everywhere: boolean): KnownDigests {
  const known = new KnownDigests(numbers.length, { everywhere })
  for (let from = 0; from < numbers.length; from += chunk) {
    const part = numbers.slice(from, from + chunk)
    const digests = Int32Array.from(part.flatMap((n) => [...digestOf(n)]))
    known.add(
      from / chunk,
      new Uint8Array(digests.buffer),
      Uint8Array.from(part.flatMap((n) => [n >> 2, n & 3])),
      gone.flatMap((i) => (i >= from && i < from + chunk ? [i - from] : [])),
    )
  }
  return known
}

test('finds the same digests as a map, in any order and repeated', () => {
  fc.assert(
    fc.property(stored, fc.array(fc.nat({ max: 70 })), fc.integer({ min: 1, max: 20 }), (given, asked, chunk) => {
      const known = load(given, chunk, true)
      const oracle = new Map(given.numbers.flatMap((n, i) => (given.gone.includes(i) ? [] : [[n, i] as const])))
      const ticked = new Set<number>()
      for (const n of asked) {
        const i = known.find(digestOf(n))
        expect(i).toBe(oracle.get(n) ?? -1)
        if (i === -1) continue
        expect(known.markSeen(i)).toBe(!ticked.has(i))
        ticked.add(i)
      }
      const unseen = known.unseen().flatMap((entry) => entry.positions.map((position) => entry.chunk * chunk + position))
      expect(unseen).toEqual([...oracle.values()].filter((i) => !ticked.has(i)).sort((a, b) => a - b))
    }),
    { numRuns: 2_000 },
  )
})

/** Large enough that one in 32 of them is a few. */
const many = { numbers: Array.from({ length: 3_200 }, (_, i) => i), gone: [] }

test('a few new records among known ones need no table, and a moved record may count as new', () => {
  const known = load(many, 500, false)
  const before = Array.from({ length: 20 }, (_, i) => i)
  // 25 and 27 are swapped, 10,000 is new.
  const asked = [...before, 20, 21, 10_000, 22, 23, 24, 27, 26, 25, 28]
  expect(asked.map((n) => known.find(digestOf(n)))).toEqual([...before, 20, 21, -1, 22, 23, 24, 27, -1, -1, 28])
})

/** All records in groups, each in the order of the file. */
const interleaved = (groups: number) =>
  Array.from({ length: groups }, (_, group) => many.numbers.filter((n) => (n * 7) % groups === group)).flat()

test.each([2, 16])('finds every record of %i groups that each have the order of the file', (groups) => {
  const numbers = interleaved(groups)
  const known = load({ numbers, gone: [] }, 3_200 / groups, false)
  const at = new Map(numbers.map((n, i) => [n, i]))
  const asked = many.numbers.filter((n) => n % 10 !== 3)
  expect(asked.map((n) => known.find(digestOf(n)))).toEqual(asked.map((n) => at.get(n)))
})

test('finds changed records that an earlier read appended', () => {
  const isChanged = (n: number) => n % 100 === 0
  const numbers = [...many.numbers, ...many.numbers.filter(isChanged).map((n) => n + 10_000)]
  const known = load({ numbers, gone: many.numbers.filter(isChanged) }, 3_200, false)
  const file = many.numbers.map((n) => (isChanged(n) ? n + 10_000 : n))
  expect(file.map((n) => known.find(digestOf(n)))).not.toContain(-1)
})

test('finds records of more groups than it remembers', () => {
  const numbers = interleaved(64)
  const known = load({ numbers, gone: [] }, 50, false)
  const at = new Map(numbers.map((n, i) => [n, i]))
  const found = many.numbers.map((n) => known.find(digestOf(n)))
  for (const [n, i] of found.entries()) expect([at.get(n), -1]).toContain(i)
  expect(found.slice(1_000)).not.toContain(-1)
})

test('finds all records of a file in another order, after its first records', () => {
  const known = load(many, 500, false)
  const found = many.numbers.toReversed().map((n) => known.find(digestOf(n)))
  const taken = found.filter((i) => i === -1).length
  expect(taken).toBeLessThanOrEqual(100)
  expect(found.slice(200)).toEqual(many.numbers.toReversed().slice(200))
})

test('skips a removed part of the file', () => {
  const known = load(many, 500, false)
  const rest = many.numbers.slice(1_000)
  expect(rest.map((n) => known.find(digestOf(n))).filter((i) => i === -1).length).toBeLessThanOrEqual(64)
  expect(known.find(digestOf(10_000))).toBe(-1)
})

test('counts a doubtful record as new, never as another record', () => {
  fc.assert(
    fc.property(stored, fc.array(fc.nat({ max: 70 })), (given, asked) => {
      const known = load(given, 7, false)
      const oracle = new Map(given.numbers.flatMap((n, i) => (given.gone.includes(i) ? [] : [[n, i] as const])))
      for (const n of asked) expect([-1, oracle.get(n) ?? -1]).toContain(known.find(digestOf(n)))
    }),
  )
})
