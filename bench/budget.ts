/** The shared budget: decisions a second by eight connections on one row, and that no window gives more than its limit. */
import { openBudget, takeGrants } from '../src/db/budget.ts'
import { openDatabase } from '../src/db/database.ts'
import type { Bench } from './figure.ts'

export const bench: Bench = async ({ database, say, small }) => {
  const db = openDatabase(await database(), { maxConnections: 8 })
  try {
    const limit = 1_500
    await openBudget(db, { name: 'bench', limit, windowMs: 61_000 })
    const until = performance.now() + (small ? 1_000 : 5_000)
    let decisions = 0
    let grants = 0
    const started = performance.now()
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (performance.now() < until) {
          grants += (await takeGrants(db, 'bench', 1)).granted
          decisions++
        }
      }),
    )
    const perSecond = decisions / ((performance.now() - started) / 1000)
    say({
      figure: 'budget decisions',
      measured: `${Math.round(perSecond)}/s`,
      ratio: `${Math.round(perSecond / 25)} x the allowance`,
      reach: '1,000/s',
      met: perSecond >= 1_000,
    })
    say({ figure: 'grants within one window', measured: String(grants), reach: 'at most 1,500', met: grants <= limit })
  } finally {
    await db.close()
  }
}
