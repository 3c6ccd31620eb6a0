/** A catalog and an audience with sources in waves. Each wave has changed, new and missing records. */
import { afterAll, beforeAll } from 'vitest'
import { engineUnderTest, expectAgreement } from '../../support/agreement.ts'
import { audienceDigest, catalogDigest } from '../../support/digests.ts'
import { catalogYaml, type EngineUnderTest } from '../../support/engine.ts'
import { forgetAll } from '../../support/histories.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { item, products, rss, expectedProduct } from './products.ts'

/** Beginning of the paths that are written to, for the match of a fault. */
export const writesOf = { catalog: '/12/product_catalogs', audience: '/12/accounts' }

export interface Target {
  /** Text of its pipeline. */
  readonly name: string
  /** Writes wave `n` of the source. Returns the expected digest after it. */
  readonly wave: (n: number) => string
  readonly digest: () => Promise<string>
  readonly path: string
}

export function shop(engine: EngineUnderTest): Target {
  engine.pipeline('shop', catalogYaml('feed.xml'))
  return {
    name: 'shop',
    path: writesOf.catalog,
    wave(n) {
      const rows = [...products(60).slice(n * 4), ...products(n * 6, 500)]
      engine.write('feed.xml', rss(rows.map((row) => item(row))))
      return catalogDigest(rows.map(expectedProduct))
    },
    digest: async () => (await engine.sandbox.control.catalog()).digest,
  }
}

export function people(engine: EngineUnderTest): Target {
  engine.pipeline('customers', customersYaml)
  return {
    name: 'customers',
    path: writesOf.audience,
    wave(n) {
      const rows = [...customers(60, 31).slice(n * 4), ...customers(n * 6, 32, 500)]
      engine.write('crm.csv', crm(rows))
      return audienceDigest(identifiersOf(rows))
    },
    digest: async () => (await engine.sandbox.control.audience()).digest,
  }
}

/** Next wave of a target, written and not yet run. */
export interface NextWave {
  readonly engine: EngineUnderTest
  readonly target: Target
  /** Expected digest after it. */
  readonly expected: string
  /** Sequence number of the last request before it. */
  readonly before: number
}

/** The source of a target has deletes up to here. */
const lastWave = 12

/**
 * Returns a function that runs a test on the next wave of one target. All tests of a `describe` share one engine. After the last wave, and
 * after a failed test, engine and sandbox return to their first state, and the first wave follows.
 */
export function eachWave(
  open: (engine: EngineUnderTest) => Target,
  settings: NonNullable<Parameters<typeof engineUnderTest>[0]>['settings'] = {},
  prepare: (engine: EngineUnderTest) => Promise<void> = () => Promise.resolve(),
): (play: (next: NextWave) => Promise<void>) => Promise<void> {
  let engine: EngineUnderTest
  let wave: number | undefined
  beforeAll(async () => {
    engine = await engineUnderTest({ settings })
  })
  afterAll(() => engine[Symbol.asyncDispose]())
  return async (play) => {
    const target = open(engine)
    if (wave === undefined || wave === lastWave) {
      if (wave !== undefined) await expectAgreement(engine)
      await forgetAll(engine)
      await prepare(engine)
      target.wave(0)
      await engine.run(target.name)
      wave = 0
    }
    await engine.sandbox.control.clearFaults()
    const next = wave + 1
    wave = undefined
    await play({ engine, target, expected: target.wave(next), before: await engine.mark() })
    wave = next
  }
}
