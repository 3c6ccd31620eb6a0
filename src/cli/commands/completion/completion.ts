import { stubs } from './stubs.ts'
import { argument, writeJson, type CommandRun } from '../../context.ts'

/** Prints the script of a shell, which the parser has validated. Reads nothing. */
export const run: CommandRun = async (context, invocation) => {
  const shell = argument(invocation, 0)
  const script = stubs[shell] ?? ''
  if (context.json) writeJson(context, { shell, script })
  else context.stdout.write(script)
  return 0
}
