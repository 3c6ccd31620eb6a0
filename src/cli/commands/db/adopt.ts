import { adoptDatabase } from '../../../db/destinations.ts'
import { writeJson, type CommandRun } from '../../context.ts'
import { operator } from '../../operator.ts'
import { withStore } from '../../store.ts'
import { nextLines, plural } from '../../terminal/text.ts'

/** Makes runs send from this database after it was restored or copied. Only one database may send to a destination. */
export const run: CommandRun = async (context) =>
  withStore(context, async ({ db }) => {
    const destinations = await adoptDatabase(db, operator().actor)
    if (context.json) writeJson(context, { destinations })
    else if (destinations === 0) context.stdout.write('nothing to do: no destination was last synced from another database\n')
    else {
      context.stdout.write(`${plural(destinations, 'destination')} adopted: from now on, runs send from this database\n`)
      const next = [
        'sluice forget --replay FILE   (after a restore, while pipelines are paused)',
        'sluice resume NAME',
        'sluice run NAME --full',
      ]
      context.stdout.write(nextLines(next, context.stdout))
    }
    return 0
  })
