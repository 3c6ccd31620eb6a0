/** The form of a full refresh shows how long it takes at the service's limits. */
import { expect, test } from 'vitest'
import { engineUnderTest } from '../../support/engine.ts'
import { startServer } from '../../support/server.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { min_rows: 0 }
`

// 2,500 users per request, 1,500 requests per minute, the first 1,500 of them without a wait.
test.for([
  [1, 'in less than a minute'],
  [3_750_001, 'in at least 1 min'],
  [10_000_000, 'in at least 2 min'],
] as const)('of %s users: %s', async ([users, shown]) => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('people', yaml)
  engine.write('people.csv', 'id,mail\n1,a@example.com\n')
  const textOfForm = async () => (await server.call('GET', '/pipelines/people')).text.replaceAll(/\s+/g, ' ')
  await engine.plan('people')
  expect(await textOfForm()).toContain('Sends every record again.')
  await engine.run('people')
  await engine.db.execute(`update run set counts = counts || jsonb_build_object('valid', $1::int)`, [users])
  expect(await textOfForm()).toContain(`Sends every record again, ${shown} at the service&#39;s limits.`)
})
