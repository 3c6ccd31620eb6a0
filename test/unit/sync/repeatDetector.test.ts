import { hash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RepeatDetector } from '../../../src/sync/read/repeatDetector.ts'

function mayRepeat(keys: readonly Buffer[]): boolean {
  const detector = new RepeatDetector()
  for (const key of keys) detector.add(key)
  return detector.finish()
}

test('reports a repeated key at any place', () => {
  const keys = fc.uniqueArray(
    fc.string({ maxLength: 12 }).map((text) => Buffer.from(text)),
    { selector: String, maxLength: 200 },
  )
  fc.assert(
    fc.property(keys, fc.nat(), (unique, pick) => {
      expect(mayRepeat(unique)).toBe(false)
      const again = unique[pick % Math.max(unique.length, 1)]
      if (again !== undefined) expect(mayRepeat([...unique, Buffer.from(again)])).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('accepts 100,000 keys of both types, and reports each repeat', { timeout: 60_000 }, () => {
  for (const keyOf of [
    (i: number) => Buffer.from(`SKU-${i}`),
    (i: number) => Buffer.from(hash('sha256', `customer ${i}`, 'buffer').subarray(0, 16)),
  ]) {
    const keys = Array.from({ length: 100_000 }, (_, i) => keyOf(i))
    expect(mayRepeat(keys)).toBe(false)
    for (const i of [0, 1, 50_000, 99_999]) expect(mayRepeat([...keys, keyOf(i)])).toBe(true)
  }
})
