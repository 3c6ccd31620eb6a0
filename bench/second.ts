/**
 * Plans a small destination in an empty database, and one beside a large destination. The rows of the large one dominate the statistics of
 * Postgres. The second plan should not cost more than the first.
 */
import { join } from 'node:path'
import { inChild } from './child.ts'
import { writeCustomers, writeFeed } from './data.ts'
import { audienceYaml, writePipeline } from './engine.ts'
import { seconds, times, type Bench } from './figure.ts'

const defaultRows = 20_000

export const bench: Bench = async ({ givenRows, folder, database, report }) => {
  const rows = givenRows ?? defaultRows
  const databaseUrl = await database()
  const customers = join(folder, 'customers.csv')
  const feed = join(folder, 'feed.xml')
  const many = join(folder, 'many.csv')
  await writeCustomers(customers, { rows })
  await writeCustomers(many, { rows: rows * 5 })
  await writeFeed(feed, rows)
  writePipeline(folder, 'many', audienceYaml(many, rows * 5))
  for (const nth of [1, 2]) {
    writePipeline(folder, `audience${nth}`, audienceYaml(customers, rows, `aud${nth}`))
    writePipeline(folder, `catalog${nth}`, `source: { url: "${feed}" }\ndestination: { kind: catalog, catalog_id: "${4000 + nth}" }\n`)
  }
  const plan = (pipeline: string) => inChild('./engine.ts', 'plan', { databaseUrl, folder, pipeline })
  await plan('many')
  for (const kind of ['audience', 'catalog']) {
    const first = await plan(`${kind}1`)
    const second = await plan(`${kind}2`)
    report({
      figure: `second ${kind} of ${rows}, planned`,
      measured: seconds(second.seconds),
      ratio: `${times(second.seconds / first.seconds)} the first (${seconds(first.seconds)})`,
      target: '2 x',
      met: second.seconds <= 2 * first.seconds,
    })
  }
}
