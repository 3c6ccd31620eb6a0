/** Commands for hints that repeat a call, or its global options. */
import { quoteArgument } from '../../format.ts'
import { catalogue, type CommandEntry } from './catalogue.ts'

/** Function that completes the commands in a hint. */
export type CompleteHint = (hint: string) => string

export const defaultPipelines = 'pipelines'

/**
 * Returns a function that adds these global options to the commands in a hint. Without them, a pasted command could act on a pipeline of
 * the same name in another folder. Undefined if both have their default.
 */
export function hintCompleter({
  pipelines,
  database,
}: {
  readonly pipelines: string
  readonly database: string | undefined
}): CompleteHint | undefined {
  const options = [
    ...(pipelines === defaultPipelines ? [] : ['--pipelines', quoteArgument(pipelines)]),
    ...(database === undefined ? [] : ['--database', hasPassword(database) ? 'URL' : quoteArgument(database)]),
  ]
  if (options.length === 0) return undefined
  const commands = new RegExp(`\\bsluice (?:${catalogue.flatMap(namesOf).join('|')})\\b`, 'g')
  const text = options.join(' ')
  // A hint that repeats the call has the options already.
  return (hint) => (hint.includes(text) ? hint : hint.replace(commands, (command) => `${command} ${text}`))
}

/** Returns the name of the command, or of each subcommand, that uses pipeline files or the database, such as `db url`. */
function namesOf({ name, standalone, commands }: CommandEntry): string[] {
  if (commands !== undefined) return commands.flatMap(namesOf).map((sub) => `${name} ${sub}`)
  return standalone === true ? [] : [name]
}

/** Returns true if an address has a password, or may have one. Then hints show the placeholder `URL`, which the parser rejects. */
function hasPassword(address: string): boolean {
  if (!URL.canParse(address)) return true
  const { password, searchParams } = new URL(address)
  return password !== '' || searchParams.has('password')
}

/** Commands whose arguments may be personal data or secrets. */
const privateCommands: readonly string[] = ['forget', 'explain', 'api', 'auth', 'sandbox']

/**
 * Returns the command line with one word corrected; undefined if the other words may contain personal data or secrets. `argv`: words after
 * `sluice`.
 */
export function correctedCall(argv: readonly string[], wrong: string, right: string): string | undefined {
  const at = argv.findIndex((word, i) => word === wrong && argv[i - 1] !== '--pipelines' && argv[i - 1] !== '--database')
  if (at < 0) return undefined
  const words = argv.with(at, right)
  const isPrivate = words.length > 2 && words.some((word) => privateCommands.includes(word))
  return isPrivate || words.some((word) => /[@＠+＋]|:\/\/|%40/.test(word)) ? undefined : ['sluice', ...words.map(quoteArgument)].join(' ')
}
