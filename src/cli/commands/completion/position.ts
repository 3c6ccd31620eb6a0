import type { CommandEntry, OptionEntry } from '../../commandLine/catalogue.ts'
import { globalOptions, optionsOf, topics } from '../../commandLine/help.ts'
import { defaultPipelines } from '../../commandLine/repeatedCall.ts'

/** Word that a shell may offer, with its meaning. */
export interface Candidate {
  readonly word: string
  readonly meaning: string
}

/** Candidates for the word at the cursor: known words, or the type of candidates to load. */
export type Expected =
  | { readonly kind: 'words'; readonly words: readonly Candidate[] }
  | { readonly kind: 'pipelines' | 'runs' | 'plans' | 'runs and plans' | 'files' | 'directories' | 'nothing' }

/** Place of the cursor in a command line. */
export interface Position {
  readonly expected: Expected
  /** Typed part of the word; of `--flag=value`, the typed part of the value. */
  readonly typed: string
  /** `--flag=` if flag and value are one word; else empty. */
  readonly prefix: string
  /** Value of `--pipelines` before the cursor, else its default. */
  readonly pipelines: string
  /** Value of `--database` before the cursor; undefined without it. */
  readonly database: string | undefined
}

/** Candidates by the placeholder of an argument or of a flag's value. Any other placeholder has none. */
const expectedByPlaceholder: Readonly<Record<string, Expected>> = {
  PIPELINE: { kind: 'pipelines' },
  RUN_ID: { kind: 'runs' },
  PLAN_ID: { kind: 'plans' },
  'RUN_ID|PLAN_ID': { kind: 'runs and plans' },
  DIR: { kind: 'directories' },
  FILE: { kind: 'files' },
  URI: { kind: 'files' },
  METHOD: { kind: 'words', words: ['GET', 'POST', 'PUT', 'DELETE'].map((word) => ({ word, meaning: '' })) },
}

const nothing: Expected = { kind: 'nothing' }

/** Returns the position of the last word. Pure. `words`: the words after `sluice`, the last one incomplete. */
export function positionOf(catalogue: readonly CommandEntry[], words: readonly string[]): Position {
  const flags: { pipelines: string; database: string | undefined } = { pipelines: defaultPipelines, database: undefined }
  let place: Place = rootPlace(catalogue)
  let argumentCount = 0
  /** Previous word, if it is a flag that needs a value. */
  let flagWithoutValue: string | undefined
  for (const word of words.slice(0, -1)) {
    const [name, value] = flagWithoutValue === undefined ? splitFlag(word) : [flagWithoutValue, word]
    if (flagWithoutValue === undefined && value === undefined && word.startsWith('-')) {
      flagWithoutValue = expectedValueOf(place, word) === undefined ? undefined : word
      continue
    }
    flagWithoutValue = undefined
    if (name === '--pipelines' && value !== undefined) flags.pipelines = value
    else if (name === '--database' && value !== undefined) flags.database = value
    if (value !== undefined) continue
    const next: Place | undefined = place.commands.get(word)
    if (next === undefined) argumentCount++
    else place = next
  }
  const last = words.at(-1) ?? ''
  if (flagWithoutValue !== undefined)
    return { ...flags, expected: expectedValueOf(place, flagWithoutValue) ?? nothing, typed: last, prefix: '' }
  const [name, value] = splitFlag(last)
  if (value !== undefined) return { ...flags, expected: expectedValueOf(place, name) ?? nothing, typed: value, prefix: `${name}=` }
  const expected: Expected = last.startsWith('-')
    ? { kind: 'words', words: place.options.flatMap(({ flags, meaning }) => spellings(flags).map((word) => ({ word, meaning }))) }
    : place.argument(argumentCount)
  return { ...flags, expected, typed: last, prefix: '' }
}

/** A command, or `sluice` itself, with everything that may follow it. */
interface Place {
  readonly options: readonly OptionEntry[]
  readonly commands: ReadonlyMap<string, Place>
  readonly argument: (index: number) => Expected
}

/** Returns the place after `sluice` itself. */
function rootPlace(catalogue: readonly CommandEntry[]): Place {
  const shown = catalogue.filter((entry) => !entry.hidden)
  const commands = shown.map(candidateOf)
  const options = [...globalOptions, { flags: '-V, --version', meaning: 'the version' }]
  const subjects = [...commands, ...topics.map((topic) => ({ word: topic, meaning: 'a topic' }))]
  const help: Place = { options: [], commands: new Map(shown.map(helpPlaceOf)), argument: firstOnly(subjects) }
  return {
    options,
    commands: new Map([...shown.map((entry) => [entry.name, placeOf(entry)] as const), ['help', help]]),
    argument: firstOnly([...commands, { word: 'help', meaning: 'about a command or a topic' }]),
  }
}

/** Returns the name and place of a command after `help`, where only its subcommands may follow. */
function helpPlaceOf({ name, commands = [] }: CommandEntry): [name: string, place: Place] {
  return [name, { options: [], commands: new Map(commands.map(helpPlaceOf)), argument: firstOnly(commands.map(candidateOf)) }]
}

function placeOf(entry: CommandEntry): Place {
  const subcommands = entry.commands ?? []
  const words = [...subcommands.map(candidateOf), ...(entry.choices ?? []).map((word) => ({ word, meaning: '' }))]
  const placeholders = [...(entry.args ?? '').matchAll(/[<[](.+?)(\.\.\.)?[>\]]/g)]
  return {
    options: optionsOf(entry),
    commands: new Map(subcommands.map((sub) => [sub.name, placeOf(sub)])),
    argument: (index) => {
      if (words.length > 0) return firstOnly(words)(index)
      const last = placeholders.at(-1)
      const [, name = ''] = placeholders[index] ?? (last?.[2] === undefined ? [] : last)
      return expectedByPlaceholder[name] ?? nothing
    },
  }
}

/** Offers the words for the first argument, and nothing for further ones. */
function firstOnly(words: readonly Candidate[]): Place['argument'] {
  return (index) => (index === 0 ? { kind: 'words', words } : nothing)
}

/** Returns the candidates for the value of a flag; undefined for a flag without a value and for an unknown flag. */
function expectedValueOf({ options }: Place, flag: string): Expected | undefined {
  const flags = options.find((option) => spellings(option.flags).includes(flag))?.flags
  const placeholder = /<(.+)>/.exec(flags ?? '')?.[1]
  return placeholder === undefined ? undefined : (expectedByPlaceholder[placeholder] ?? nothing)
}

/** Splits `--flag=value`. Returns any other word whole, without a value. */
function splitFlag(word: string): [flag: string, value: string | undefined] {
  const at = word.startsWith('--') ? word.indexOf('=') : -1
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

function candidateOf({ name, summary }: CommandEntry): Candidate {
  return { word: name, meaning: summary }
}

/** Returns the spellings of a flag: `-F` and `--field` for `-F, --field <key=value>`. */
function spellings(flags: string): string[] {
  return flags.replace(/ <.*$/, '').split(', ')
}
