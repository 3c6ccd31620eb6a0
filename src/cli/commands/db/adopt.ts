import { adoptDatabase } from '../../../db/destinations.ts'
import { writeJson, type CommandRun } from '../../context.ts'
import { operator } from '../../operator.ts'
import { withStore } from '../../store.ts'
import { plural } from '../../terminal/text.ts'

/** Makes runs send from this database after it was restored or copied. Only one database may send to a destination. */
export const run: CommandRun = async (context) =>
  withStore(context, async ({ db }) => {
    const destinations = await adoptDatabase(db, operator().actor)
    if (context.json) writeJson(context, { destinations })
    else if (destinations === 0) context.stdout.write('nothing to do: no destination was synced from another database\n')
    else {
      context.stdout.write(`${plural(destinations, 'destination')} adopted: runs send from this database\n`)
      context.stdout.write(
        'Next  after a restore, while pipelines are paused: sluice forget --replay FILE, then for each: sluice resume NAME, sluice run NAME --full\n',
      )
    }
    return 0
  })
