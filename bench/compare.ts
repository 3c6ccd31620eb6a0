/**
 * Compares the time of a first sync, up to the stored request bodies: Sluice, DuckDB and the naive design. Also compares a linear with a
 * quadratic packer.
 */
import { join } from 'node:path'
import { inChild, type Measured } from './child.ts'
import { seconds, times, type Bench } from './figure.ts'
import { customersWithFloor } from './floor.ts'
import { quadraticBodies } from './naive.ts'
import { packAll, users } from './pack.ts'

const packed = 5_000

export const bench: Bench = async ({ rows, folder, database, report }) => {
  const { csv, databaseUrl, floor } = await customersWithFloor(rows, { folder, database, report })
  const line = (figure: string, measured: Measured) =>
    report({
      figure,
      measured: `${seconds(measured.seconds)}, ${measured.megabytes} MB`,
      ratio: `${times(measured.seconds / floor.seconds)} \\copy`,
    })
  line(
    'Sluice: read, checked, reference-counted, planned, frozen',
    await inChild('./engine.ts', 'plan', { databaseUrl, folder, pipeline: 'customers' }),
  )
  line('DuckDB, all in SQL, 2 threads', await inChild('./duckdb.ts', 'duckdbFirst', { csv, file: join(folder, 'first.duckdb') }))
  line('the naive design', await inChild('./naive.ts', 'naiveFirst', { databaseUrl, csv }))

  const keys = users(packed)
  const linear = packAll(keys)
  const operations = keys.map(([email, phone]) => ({
    operation_type: 'Update',
    params: { users: [{ email: [email], phone_number: [phone] }] },
  }))
  const started = performance.now()
  quadraticBodies(operations)
  const quadratic = performance.now() - started
  report({ figure: `packing ${packed} users: Sluice`, measured: `${linear.toFixed(1)} ms`, ratio: '1' })
  report({
    figure: `packing ${packed} users: rendered again for each user`,
    measured: seconds(quadratic / 1000),
    ratio: times(quadratic / linear),
  })
}
