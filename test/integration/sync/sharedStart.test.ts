/** Start of an identifier that several rows have (docs/decisions/identifier-groups.md). */
import { expect, test } from 'vitest'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest } from '../../support/engine.ts'

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

test.for([
  ['without ends', ''],
  ['with ends', `,${inDays(90)}`],
] as const)('an identifier of two rows is a member from the first of their starts on, %s', async ([, end]) => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: email, effective_at: begins${end === '' ? '' : ', expires_at: ends'} }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, expires_in: 60 days }
`,
  )
  // Several addresses, because each is sent under either of its rows.
  const people = Array.from({ length: 8 }, (_, i) => `person${i}@example.com`)
  const rows = people.flatMap((address, i) => [`early${i},${address},${inDays(-1)}${end}`, `late${i},${address},${inDays(10)}${end}`])
  engine.write('people.csv', ['id,email,begins,ends', ...rows.map((row) => (end === '' ? `${row},` : row))].join('\n') + '\n')

  expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
  expect((await engine.sandbox.control.audience()).digest).toBe(audienceDigest(people.map(email)))
})
