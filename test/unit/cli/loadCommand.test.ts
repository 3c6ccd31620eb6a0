import { expect, test } from 'vitest'
import { catalogue, type CommandEntry } from '../../../src/cli/commandLine/catalogue.ts'
import { loaders } from '../../../src/cli/loadCommand.ts'

test('every command of the catalogue has code, and all code has a command', () => {
  const words = (entries: readonly CommandEntry[]): string[] =>
    entries.flatMap(({ name, commands }) => (commands === undefined ? [name] : words(commands).map((sub) => `${name} ${sub}`)))
  expect(Object.keys(loaders)).toEqual(words(catalogue))
})
