/** A process that takes grants as fast as it gets them. Arguments: database, class, milliseconds (or `hold`: keep the lock). */
import { openDatabase } from '../../../src/db/database.ts'
import { takeGrants } from '../../../src/db/rateBudget.ts'

const [url = '', name = '', how = ''] = process.argv.slice(2)
const db = openDatabase(url)
if (how === 'hold') {
  const client = await db.connect()
  await client.query('begin')
  await client.query('select from sluice.budget where class = $1 for update', [name])
  process.stdout.write('held\n')
  await new Promise(() => setInterval(() => undefined, 1_000))
}
const until = Date.now() + Number(how)
while (Date.now() < until) {
  const { waitMs } = await takeGrants(db, name, 1 + Math.floor(Math.random() * 9))
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, until - Date.now())))
}
await db.close()
