/** A catalog and an audience whose sources come in waves, each with changes, new records and records that left. */
import { audienceDigest, catalogDigest } from '../../support/digests.ts'
import { catalogYaml, type EngineUnderTest } from '../../support/engine.ts'
import { crm, customers, customersYaml, identifiersOf } from './customers.ts'
import { item, products, rss, wanted } from './products.ts'

/** Beginning of the paths that are written to, for the match of a fault. */
export const writesOf = { catalog: '/12/product_catalogs', audience: '/12/accounts' }

export interface Target {
  /** Text of its pipeline. */
  readonly name: string
  /** Writes wave `n` of the source; the digest that should stand after it. */
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
      return catalogDigest(rows.map(wanted))
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
