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

function load({ numbers, gone }: Stored, chunk: number): KnownDigests {
  const known = new KnownDigests(numbers.length)
  for (let from = 0; from < numbers.length; from += chunk) {
    const part = numbers.slice(from, from + chunk)
    const digests = Int32Array.from(part.flatMap((n) => [...digestOf(n)]))
    known.add(
      from / chunk,
      new Uint8Array(digests.buffer),
      gone.flatMap((i) => (i >= from && i < from + chunk ? [i - from] : [])),
    )
  }
  return known
}

test('known digests, in any order and repeated, against a map', () => {
  fc.assert(
    fc.property(stored, fc.array(fc.nat({ max: 70 })), fc.integer({ min: 1, max: 20 }), (given, asked, chunk) => {
      const known = load(given, chunk)
      const oracle = new Map(given.numbers.flatMap((n, i) => (given.gone.includes(i) ? [] : [[n, i] as const])))
      const ticked = new Set<number>()
      for (const n of asked) {
        const i = known.find(digestOf(n))
        expect(i).toBe(oracle.get(n) ?? -1)
        if (i === -1) continue
        expect(known.tick(i)).toBe(!ticked.has(i))
        ticked.add(i)
      }
      const unseen = known.unseen().flatMap((entry) => entry.positions.map((position) => entry.chunk * chunk + position))
      expect(unseen).toEqual([...oracle.values()].filter((i) => !ticked.has(i)).sort((a, b) => a - b))
    }),
    { numRuns: 2_000 },
  )
})
