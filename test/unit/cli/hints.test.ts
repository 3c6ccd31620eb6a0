/** Every command in a hint is valid on the command line. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { errorGroups } from '../../../src/model/errorCodes.ts'
import { hintCompleter } from '../../../src/cli/commandLine/repeatedCall.ts'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Commands in texts of the source: in backquotes, or at the beginning of a text. */
function commandsIn(text: string): string[] {
  // Skips commands in comments, names of connections, and templates with a quote inside.
  const code = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$|application_?[nN]ame.*$/gm, '')
  const whole = [...code.matchAll(/['`:] ?(sluice (?:--help|[a-z]+)\b[^'`\n]*)/g)]
    .map(([, command = '']) => command.replaceAll(/\$\{[^}]*\}/g, 'x').replace(/\\$/, ''))
    .filter((command) => !/\$\{| needs |…/.test(command))
  return whole.map((command) =>
    command
      .replace(/ {2,}.*$|[;,:.] .*$|\\n.*$| and .*$| or .*$| \(.*$/, '')
      .replace(/[.:,;]$/, '')
      .trim(),
  )
}

const sources = globSync('src/**/*.ts', { cwd: root }).filter(
  (file) => !/^src\/cli\/commandLine\/(catalogue(?:\/\w+)?|help)\.ts$/.test(file),
)
const found = new Map<string, string>()
for (const file of sources) for (const command of commandsIn(readFileSync(join(root, file), 'utf8'))) found.set(command, file)
for (const { codes } of errorGroups)
  for (const [code, [, hint]] of Object.entries(codes))
    for (const [, command = ''] of hint.matchAll(/`(sluice [^`]+)`/g)) found.set(command, code)

test('the scan finds hints', () => {
  expect(found.size).toBeGreaterThan(25)
})

test.for([...found])('%s parses (%s)', ([command]) => {
  const argv = command.replace('COMMAND', 'run').split(/\s+/).slice(1)
  // A template that ends before a placeholder is checked like a complete call.
  const complete =
    command.endsWith('$') || ['run', 'plan', 'check', 'rejects', 'show', 'help', 'auth', 'webhooks', 'db'].includes(argv.at(-1) ?? '')
      ? ['help', ...argv.filter((word) => word !== 'help')]
      : argv
  expect(() => parseCommandLine(complete, '1.0.0')).not.toThrow()
})

test.for([
  ['../b c', undefined, "sluice run --pipelines '../b c' shop"],
  ['pipelines', 'postgres://me@db/x?a=1', "sluice run --database 'postgres://me@db/x?a=1' shop"],
  // A password is not repeated. The parser rejects the placeholder.
  ['pipelines', 'postgres://me:secret@db/x', 'sluice run --database URL shop'],
  ['pipelines', 'postgres://db/x?password=secret', 'sluice run --database URL shop'],
] as const)('commands in hints get the options --pipelines %s and --database %s', ([pipelines, database, command]) => {
  const complete = hintCompleter({ pipelines, database })
  expect(complete?.('set guards and sluice run shop; or sluice auth login, sluice webhooks list')).toBe(
    `set guards and ${command}; or sluice auth login, sluice webhooks list`,
  )
  expect(complete?.(command)).toBe(command)
  expect(complete?.('sluice db url')).toMatch(/^sluice db url --/)
})

test('hints stay as they are without global options', () => {
  expect(hintCompleter({ pipelines: 'pipelines', database: undefined })).toBeUndefined()
})
