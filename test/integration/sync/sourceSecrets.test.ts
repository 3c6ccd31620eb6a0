/** Secrets in the address of a source are used, but neither stored nor shown (docs/sources.md). */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { full, rawServer } from '../sources/rawServer.ts'

const settings = 'map: { key: id, email: mail }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'
const people = 'id,mail\n1,person1@example.com\n'

/** Returns the content of every table. */
async function stored({ db }: EngineUnderTest): Promise<string> {
  const tables = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const parts: string[] = []
  for (const { name } of tables)
    for (const { line } of await db.query<{ line: string }>(`select t::text as line from ${name} t`)) parts.push(line)
  return parts.join('\n')
}

test.for([
  ['FILE_COLUMN_MISSING', 'foo,bar\n1,2\n'],
  ['FILE_DUPLICATE_COLUMN', 'id,mail,mail\n1,person1@example.com,\n'],
] as const)('the query of an address is not in the error %s', async ([code, content]) => {
  await using engine = await engineUnderTest()
  await using server = await rawServer((_, socket) => socket.end(full(content)))
  engine.pipeline('people', `source: { url: "${server.url}/crm.csv?key=zq7secret", allow_private: true }\n${settings}`)
  const report = await engine.run('people')
  expect(report.error).toMatchObject({ code, where: `${server.url}/crm.csv?…` })
  expect(server.requests.join('')).toContain('zq7secret')
  expect(JSON.stringify(report) + (await stored(engine))).not.toContain('zq7secret')
})

test('a backfill reads an address with a secret, stores it without, and is not rerun without it', async () => {
  await using engine = await engineUnderTest()
  await using server = await rawServer((_, socket) => socket.end(full(people)))
  engine.pipeline('people', `source: { url: "${server.url}/crm.csv", allow_private: true }\n${settings}`)
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  const backfill = (source: string) => runPipeline(engine.deps, pipeline, { trigger: 'backfill', source })
  const report = await backfill(`${server.url}/older.csv?key=zq7secret`)
  expect(report).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
  const asked = server.requests.length
  const again = await engine.rerun(report.runId)
  expect(again).toMatchObject({
    status: 'failed',
    error: { code: 'SOURCE_CREDENTIALS', where: `${server.url}/older.csv?…`, hint: 'sluice backfill people --source ADDRESS' },
  })
  expect(server.requests).toHaveLength(asked)
  for (const address of ['sftp://jane:zq7secret@localhost/crm.csv', 'https://jane:zq7secret@localhost/crm.csv'])
    expect(await backfill(address)).toMatchObject({ status: 'failed', error: { code: 'SOURCE_REFUSED' } })
  const database = await stored(engine)
  expect(database).toContain('/older.csv?…')
  expect(database).toContain('sftp://jane@localhost/crm.csv')
  expect(JSON.stringify([report, again]) + database).not.toContain('zq7secret')
})
