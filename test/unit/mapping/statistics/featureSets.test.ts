import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSourceStatistics } from '../../../../src/mapping/statistics/sourceStatistics.ts'
import { storedStatistics, createReadStatistics } from '../../../../src/mapping/statistics/readStatistics.ts'
import { FrequentValues } from '../../../../src/mapping/statistics/frequentValues.ts'
import type { Mapped } from '../../../../src/model/record.ts'
import { FeatureSets, FeatureSetCounts, exactCodes, unknownSet } from '../../../../src/mapping/statistics/featureSets.ts'

/** Row with the warnings of the bits in `which`. */
const warned = (line: number, which: number): Mapped => ({
  reject: { line, code: 'ROW', field: '', message: '', hint: '' },
  warnings: Array.from({ length: 16 }, (_, i) => i).flatMap((i) =>
    (which & (1 << i)) === 0 ? [] : [{ line, code: `CODE_${i}`, field: 'price', message: `${i}` }],
  ),
})

test('stored feature sets give every row its earlier number', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(65_535), { maxLength: 60 }), fc.array(fc.nat(65_535), { maxLength: 20 }), (first, second) => {
      const statistics = createReadStatistics()
      const quality = createSourceStatistics(statistics)
      const stored = first.map((which, line) => quality.add(warned(line, which)))
      const again = createSourceStatistics(createReadStatistics(JSON.parse(JSON.stringify(storedStatistics(statistics))), { gated: true }))
      for (const [line, which] of second.entries()) again.add(warned(line, which))
      expect(first.map((which, line) => again.add(warned(line, which)))).toEqual(stored)
    }),
  )
})

test('above the limit of feature sets, every row is still counted, and known rows without a number require a full read', () => {
  const statistics = createReadStatistics()
  const quality = createSourceStatistics(statistics)
  const known = new FeatureSetCounts()
  const rows = 40_000
  const counts = Array.from({ length: 16 }, () => 0)
  for (let which = 0; which < rows; which++) {
    const set = quality.add(warned(which, which))
    expect(set).toBeLessThanOrEqual(unknownSet)
    known.add(set, which)
    for (const i of counts.keys()) if ((which & (1 << i)) !== 0) counts[i]!++
  }
  const facts = quality.finish()
  expect(facts.rows).toBe(rows)
  expect(facts.items.map(({ code, count }) => [code, count]).toSorted()).toEqual(counts.map((count, i) => [`CODE_${i}`, count]).toSorted())
  expect([known.rowCount, known.unknownCount > 0]).toEqual([rows, true])
  const gated = createSourceStatistics(createReadStatistics(storedStatistics(statistics), { gated: true }))
  expect(gated.finish(known).needsFullRead).toBe(true)
})

/** On each day some rows of a value are added, and some are removed. */
test('a value on more rows than the limit is reported, or requires a full read', () => {
  const day = fc.record({ come: fc.array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 9 })), { maxLength: 5 }), leave: fc.nat(6) })
  let reported = 0
  let doubted = 0
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 30 })), { maxLength: 8 }),
      fc.array(day, { maxLength: 8 }),
      (first, days) => {
        const limit = 20
        const total = new Map<string, number>()
        const add = (into: Map<string, number>, value: number, count: number) => into.set(`v${value}`, (into.get(`v${value}`) ?? 0) + count)
        for (const [value, count] of first) add(total, value, count)
        const options = { code: exactCodes.group, limit } as const
        const whole = new FrequentValues(new FeatureSets(), { ...options, stored: undefined, gated: false })
        whole.addSource(new Map(), [...total])
        if (whole.needsFullRead) return
        let before = whole.stored()
        const sets = new FeatureSets()
        for (const { come, leave } of days) {
          const own = new Map<string, number>()
          for (const [value, count] of come) add(own, value, count)
          total.delete(`v${leave}`)
          for (const [value, count] of own) total.set(value, (total.get(value) ?? 0) + count)
          const values = new FrequentValues(sets, { ...options, stored: before, gated: true })
          const { aboveLimit, mayExceedLimit, highestBound } = values.addSource(new Map(), [...own])
          const large = [...total].filter(([, count]) => count > limit)
          for (const [value] of large) expect(mayExceedLimit || aboveLimit.some(([one]) => one === value), `${value} unseen`).toBe(true)
          expect(highestBound).toBeGreaterThanOrEqual(Math.max(0, ...total.values(), 0))
          if (mayExceedLimit) doubted++
          reported++
          if (mayExceedLimit) return
          before = JSON.parse(JSON.stringify(values.stored()))
        }
      },
    ),
    { numRuns: 2_000 },
  )
  expect(reported).toBeGreaterThan(1_000)
  expect(doubted).toBeGreaterThan(100)
})

test('a value that is added once a day requires a full read before it is on more rows than the limit', () => {
  const options = { code: exactCodes.identifier, limit: 20 } as const
  const whole = new FrequentValues(new FeatureSets(), { ...options, stored: undefined, gated: false })
  whole.addSource(new Map(), [['a', 1]])
  let before = whole.stored()
  for (let rows = 2; ; rows++) {
    const values = new FrequentValues(new FeatureSets(), { ...options, stored: before, gated: true })
    const { mayExceedLimit } = values.addSource(new Map(), [['a', 1]])
    if (mayExceedLimit) return
    expect(rows).toBeLessThanOrEqual(options.limit)
    before = values.stored()
  }
})

test('a value that is named like a property of every object is rare', () => {
  const options = { code: exactCodes.group, limit: 20 } as const
  const whole = new FrequentValues(new FeatureSets(), { ...options, stored: undefined, gated: false })
  const values = new FrequentValues(new FeatureSets(), { ...options, stored: whole.stored(), gated: true })
  expect(values.addSource(new Map(), [['constructor', 1]])).toMatchObject({ mayExceedLimit: false, aboveLimit: [] })
})

test('a value that an earlier source of the same read has once counts in the bound', () => {
  const options = { code: exactCodes.group, limit: 20 } as const
  const before = { counts: {}, slack: 17 }
  const values = new FrequentValues(new FeatureSets(), { ...options, stored: before, gated: true })
  values.addSource(new Map(), [['a', 1]])
  expect(values.addSource(new Map(), [['a', 3]])).toMatchObject({ highestBound: 21, mayExceedLimit: true })
})

test('a stored bound over several sources is not a share of one of them', () => {
  const options = { code: exactCodes.identifier, limit: 20, stored: { counts: { a: 60 }, slack: 0 }, gated: true } as const
  const several = new FrequentValues(new FeatureSets(), { ...options, sourceCount: 2 })
  expect(several.addSource(new Map(), [])).toEqual({ aboveLimit: [['a', 60]], highestInSource: 0, highestBound: 60, mayExceedLimit: false })
  const single = new FrequentValues(new FeatureSets(), { ...options, sourceCount: 1 })
  expect(single.addSource(new Map(), [])).toEqual({ aboveLimit: [['a', 60]], highestInSource: 60, highestBound: 60, mayExceedLimit: false })
})
