/**
 * Measures the shared request budget: decisions per second by eight connections on one row, and the grants of one window. With the limit of
 * uploads most decisions are denials; with the largest limit all are grants.
 */
import { openBudget, takeGrants } from '../src/db/rateBudget.ts'
import { openDatabase } from '../src/db/database.ts'
import type { Bench } from './figure.ts'

export const bench: Bench = async ({ database, report, small }) => {
  const db = openDatabase(await database(), { maxConnections: 8 })
  const measure = async (limit: number) => {
    const name = `limit ${limit}`
    await openBudget(db, { name, limit, windowMs: 61_000 })
    const until = performance.now() + (small ? 1_000 : 5_000)
    let decisions = 0
    let grants = 0
    const started = performance.now()
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (performance.now() < until) {
          // Not `grants += await …`, which would read `grants` before the wait and lose the grants of the other connections.
          const { granted } = await takeGrants(db, name, 1)
          grants += granted
          decisions++
        }
      }),
    )
    return { grants, perSecond: decisions / ((performance.now() - started) / 1000) }
  }
  try {
    const limit = 1_500
    const { grants, perSecond } = await measure(limit)
    report({
      figure: 'budget decisions',
      measured: `${Math.round(perSecond)}/s`,
      ratio: `${Math.round(perSecond / 25)} x the allowance`,
      target: '1,000/s',
      met: perSecond >= 1_000,
    })
    report({ figure: 'grants within one window', measured: String(grants), target: 'at most 1,500', met: grants <= limit })
    report({ figure: 'grants without denials', measured: `${Math.round((await measure(16_383)).perSecond)}/s` })
  } finally {
    await db.close()
  }
}
