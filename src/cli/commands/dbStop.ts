import { stopEmbedded } from '../../store/embedded/server.ts'
import { writeJson, type CommandRun } from '../context.ts'

export const run: CommandRun = async (context) => {
  const stopped = await stopEmbedded(context.config().dataDir)
  if (context.json) writeJson(context, { stopped })
  else context.stdout.write(stopped ? 'embedded Postgres stopped\n' : 'nothing to do: no embedded Postgres runs here\n')
  return 0
}
