import { Argument, Command, CommanderError, Option } from 'commander'
import { UsageError } from '../../errors.ts'
import { catalogue, type CommandEntry } from './catalogue.ts'
import type { Invocation } from '../context.ts'
import { commandHelp, globalOptions, mainHelp, topicHelp, topics } from './help.ts'
import { correctedCall, defaultPipelines } from './repeatedCall.ts'
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

/** Global options, with their defaults. `pipelines`: folder of pipeline files. `database`: address of `--database`, if it was given. */
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
  let request: Request | undefined
  const program = configure(new Command('sluice')).version(version, '-V, --version')
  for (const entry of catalogue) program.addCommand(buildCommand(entry, [entry.name], program, (parsed) => (request = parsed)))
  program.action(() => undefined)
  program.allowExcessArguments(true)
  try {
    const resolved = resolveCommand(commandWords(argv))
    if (resolved.unknown !== undefined) throw unknownCommandError(resolved, argv)
    if (resolved.entry?.commands !== undefined) throw missingCommandError(resolved)
    program.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.version') return { kind: 'print', text: `${version}\n` }
    throw usageError(error, argv)
  }
  return request ?? { kind: 'print', text: mainHelp(catalogue) }
}

/**
 * Returns the help text for `sluice`, `--help`, `COMMAND --help`, `help`, `help COMMAND` and `help TOPIC`; undefined if `argv` requests no
 * help.
 *
 * @throws {UsageError} `UNKNOWN_COMMAND`
 */
function requestedHelp(argv: readonly string[]): string | undefined {
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  if (words.length === 0) return mainHelp(catalogue)
  const hasHelpFlag = words.includes('--help') || words.includes('-h')
  const [first, ...rest] = commandWords(words)
  if (!hasHelpFlag && first !== 'help') return undefined
  const path = first === 'help' ? rest : first === undefined ? [] : [first, ...rest]
  const topic = topics.find((name) => name === path[0])
  if (topic && first === 'help') return topicHelp(topic)
  const resolved = resolveCommand(path)
  if (resolved.unknown !== undefined) throw unknownCommandError(resolved, argv, first === 'help' && path.length === 1 ? topics : [])
  // The help of a group, such as `help auth`, lists its commands.
  return resolved.entry ? commandHelp(resolved.path, resolved.entry) : mainHelp(catalogue)
}

/** Returns the words that may be names of commands: leaves out flags, and values of global flags. */
function commandWords(argv: readonly string[]): string[] {
  const words: string[] = []
  let isValue = false
  for (const word of argv) {
    if (!isValue && !word.startsWith('-')) words.push(word)
    isValue = !isValue && (word === '--pipelines' || word === '--database')
  }
  return words
}

/** Result of `resolveCommand`: the command that the first words name. */
interface Resolved {
  /** Words that name the command; empty for `sluice` itself. */
  readonly path: readonly string[]
  /** Undefined for `sluice` itself. */
  readonly entry: CommandEntry | undefined
  /** Subcommands; for `sluice` itself all commands. */
  readonly commands: readonly CommandEntry[]
  /** First word that is not the name of a command. Undefined if every word is a name, or arguments may follow. */
  readonly unknown: string | undefined
}

/** Finds the command that `words` (of `commandWords`) name. Further words are its arguments. */
function resolveCommand(words: readonly string[]): Resolved {
  const path: string[] = []
  let entry: CommandEntry | undefined
  let commands = catalogue
  for (const word of words) {
    const next = commands.find(({ name }) => name === word)
    if (!next) return { path, entry, commands, unknown: commands.length === 0 ? undefined : word }
    path.push(word)
    entry = next
    commands = next.commands ?? []
  }
  return { path, entry, commands, unknown: undefined }
}

/**
 * Returns the error for a word that names no command. The hint repeats the call with the most similar name. `topicNames`: given only if the
 * user requested help. The hint may suggest these topics too, and requests help, because the suggested command may change something.
 */
function unknownCommandError(
  { path, commands, unknown: word = '' }: Resolved,
  argv: readonly string[],
  topicNames?: readonly string[],
): UsageError {
  const suggestion = suggestName(word, [...commands.filter(({ hidden }) => !hidden).map(({ name }) => name), ...(topicNames ?? [])])
  const command = [...path, ...(suggestion === undefined ? [] : [suggestion])]
  const help = command.length === 0 ? 'sluice --help' : ['sluice help', ...command].join(' ')
  const corrected = topicNames === undefined && suggestion !== undefined ? correctedCall(argv, word, suggestion) : undefined
  return new UsageError(
    'UNKNOWN_COMMAND',
    `there is no command "${word.slice(0, 60)}"${path.length > 0 ? ` of sluice ${path.join(' ')}` : ''}. Nothing was done.`,
    { where: word.slice(0, 60), hint: corrected ?? help },
  )
}

/** Returns the error for a group without a command, such as `sluice auth`. */
function missingCommandError({ path, commands }: Resolved): UsageError {
  const names = commands.map(({ name }) => name).join(', ')
  return new UsageError('MISSING_ARGUMENT', `sluice ${path.join(' ')} needs one of: ${names}. Nothing was done.`, {
    where: `sluice ${path.join(' ')}`,
    hint: `sluice help ${path.join(' ')}`,
  })
}

/** Builds the commander command for a catalogue entry. When commander parses this command, it calls `onRequest`. */
function buildCommand(entry: CommandEntry, path: readonly string[], program: Command, onRequest: (request: Request) => void): Command {
  const command = configure(new Command(entry.name))
  if (entry.args !== undefined && entry.choices) command.addArgument(new Argument(entry.args).choices(entry.choices))
  else if (entry.args !== undefined) command.arguments(entry.args)
  for (const { flags, meaning, repeatable } of entry.options ?? []) {
    const option = new Option(flags, meaning)
    if (repeatable) option.argParser((value: string, previous: string[] | undefined) => [...(previous ?? []), value])
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
        globals: { json: globals.json ?? false, pipelines: globals.pipelines ?? defaultPipelines, database: globals.database },
      })
    })
  }
  return command
}

/** Makes a command throw its errors and print nothing. Adds the global options to the root command. Returns the command. */
function configure(command: Command): Command {
  command.exitOverride().helpOption(false).helpCommand(false).showSuggestionAfterError(false)
  command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
  if (command.name() === 'sluice')
    for (const { flags, meaning } of globalOptions) if (!flags.includes('--help')) command.option(flags, meaning)
  return command
}

/** Converts commander's error. The hint has the most similar option for an unknown one, else the help page of the command. */
function usageError(error: CommanderError, argv: readonly string[]): UsageError {
  const { path, entry } = resolveCommand(commandWords(argv))
  const name = ['sluice', ...path].join(' ')
  const reason = `${error.message.replace(/^error: /, '').replace(/\.$/, '')}. Nothing was done.`
  const help = `sluice help${path.length > 0 ? ` ${path.join(' ')}` : ''}`
  switch (error.code) {
    case 'commander.unknownOption': {
      const given = /'(-[^']*)'/.exec(error.message)?.[1] ?? ''
      const suggestion = suggestName(given.split('=')[0] ?? '', optionNames(entry))
      return new UsageError('UNKNOWN_OPTION', `${name} has no option ${given.slice(0, 60)}. Nothing was done.`, {
        where: given,
        hint: suggestion === undefined ? help : correctedOption(argv, given, suggestion),
      })
    }
    case 'commander.missingArgument':
    case 'commander.optionMissingArgument': {
      // Commander quotes the argument (`'PIPELINE'`), or the option with its value (`'--source <URI>'`).
      const missing = /'(?:-\w, )?([^' ]+)/.exec(error.message)?.[1] ?? name
      return new UsageError('MISSING_ARGUMENT', `${name}: ${reason}`, { where: missing, hint: help })
    }
    case 'commander.excessArguments':
      return new UsageError('TOO_MANY_ARGUMENTS', `${name}: ${reason}`, { where: name, hint: help })
    default:
      return new UsageError('INVALID_VALUE', `${name}: ${reason}`, { where: name, hint: help })
  }
}

/** Returns the hint for an unknown option: the corrected call, or only the option if other arguments may contain personal data. */
function correctedOption(argv: readonly string[], given: string, suggestion: string): string {
  const [name = '', ...value] = given.split('=')
  return correctedCall(argv, given, [suggestion, ...value].join('=')) ?? `write ${suggestion} instead of ${name}`
}

function optionNames(entry: CommandEntry | undefined): string[] {
  return [...globalOptions, ...(entry?.options ?? [])].flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? [])
}
