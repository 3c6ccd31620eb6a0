/** Runs the same sync in DuckDB, all in SQL: reads, normalizes, hashes, and compares with the state of the earlier file. */
import { DuckDBInstance } from '@duckdb/node-api'

/** Loads `first` as state, untimed, then stages and compares `second`, timed. */
export async function duckdb(input: { readonly first: string; readonly second: string; readonly file: string }): Promise<object> {
  const instance = await DuckDBInstance.create(input.file, { threads: '2' })
  const connection = await instance.connect()
  await connection.run(`create table state as ${members(input.first)}`)
  const started = performance.now()
  await connection.run(`create temp table stage as ${members(input.second)}`)
  const reader = await connection.runAndReadAll(
    `select count(*) from stage s full join state r on s.key = r.key where s.key is null or r.key is null or s.email <> r.email or s.phone <> r.phone`,
  )
  const changes = Number(reader.getRows()[0]?.[0])
  const seconds = (performance.now() - started) / 1000
  connection.closeSync()
  instance.closeSync()
  return { seconds, changes }
}

function members(file: string): string {
  return `select customer_id as key, sha256(lower(trim(email))) as email, sha256(regexp_replace(phone, '[^0-9+]', '', 'g')) as phone
    from read_csv('${file}', header = true, all_varchar = true)`
}

/** Measures a first sync up to the stored request bodies: members with their digests, then bodies of 2,500 users. */
export async function duckdbFirst(input: { readonly csv: string; readonly file: string }): Promise<object> {
  const instance = await DuckDBInstance.create(input.file, { threads: '2' })
  const connection = await instance.connect()
  const started = performance.now()
  await connection.run(`create table state as ${members(input.csv)}`)
  await connection.run(
    `create table body as select batch, '[' || string_agg(format(
         '{{"operation_type":"Update","params":{{"effective_at":"2026-11-22T00:00:00Z","expires_at":"2028-12-21T00:00:00Z","users":[{{"email":["{}"],"phone_number":["{}"]}}]}}}}',
         email, phone), ',') || ']' as body
       from (select *, (row_number() over (order by key) - 1) // 2500 as batch from state) group by batch`,
  )
  const reader = await connection.runAndReadAll('select count(*) from body')
  const bodies = Number(reader.getRows()[0]?.[0])
  const seconds = (performance.now() - started) / 1000
  connection.closeSync()
  instance.closeSync()
  return { seconds, bodies }
}
