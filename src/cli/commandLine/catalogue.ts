import { dbCommands } from './catalogue/db.ts'
import { lookCommands } from './catalogue/look.ts'
import { runCommands } from './catalogue/run.ts'
import { serveCommands } from './catalogue/serve.ts'
import { serviceCommands } from './catalogue/service.ts'
import { shellCommands } from './catalogue/shell.ts'
import { startCommands } from './catalogue/start.ts'
import { webhooksCommands } from './catalogue/webhooks.ts'
import type { CommandEntry } from './catalogue/entry.ts'

/**
 * Every command, in the order in which help lists them.
 *
 * To add a command: describe it in a file of `catalogue/`, write its `run` in `commands/`, and add its loader to `loadCommand.ts`.
 */
export const catalogue: readonly CommandEntry[] = [
  ...startCommands,
  ...runCommands,
  ...lookCommands,
  ...serveCommands,
  ...serviceCommands,
  ...webhooksCommands,
  ...dbCommands,
  ...shellCommands,
]
