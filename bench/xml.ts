/** Measures the read of a Google Shopping feed: the first load, and 1 % of the items changed. */
import { copyFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { inChild, medianOf } from './child.ts'
import { writeFeed } from './data.ts'
import { writePipeline } from './engine.ts'
import { seconds, times, type Bench } from './figure.ts'

export const bench: Bench = async ({ small, folder, database, report }) => {
  const items = small ? 20_000 : 200_000
  const [first, second, feed] = ['first.xml', 'second.xml', 'feed.xml'].map((name) => join(folder, name)) as [string, string, string]
  await writeFeed(first, items)
  await writeFeed(second, items, 100)
  await copyFile(first, feed)
  writePipeline(folder, 'shop', `source: { url: "${feed}" }\ndestination: { kind: catalog, catalog_id: "4001" }\n`)
  const setting = { databaseUrl: await database(), folder, pipeline: 'shop' }
  const megabytes = Math.round((await stat(first)).size / 1_000_000)
  const read = () => inChild('./engine.ts', 'readAndDiff', setting)

  const alone = await medianOf(small ? 3 : 1, () => inChild('./saxes.ts', 'saxesAlone', { file: feed }))
  report({
    figure: `saxes alone over ${items} items, ${megabytes} MB`,
    measured: `${seconds(alone.seconds)}, ${alone.megabytes} MB, ${seconds(alone.processorSeconds)} of processor`,
    ratio: '1',
  })
  const whole = await medianOf(small ? 3 : 1, read)
  report({
    figure: `first load of ${items} items`,
    measured: `${seconds(whole.seconds)}, ${whole.megabytes} MB, ${seconds(whole.processorSeconds)} of processor`,
    ratio: `${times(whole.seconds / alone.seconds)} saxes, ${times(whole.processorSeconds / alone.processorSeconds)} of its processor time`,
    target: '1.2 x, 256 MB',
    met: whole.seconds <= 1.2 * alone.seconds && whole.megabytes <= 256,
  })
  await inChild('./engine.ts', 'plan', setting)
  await copyFile(second, feed)
  const changed = await medianOf(3, read)
  report({
    figure: `1 % changed (${String(changed['reading'])})`,
    measured: `${seconds(changed.seconds)}, ${changed.megabytes} MB`,
    ratio: `${times(changed.seconds / whole.seconds)} the first load`,
    target: 'a quarter, 4 s, 256 MB',
    met: changed.seconds <= whole.seconds / 4 && changed.seconds <= 4 && changed.megabytes <= 256,
  })
}
