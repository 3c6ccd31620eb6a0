/** Measures the base of every ratio: Postgres loads the file into an unlogged table, by psql if it is installed. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from } from 'pg-copy-streams'
import { writeCustomers } from './data.ts'
import { audienceYaml, writePipeline } from './engine.ts'
import { median, seconds, type BenchContext } from './figure.ts'

export interface Floor {
  readonly seconds: number
  readonly by: string
}

/** Writes customers and their pipeline, creates a database, and measures and reports the base of the later ratios. */
export async function customersWithFloor(rows: number, { folder, database, report }: Pick<BenchContext, 'folder' | 'database' | 'report'>) {
  const csv = join(folder, 'customers.csv')
  await writeCustomers(csv, { rows })
  writePipeline(folder, 'customers', audienceYaml(csv, rows))
  const databaseUrl = await database()
  const floor = await copyFloor(databaseUrl, csv)
  report({ figure: `${floor.by} of ${rows} rows, unlogged`, measured: seconds(floor.seconds), ratio: '1' })
  return { csv, databaseUrl, floor }
}

/** Returns the median of five loads. */
export async function copyFloor(url: string, csv: string): Promise<Floor> {
  const psql = spawnSync('psql', ['--version']).status === 0
  const measured: number[] = []
  for (let i = 0; i < 5; i++) measured.push(await copyOnce(url, csv, psql))
  return { seconds: median(measured), by: psql ? 'psql \\copy' : 'COPY by pg-copy-streams' }
}

async function copyOnce(url: string, csv: string, psql: boolean): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('drop table if exists public.raw')
    await client.query('create unlogged table public.raw (customer_id text, email text, phone text, name text)')
    const started = performance.now()
    if (psql) execFileSync('psql', [url, '-qc', `\\copy public.raw from '${csv}' csv header`])
    else await pipeline(createReadStream(csv), client.query(from('copy public.raw from stdin (format csv, header)')))
    return (performance.now() - started) / 1000
  } finally {
    await client.query('drop table if exists public.raw')
    await client.end()
  }
}
