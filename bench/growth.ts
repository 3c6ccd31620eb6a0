/** Measures first loads of growing size: time should be linear and memory flat. Ten million rows with `--large`. */
import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import { inChild } from './child.ts'
import { writeCustomers } from './data.ts'
import { audienceYaml, writePipeline } from './engine.ts'
import { seconds, type Bench } from './figure.ts'

export const bench: Bench = async ({ small, large, folder, database, report }) => {
  const sizes = [10_000, 30_000, 100_000, ...(small ? [] : [300_000, 1_000_000]), ...(large ? [10_000_000] : [])]
  const databaseUrl = await database()
  let least = Number.POSITIVE_INFINITY
  for (const rows of sizes) {
    const csv = join(folder, 'customers.csv')
    await writeCustomers(csv, { rows })
    writePipeline(folder, 'customers', audienceYaml(csv, rows))
    const read = await inChild('./engine.ts', 'readAndDiff', { databaseUrl, folder, pipeline: 'customers' })
    await rm(csv)
    least = Math.min(least, read.megabytes)
    report({
      figure: `first load of ${rows} rows`,
      measured: `${seconds(read.seconds)}, ${read.megabytes} MB`,
      ratio: `${((read.seconds / rows) * 1_000_000).toFixed(1)} µs per row, ${(read.megabytes / least).toFixed(2)} x the memory`,
      ...(rows === 10_000_000 ? { target: '256 MB', met: read.megabytes <= 256 } : {}),
    })
  }
}
