import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { IdentifierWatch, sharedBytes } from '../../../src/sync/read/identifierWatch.ts'

const identifier = (n: number, type = 1) => Buffer.concat([Buffer.from([type]), hash('sha256', `p${n}@example.com`, 'buffer')])
const first = (n: number) => identifier(n).subarray(0, sharedBytes)

test('identifiers on several rows are named, however many there are', () => {
  const watch = new IdentifierWatch()
  for (let n = 0; n < 100_000; n++) watch.add([identifier(n), identifier(n + 100_000)], false)
  for (const n of [7, 40_000, 149_999]) watch.add([identifier(n)], false)
  const { mayShare, ...facts } = watch.finish()
  expect(facts).toEqual({ mayHaveTimes: false, areDigests: true })
  const hex = (all: readonly Buffer[] | undefined) => all?.map((bytes) => bytes.toString('hex')).toSorted()
  expect(hex(mayShare)).toEqual(hex([first(7), first(40_000), first(149_999)]))
})

test('equal digests of two types are two identifiers', () => {
  const watch = new IdentifierWatch()
  watch.add([identifier(1, 1), identifier(1, 2)], false)
  expect(watch.finish().mayShare).toEqual([])
})

test('no repeat is missed', () => {
  const watch = new IdentifierWatch()
  for (let n = 0; n < 3_000; n++) watch.add([identifier(n), identifier((n * 7) % 5_000, 2)], false)
  for (let n = 0; n < 3_000; n += 3) watch.add([identifier(n)], false)
  const found = new Set(watch.finish().mayShare?.map((bytes) => bytes.toString('hex')))
  for (let n = 0; n < 3_000; n += 3) expect(found.has(first(n).toString('hex'))).toBe(true)
})

test('times and identifiers that are no digests are noticed', () => {
  const timed = new IdentifierWatch()
  timed.add([identifier(1)], false)
  timed.add([identifier(2)], true)
  expect(timed.finish()).toMatchObject({ mayHaveTimes: true, areDigests: true })
  const partner = new IdentifierWatch()
  partner.add([Buffer.from('\u0006customer-17'), identifier(1)], false)
  expect(partner.finish()).toMatchObject({ mayShare: undefined, areDigests: false })
})

test('beyond its memory any identifier may be shared', () => {
  const watch = new IdentifierWatch(1_000)
  for (let n = 0; n < 1_000; n++) watch.add([identifier(n)], false)
  watch.add([identifier(1_000)], false)
  watch.add([identifier(1)], true)
  expect(watch.finish()).toEqual({ mayShare: undefined, mayHaveTimes: true, areDigests: true })
})
