/** Sluice on servers older than the embedded Postgres 18. SLUICE_TEST_DATABASE_URL runs all tests on such a server. */
import { expect, test } from 'vitest'
import { engineUnderTest } from '../../support/engine.ts'

test('an audience is loaded and changed on a server whose min and max take no bytea, as before Postgres 18', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  await engine.db.transaction(async (tx) => {
    await tx.execute('set local allow_system_table_mods = on')
    const isNew = `proname in ('min', 'max') and proargtypes::text = 'bytea'::regtype::oid::text`
    await tx.execute(`delete from pg_aggregate where aggfnoid in (select oid from pg_proc where ${isNew})`)
    await tx.execute(`delete from pg_proc where ${isNew}`)
  })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  const people = (...names: readonly string[]) =>
    engine.write('people.csv', `id,mail\n${names.map((name) => `${name},${name}@example.com\n`).join('')}`)
  people('ann', 'bob', 'cem')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  people('ann', 'bob', 'dee')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1, deletes: 1, confirmed: 2 } })
})
