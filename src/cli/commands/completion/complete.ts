import { catalogue } from '../../commandLine/catalogue.ts'
import { candidatesAt } from './candidates.ts'
import { positionOf } from './position.ts'
import { list, type CommandRun } from '../../context.ts'

/** Prints the candidates for the last word: a line `WORD TAB MEANING` each, or `:files`, `:directories`. Silent on errors. */
export const run: CommandRun = async (context, invocation) => {
  const position = positionOf(catalogue, list(invocation, 0))
  const { expected, typed, prefix } = position
  if (expected.kind === 'files' || expected.kind === 'directories') context.stdout.write(`:${expected.kind}\n`)
  try {
    for (const { word, meaning } of await candidatesAt(position, context.env))
      if (word.startsWith(typed) && !/[\t\n]/.test(word)) context.stdout.write(`${prefix}${word}${meaning === '' ? '' : `\t${meaning}`}\n`)
  } catch {
    // A shell prints nothing of use in the middle of a line: no folder, no database and a wrong .env are no candidates.
  }
  return 0
}
