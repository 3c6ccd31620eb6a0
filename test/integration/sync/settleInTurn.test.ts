/** Requests without an answer are prepared again at the same time, on the one connection with the stage. */
import { expect, test } from 'vitest'
import { engineUnderTest } from '../../support/engine.ts'

test('a connection executes one statement at a time while several requests are sent again', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 1 } })
  const { deps, sandbox } = engine
  engine.write('crm.csv', `id,email\n${Array.from({ length: 12_500 }, (_, i) => `${i},p${i}@example.com`).join('\n')}\n`)
  engine.pipeline(
    'people',
    'source: { url: "{folder}/crm.csv" }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nmap: { key: id, email: email }\nconsent: none\n',
  )
  await sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 503 }, 'always')
  expect((await engine.run('people')).counts.ambiguous).toBe(12_500)
  await sandbox.control.clearFaults()
  const most = { ofOne: 0 }
  const { connect } = deps.db
  Object.assign(deps.db, {
    connect: async () => {
      const client = await connect()
      const { query } = client
      let running = 0
      const counted = (...values: unknown[]): unknown => {
        const result: unknown = Reflect.apply(query, client, values)
        if (!(result instanceof Promise)) return result
        most.ofOne = Math.max(most.ofOne, ++running)
        return result.finally(() => running--)
      }
      return Object.assign(client, { query: counted })
    },
  })
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { ambiguous: 0 } })
  expect(most.ofOne).toBe(1)
})
