import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OversizedOperationError, pack, Packer, type PackedBatch } from '../../../src/destinations/requestBodies.ts'

interface Item {
  readonly bytes: Buffer
}

const frame = { open: '{"products":[', close: ']}' }

function packAll(items: readonly Item[], limits: { entries: number; bytes: number }): PackedBatch<Item>[] {
  const packer = new Packer<Item>(frame, limits)
  const batches: PackedBatch<Item>[] = []
  for (const item of items) {
    const finished = packer.add(item)
    if (finished !== undefined) batches.push(finished)
  }
  const last = packer.flush()
  return last === undefined ? batches : [...batches, last]
}

// Text beyond ASCII, so that characters and bytes have different counts.
const itemsArbitrary = fc.array(
  fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => ({ bytes: Buffer.from(JSON.stringify(text)) })),
  { maxLength: 120 },
)
const limitsArbitrary = fc.record({ entries: fc.integer({ min: 1, max: 30 }), bytes: fc.integer({ min: 400, max: 900 }) })

describe('packing', () => {
  test('keeps every item once, in order and within both limits', () => {
    fc.assert(
      fc.property(itemsArbitrary, limitsArbitrary, (items, limits) => {
        const batches = packAll(items, limits)
        expect(batches.flatMap((batch) => batch.items)).toEqual(items)
        for (const batch of batches) {
          expect(batch.items.length).toBeGreaterThan(0)
          expect(batch.items.length).toBeLessThanOrEqual(limits.entries)
          expect(batch.body.length).toBeLessThanOrEqual(limits.bytes)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('makes one JSON value whose slices are the items, with the digest of the whole body', () => {
    fc.assert(
      fc.property(itemsArbitrary, limitsArbitrary, (items, limits) => {
        for (const batch of packAll(items, limits)) {
          expect((JSON.parse(batch.body.toString()) as { products: string[] }).products).toEqual(
            batch.items.map((item) => JSON.parse(item.bytes.toString())),
          )
          batch.items.forEach((item, i) => {
            const at = batch.offsets[i]!
            expect(batch.body.subarray(at, at + batch.lengths[i]!).equals(item.bytes)).toBe(true)
          })
          expect(batch.sha256.equals(createHash('sha256').update(batch.body).digest())).toBe(true)
        }
      }),
    )
  })

  test('makes the same bytes of the same items, also if a whole batch is packed again', () => {
    fc.assert(
      fc.property(itemsArbitrary, limitsArbitrary, (items, limits) => {
        const first = packAll(items, limits)
        const second = packAll(items, limits)
        expect(second.map((batch) => batch.body.toString())).toEqual(first.map((batch) => batch.body.toString()))
        for (const batch of first) expect(pack(batch.items, frame).body.equals(batch.body)).toBe(true)
      }),
    )
  })

  test('ends a batch only if the next item does not fit', () => {
    fc.assert(
      fc.property(itemsArbitrary, limitsArbitrary, (items, limits) => {
        const batches = packAll(items, limits)
        for (let i = 0; i + 1 < batches.length; i++) {
          const batch = batches[i]!
          const next = batches[i + 1]!.items[0]!
          expect(batch.items.length === limits.entries || batch.body.length + 1 + next.bytes.length > limits.bytes).toBe(true)
        }
      }),
    )
  })

  test('rejects an operation that is too large alone, and continues', () => {
    const packer = new Packer<Item>(frame, { entries: 25, bytes: 100 })
    packer.add({ bytes: Buffer.from('"a"') })
    expect(() => packer.add({ bytes: Buffer.alloc(86, 0x20) })).toThrow(OversizedOperationError)
    expect(packer.add({ bytes: Buffer.from('"b"') })).toBeUndefined()
    expect(packer.flush()?.body.toString()).toBe('{"products":["a","b"]}')
  })

  test('accepts an operation that fills a request to the last byte', () => {
    const packer = new Packer<Item>(frame, { entries: 25, bytes: 100 })
    packer.add({ bytes: Buffer.alloc(100 - frame.open.length - frame.close.length, 0x20) })
    expect(packer.flush()?.body.length).toBe(100)
  })
})
