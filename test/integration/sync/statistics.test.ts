/** A destination that the statistics of Postgres do not show is planned by comparing all with all: minutes for 20,000 records. */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { engineUnderTest } from '../../support/engine.ts'

const audience = (id: string) => `source: { url: "{folder}/${id}.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${id} }
`
const people = (count: number) => `id,email\n${Array.from({ length: count }, (_, i) => `${i},person${i}@example.com\n`).join('')}`

/** Rows of the newest destination that Postgres expects in `table`. */
async function expectedRows(db: Database, table: string): Promise<number> {
  const [row] = await db.query<{ id: number }>('select max(id) as id from destination')
  const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where destination_id = ${row?.id}`,
  )
  return plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}

test('Postgres expects the rows of a small destination beside a large one once it is planned', async () => {
  await using engine = await engineUnderTest()
  for (const [id, count] of [
    ['large', 6_000],
    ['small', 1_500],
  ] as const) {
    engine.write(`${id}.csv`, people(count))
    engine.pipeline(id, audience(id))
    await engine.plan(id)
    for (const table of ['record', 'remote']) {
      const expected = await expectedRows(engine.db, table)
      expect(expected, `${table} of ${id}`).toBeGreaterThan(count / 2)
      expect(expected, `${table} of ${id}`).toBeLessThan(count * 2)
    }
  }
})
