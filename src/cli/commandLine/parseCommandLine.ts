import { Argument, Command, CommanderError, Option } from 'commander'
import { UsageError } from '../../errors.ts'
import { catalogue } from './catalogue.ts'
import type { CommandEntry } from './catalogue/entry.ts'
import type { Invocation } from '../context.ts'
import { commandHelp, globalOptions, mainHelp, topicHelp, topics } from './help.ts'
import { suggestName } from '../../suggestName.ts'

/** Result of parsing the command line: a text to print, or a command to run. */
export type Request =
  | { readonly kind: 'print'; readonly text: string }
  | {
      readonly kind: 'run'
      readonly path: readonly string[]
      readonly invocation: Invocation
      readonly globals: Globals
    }

export interface Globals {
  readonly json: boolean
  readonly pipelines: string
  readonly database: string | undefined
}

/**
 * Parses the command line. Pure: reads no file and no environment, starts nothing.
 *
 * @throws {UsageError} `UNKNOWN_COMMAND`, `UNKNOWN_OPTION`, `MISSING_ARGUMENT`, `TOO_MANY_ARGUMENTS`, `INVALID_VALUE`, each with one
 *   command as the hint
 */
export function parseCommandLine(argv: readonly string[], version: string): Request {
  const help = requestedHelp(argv)
  if (help !== undefined) return { kind: 'print', text: help }
  let found: Request | undefined
  const program = withoutOutput(new Command('sluice')).version(version, '-V, --version')
  for (const entry of catalogue) program.addCommand(buildCommand(entry, [entry.name], program, (request) => (found = request)))
  program.action(() => undefined)
  program.allowExcessArguments(true)
  try {
    const unknown = findUnknownCommand(argv, catalogue, [])
    if (unknown) throw unknown
    program.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.version') return { kind: 'print', text: `${version}\n` }
    throw usageError(error, argv)
  }
  return found ?? { kind: 'print', text: mainHelp(catalogue) }
}

/**
 * Returns the help text for `sluice`, `--help`, `help`, `help COMMAND` and `help TOPIC`; undefined if the words request no help.
 *
 * @throws {UsageError} `UNKNOWN_COMMAND`
 */
function requestedHelp(argv: readonly string[]): string | undefined {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  if (words.length === 0) return mainHelp(catalogue)
  const asked = words.includes('--help') || words.includes('-h')
  const [first, ...rest] = commandWords(words)
  if (!asked && first !== 'help') return undefined
  const path = first === 'help' ? rest : first === undefined ? [] : [first, ...rest]
  const topic = topics.find((name) => name === path[0])
  if (topic && first === 'help') return topicHelp(topic)
  const unknown = findUnknownCommand(path, catalogue, first === 'help' ? topics : [])
  // A group name without a command shows the help of the group.
  if (unknown && unknown.code !== 'MISSING_ARGUMENT') throw unknown
  let entries = catalogue
  const names: string[] = []
  let entry: CommandEntry | undefined
  for (const word of path) {
    const next = entries.find((candidate) => candidate.name === word)
    if (!next) break
    entry = next
    names.push(word)
    entries = next.commands ?? []
  }
  return entry ? commandHelp(names, entry) : mainHelp(catalogue)
}

/** Returns the words that may be command names: no flags, no values of global flags. */
function commandWords(argv: readonly string[]): string[] {
  const words: string[] = []
  let isValue = false
  for (const word of argv) {
    if (!isValue && !word.startsWith('-')) words.push(word)
    isValue = !isValue && (word === '--pipelines' || word === '--database')
  }
  return words
}

/**
 * Returns the error of the first word that names no command, or of a group without its command; undefined if the command exists.
 * `others`: further names to suggest for the first word. `path`: words before `entries`.
 */
function findUnknownCommand(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  others: readonly string[],
  path: readonly string[] = [],
): UsageError | undefined {
  const [word, ...rest] = commandWords(argv)
  if (word === undefined) {
    if (path.length === 0) return undefined
    return new UsageError(
      'MISSING_ARGUMENT',
      `sluice ${path.join(' ')} needs one of: ${entries.map((entry) => entry.name).join(', ')}. Nothing was done.`,
      { where: `sluice ${path.join(' ')}`, hint: `sluice help ${path.join(' ')}` },
    )
  }
  const entry = entries.find((candidate) => candidate.name === word)
  if (!entry) {
    const suggestion = suggestName(word, [...entries.filter(({ hidden }) => !hidden).map(({ name }) => name), ...others])
    const correction = suggestion === undefined ? ['--help'] : others.includes(suggestion) ? ['help', suggestion] : [suggestion]
    const hint = ['sluice', ...path, ...correction].join(' ')
    return new UsageError(
      'UNKNOWN_COMMAND',
      `there is no command "${word.slice(0, 60)}"${path.length > 0 ? ` of sluice ${path.join(' ')}` : ''}. Nothing was done.`,
      { where: word.slice(0, 60), hint },
    )
  }
  return entry.commands && findUnknownCommand(rest, entry.commands, [], [...path, word])
}

/** Builds commander's command of a catalogue entry. The command calls `onRequest` when it is parsed. */
function buildCommand(entry: CommandEntry, path: readonly string[], program: Command, onRequest: (request: Request) => void): Command {
  const command = withoutOutput(new Command(entry.name))
  if (entry.args !== undefined && entry.choices) command.addArgument(new Argument(entry.args).choices(entry.choices))
  else if (entry.args !== undefined) command.arguments(entry.args)
  for (const { flags, meaning, many } of entry.options ?? []) {
    const option = new Option(flags, meaning)
    if (many) option.argParser((value: string, previous: string[] | undefined) => [...(previous ?? []), value])
    command.addOption(option)
  }
  for (const sub of entry.commands ?? []) command.addCommand(buildCommand(sub, [...path, sub.name], program, onRequest))
  if (!entry.commands) {
    command.action(() => {
      const globals = program.opts<{ json?: boolean; pipelines?: string; database?: string }>()
      onRequest({
        kind: 'run',
        path,
        invocation: { args: command.processedArgs, options: command.opts() },
        globals: { json: globals.json ?? false, pipelines: globals.pipelines ?? 'pipelines', database: globals.database },
      })
    })
  }
  return command
}

/** Makes commander throw its errors and print nothing. The root command also gets the global options. */
function withoutOutput(command: Command): Command {
  command.exitOverride().helpOption(false).helpCommand(false).showSuggestionAfterError(false)
  command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
  if (command.name() === 'sluice')
    for (const { flags, meaning } of globalOptions) if (!flags.includes('--help')) command.option(flags, meaning)
  return command
}

/** Converts commander's error. The hint is the command with the most similar option, else its help page. */
function usageError(error: CommanderError, argv: readonly string[]): UsageError {
  const path = commandPath(argv)
  const name = ['sluice', ...path].join(' ')
  const reason = `${error.message.replace(/^error: /, '').replace(/\.$/, '')}. Nothing was done.`
  const help = `sluice help${path.length > 0 ? ` ${path.join(' ')}` : ''}`
  switch (error.code) {
    case 'commander.unknownOption': {
      const given = /'(-[^']*)'/.exec(error.message)?.[1] ?? ''
      const suggestion = suggestName(given.split('=')[0] ?? '', optionNames(path))
      return new UsageError('UNKNOWN_OPTION', `${name} has no option ${given.slice(0, 60)}. Nothing was done.`, {
        where: given,
        hint: suggestion === undefined ? help : correctedCommand(path, given, suggestion),
      })
    }
    case 'commander.missingArgument':
    case 'commander.optionMissingArgument': {
      // Commander quotes the argument (`'PIPELINE'`), or the option with its value (`'--source <URI>'`).
      const missing = /'([^' ]+)/.exec(error.message)?.[1] ?? name
      return new UsageError('MISSING_ARGUMENT', `${name}: ${reason}`, { where: missing, hint: help })
    }
    case 'commander.excessArguments':
      return new UsageError('TOO_MANY_ARGUMENTS', `${name}: ${reason}`, { where: name, hint: help })
    default:
      return new UsageError('INVALID_VALUE', `${name}: ${reason}`, { where: name, hint: help })
  }
}

/** Repeats only the flag, because other arguments may contain personal data, and errors are logged. */
function correctedCommand(path: readonly string[], given: string, suggestion: string): string {
  return `sluice ${[...path, suggestion].join(' ')}   (instead of ${given.split('=')[0]})`
}

/** Returns the words that name the command, as far as they are known. */
function commandPath(argv: readonly string[]): string[] {
  const path: string[] = []
  let entries: readonly CommandEntry[] = catalogue
  for (const word of commandWords(argv)) {
    const entry = entries.find((candidate) => candidate.name === word)
    if (!entry) break
    path.push(word)
    entries = entry.commands ?? []
  }
  return path
}

function optionNames(path: readonly string[]): string[] {
  let entries: readonly CommandEntry[] = catalogue
  const names = globalOptions.flatMap((option) => option.flags.match(/--[a-z-]+/g) ?? [])
  for (const word of path) {
    const entry = entries.find((candidate) => candidate.name === word)
    names.push(...(entry?.options ?? []).flatMap((option) => option.flags.match(/--[a-z-]+/g) ?? []))
    entries = entry?.commands ?? []
  }
  return names
}
