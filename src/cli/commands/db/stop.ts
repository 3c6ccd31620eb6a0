import { embeddedClients, stopEmbedded } from '../../../db/embedded/server.ts'
import { writeResult, type CommandRun } from '../../context.ts'
import { plural } from '../../terminal/text.ts'

/** Stops the embedded server. Warns first about the programs that are connected. */
export const run: CommandRun = async (context) => {
  const { dataDir } = context.config()
  const connected = await embeddedClients(dataDir)
  if (connected.length > 0) {
    const names = connected.map(({ name, connections }) => `${name} (${plural(connections, 'connection')})`).join(', ')
    const again = connected.some(({ name }) => /^sluice (?:serve|worker)$/.test(name))
      ? '; serve and worker restart it within seconds: stop them first'
      : ''
    context.stderr.write(`warning  still connected: ${names}${again}\n`)
  }
  const stopped = await stopEmbedded(dataDir)
  writeResult(context, { stopped, connected }, stopped ? 'embedded Postgres stopped\n' : 'nothing to do: no embedded Postgres runs here\n')
  return 0
}
