/** A shop with a history: runs that succeeded, rows that were rejected, deletes that wait for an approval. */
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../support/engine.ts'
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
