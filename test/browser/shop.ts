/** A shop with a history: runs that succeeded, rows that were rejected, deletes that wait for an approval. */
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../support/engine.ts'
import { crm, customers, customersYaml } from '../integration/acceptance/customers.ts'
import { item, products, rss } from '../integration/acceptance/products.ts'

export const feedOf = (count: number, more: readonly string[] = []): string => rss([...products(count).map((row) => item(row)), ...more])

export async function shop(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', feedOf(60, [item({ ...products(1)[0]!, id: 'BAD-1', price: 'free' })]))
  return engine
}

export interface WithheldShop {
  readonly engine: EngineUnderTest
  readonly planId: string
  readonly runId: string
}

/** Two runs; the second one withheld 20 deletes. */
export async function withheldShop(): Promise<WithheldShop> {
  const engine = await shop()
  await engine.run('shop')
  engine.write(
    'feed.xml',
    rss([
      ...products(40).map((row) => item({ ...row, title: `New ${row.title}` })),
      item({ ...products(1)[0]!, id: 'BAD-1', price: 'free' }),
    ]),
  )
  const { planId = '', runId } = await engine.run('shop')
  return { engine, planId, runId }
}

export interface ShopOfBatches {
  readonly engine: EngineUnderTest
  readonly refusedRun: string
  /** Pages of runs, plans and batches in every state. */
  readonly paths: readonly string[]
}

const set = (name: string, where: string) => `    - { name: "${name}", where: ${where} }\n`

/** Batches that wait, are unresolved, split, refused and confirmed, of products and of people; product sets planned, kept and refused. */
export async function shopOfBatches(): Promise<ShopOfBatches> {
  const engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  const { control } = engine.sandbox
  const put = { method: 'PUT', path: '/12/product_catalogs' }
  const write = (title: string) => engine.write('feed.xml', rss(products(4).map((row) => item({ ...row, title: `${title} ${row.title}` }))))
  engine.pipeline(
    'shop',
    `${catalogYaml('feed.xml').replace('{ kind: catalog, catalog_id: "4001" }', '\n  kind: catalog\n  catalog_id: "4001"\n  product_sets:')}${set('Summer', '{ custom_label_0: summer }')}${set('Acme', '{ brand: Acme }')}`,
  )
  write('First')
  const plan = await engine.plan('shop')
  await control.fault(
    { method: 'POST', path: '/12/product_catalogs/4001/product_sets' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'name is not valid' }] } },
    1,
  )
  const applied = await engine.apply(plan.planId)
  write('Second')
  await control.fault(
    put,
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'title is not valid' }] } },
    'always',
  )
  const refused = await engine.run('shop')
  await control.clearFaults()
  write('Third')
  await control.fault(put, { kind: 'reset', at: 'after' }, 'always')
  const unresolved = await engine.run('shop')
  await control.clearFaults()
  engine.pipeline('crm', customersYaml)
  engine.write('crm.csv', crm(customers(12, 5)))
  const people = await engine.run('crm')
  engine.write('crm.csv', crm(customers(14, 5)))
  const waiting = await engine.plan('crm')
  const batches = await engine.db.query<{ id: string }>('select min(id) as id from batch group by plan_id, status, attempts order by 1')
  return {
    engine,
    refusedRun: refused.runId,
    paths: [
      ...[applied, refused, unresolved, people].map(({ runId }) => `/runs/${runId}`),
      ...[plan, waiting].map(({ planId }) => `/plans/${planId}`),
      ...batches.map(({ id }) => `/batches/${id}`),
      '/batches/99999',
    ],
  }
}
