/** A first sync up to the stored request bodies in one run: Sluice, DuckDB, the naive design; and two packers, one of them quadratic. */
import { join } from 'node:path'
import { inChild, type Measured } from './child.ts'
import { seconds, times, type Bench } from './figure.ts'
import { customersWithFloor } from './floor.ts'
import { quadraticBodies } from './naive.ts'
import { packAll, users } from './pack.ts'

const packed = 5_000

export const bench: Bench = async ({ rows, folder, database, say }) => {
  const { csv, databaseUrl, floor } = await customersWithFloor(rows, { folder, database, say })
  const line = (figure: string, measured: Measured) =>
    say({
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
  const ours = packAll(keys)
  const operations = keys.map(([email, phone]) => ({
    operation_type: 'Update',
    params: { users: [{ email: [email], phone_number: [phone] }] },
  }))
  const started = performance.now()
  quadraticBodies(operations)
  const quadratic = performance.now() - started
  say({ figure: `packing ${packed} users: Sluice`, measured: `${ours.toFixed(1)} ms`, ratio: '1' })
  say({ figure: `packing ${packed} users: each time rendered whole`, measured: seconds(quadratic / 1000), ratio: times(quadratic / ours) })
}
