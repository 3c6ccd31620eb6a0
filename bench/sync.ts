/** Compares the read of a customer export with a COPY of the same bytes, the naive design and DuckDB. */
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inChild, medianOf } from './child.ts'
import { writeCustomers } from './data.ts'
import { audienceYaml, writePipeline } from './engine.ts'
import { seconds, times, type Bench } from './figure.ts'
import { copyFloor } from './floor.ts'
import { startSandboxProcess } from './sandboxProcess.ts'

export const bench: Bench = async ({ rows, small, folder, database, report }) => {
  const [first, onePercent, threePercent] = ['first.csv', 'one.csv', 'three.csv'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await writeCustomers(first, { rows })
  await writeCustomers(onePercent, { rows, changeEvery: 100 })
  await writeCustomers(threePercent, { rows, changeEvery: 33 })
  const databaseUrl = await database()
  const floor = await copyFloor(databaseUrl, first)
  report({ figure: `${floor.by} of ${rows} rows, unlogged`, measured: seconds(floor.seconds), ratio: '1' })
  const against = (value: number) => `${times(value / floor.seconds)} \\copy`

  // The path is part of the definition, so the export is replaced in its place.
  const customers = join(folder, 'customers.csv')
  writePipeline(folder, 'customers', audienceYaml(customers, rows))
  const point = (csv: string) => copyFile(csv, customers)
  const sandbox = await startSandboxProcess()
  const setting = { databaseUrl, folder, pipeline: 'customers', serviceUrl: sandbox.url }
  const read = (more: object = {}) => inChild('./engine.ts', 'readAndDiff', { ...setting, ...more })

  await point(first)
  const full = await medianOf(3, read)
  report({
    figure: 'first load: read, map, hash, stage, diff',
    measured: `${seconds(full.seconds)}, ${full.megabytes} MB`,
    ratio: against(full.seconds),
    target: '4 x, 200 MB',
    met: full.seconds <= 4 * floor.seconds && full.megabytes <= 200,
  })
  const planned = await inChild('./engine.ts', 'plan', setting)
  report({
    figure: 'first load with its plan, all frozen and stored',
    measured: `${seconds(planned.seconds)}, ${planned.megabytes} MB`,
    ratio: against(planned.seconds),
    target: '10 x, 256 MB',
    met: planned.seconds <= 10 * floor.seconds && planned.megabytes <= 256,
  })
  // From the second run on, the state is confirmed, so the later figures are measured on a confirmed state.
  await inChild('./push.ts', 'push', { ...setting, planId: planned['planId'] })
  await sandbox.close()
  const again = await medianOf(3, () => read({ full: true }))
  report({
    figure: '--full over the same rows',
    measured: `${seconds(again.seconds)}, ${again.megabytes} MB`,
    ratio: against(again.seconds),
    target: '4 x, 200 MB',
    met: again.seconds <= 4 * floor.seconds && again.megabytes <= 200,
  })
  const same = await medianOf(3, read)
  report({
    figure: `the same file again (${String(same['reading'])})`,
    measured: seconds(same.seconds),
    ratio: against(same.seconds),
    target: '0.2 x',
    met: same.seconds <= 0.2 * floor.seconds,
  })

  await point(onePercent)
  const changed = await medianOf(3, read)
  report({
    figure: `1 % changed (${String(changed['reading'])})`,
    measured: `${seconds(changed.seconds)}, ${changed.megabytes} MB`,
    ratio: against(changed.seconds),
    target: '1.0 x, 150 MB',
    met: changed.seconds <= floor.seconds && changed.megabytes <= 150,
  })
  const naive = await inChild('./naive.ts', 'naive', { databaseUrl, first, second: onePercent })
  report({
    figure: 'the naive design, 1 % changed',
    measured: `${seconds(naive.seconds)}, ${naive.megabytes} MB`,
    ratio: against(naive.seconds),
  })
  report({
    figure: 'against the naive design, full',
    measured: times(naive.seconds / again.seconds),
    target: '7 x',
    met: naive.seconds >= 7 * again.seconds,
  })
  report({
    figure: 'against the naive design, 1 % changed',
    measured: times(naive.seconds / changed.seconds),
    target: '25 x',
    met: naive.seconds >= 25 * changed.seconds,
  })
  const duck = await inChild('./duckdb.ts', 'duckdb', { first, second: onePercent, file: join(folder, 'state.duckdb') })
  report({
    figure: 'DuckDB, all in SQL, 2 threads, 1 % changed',
    measured: `${seconds(duck.seconds)}, ${duck.megabytes} MB`,
    ratio: against(duck.seconds),
    target: 'be ahead of it',
    met: changed.seconds <= duck.seconds,
  })

  await point(threePercent)
  const applied = await medianOf(3, () => read({ apply: true }))
  const applySeconds = Number(applied['applySeconds'])
  report({
    figure: '3 % changed: diff, and desired state written',
    measured: seconds(applySeconds),
    target: small ? '1 s at 1,000,000' : '1 s',
    met: applySeconds <= 1,
  })
}
