import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { IdentifierFactsCollector, comparedBytes } from '../../../src/sync/read/identifierFacts.ts'

const identifier = (n: number, type = 1) => Buffer.concat([Buffer.from([type]), hash('sha256', `p${n}@example.com`, 'buffer')])
const first = (n: number) => identifier(n).subarray(0, comparedBytes)

test('identifiers on several rows are reported, for any number of them', () => {
  const collector = new IdentifierFactsCollector()
  for (let n = 0; n < 100_000; n++) collector.add([identifier(n), identifier(n + 100_000)], false)
  for (const n of [7, 40_000, 149_999]) collector.add([identifier(n)], false)
  const { maybeSharedPrefixes, ...facts } = collector.finish()
  expect(facts).toEqual({ mayHaveTimes: false, areDigests: true })
  const hex = (all: readonly Buffer[] | undefined) => all?.map((bytes) => bytes.toString('hex')).toSorted()
  expect(hex(maybeSharedPrefixes)).toEqual(hex([first(7), first(40_000), first(149_999)]))
})

test('equal digests of two types are two identifiers', () => {
  const collector = new IdentifierFactsCollector()
  collector.add([identifier(1, 1), identifier(1, 2)], false)
  expect(collector.finish().maybeSharedPrefixes).toEqual([])
})

test('no repeat is missed', () => {
  const collector = new IdentifierFactsCollector()
  for (let n = 0; n < 3_000; n++) collector.add([identifier(n), identifier((n * 7) % 5_000, 2)], false)
  for (let n = 0; n < 3_000; n += 3) collector.add([identifier(n)], false)
  const found = new Set(collector.finish().maybeSharedPrefixes?.map((bytes) => bytes.toString('hex')))
  for (let n = 0; n < 3_000; n += 3) expect(found.has(first(n).toString('hex'))).toBe(true)
})

test('detects times, and identifiers that are not digests', () => {
  const timed = new IdentifierFactsCollector()
  timed.add([identifier(1)], false)
  timed.add([identifier(2)], true)
  expect(timed.finish()).toMatchObject({ mayHaveTimes: true, areDigests: true })
  const partner = new IdentifierFactsCollector()
  partner.add([Buffer.from('\u0006customer-17'), identifier(1)], false)
  expect(partner.finish()).toMatchObject({ maybeSharedPrefixes: undefined, areDigests: false })
})

test('beyond its log no repeat is missed, and few others are reported', () => {
  const collector = new IdentifierFactsCollector(1_000)
  for (let n = 0; n < 200_000; n++) collector.add([identifier(n)], false)
  const repeated = [1, 999, 1_000, 1_001, 150_000, 199_999]
  for (const n of repeated) collector.add([identifier(n)], true)
  const { maybeSharedPrefixes = [], ...facts } = collector.finish()
  expect(facts).toEqual({ mayHaveTimes: true, areDigests: true })
  const found = maybeSharedPrefixes.map((bytes) => bytes.toString('hex'))
  for (const n of repeated) expect(found).toContain(first(n).toString('hex'))
  expect(found.length).toBeLessThan(repeated.length + 10)
})

test('repeats within the log are found when a filter takes its place', () => {
  const collector = new IdentifierFactsCollector(5_000)
  for (let n = 0; n < 2_500; n++) collector.add([identifier(n)], false)
  for (let n = 0; n < 2_500; n++) collector.add([identifier(n), identifier(10_000 + n)], false)
  const found = new Set(collector.finish().maybeSharedPrefixes?.map((bytes) => bytes.toString('hex')))
  for (let n = 0; n < 2_500; n++) expect(found.has(first(n).toString('hex'))).toBe(true)
})

test('any identifier may be shared if very many are', () => {
  const collector = new IdentifierFactsCollector(50_000)
  for (let n = 0; n < 100_001; n++) collector.add([identifier(n), identifier(n)], false)
  expect(collector.finish()).toEqual({ maybeSharedPrefixes: undefined, mayHaveTimes: false, areDigests: true })
})
