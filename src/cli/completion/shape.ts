import type { CommandEntry, OptionEntry } from '../catalogue/entry.ts'
import { globalOptions, topics } from '../help.ts'

/** A word that a shell may offer, with what it means. */
export interface Word {
  readonly word: string
  readonly meaning: string
}

/** Words that may follow one command: `''` is `sluice` itself, `auth login` a command of a group. */
export interface Place {
  readonly path: string
  /** Words in place of the first argument: commands, topics, choices. */
  readonly words: readonly Word[]
  readonly options: readonly Word[]
  /** Arguments that are names of pipelines: none, the first, every one. */
  readonly pipelines: 'none' | 'first' | 'all'
}

/** Type of a flag's value, as far as a shell can offer it. */
export type ValueKind = 'directory' | 'file' | 'other'

export interface Shape {
  /** In the order of the catalogue; hidden commands are left out. */
  readonly places: readonly Place[]
  /** Every spelling of every flag that takes a value; one flag takes the same kind wherever it stands. */
  readonly values: ReadonlyMap<string, ValueKind>
}

/** Endings of pipeline files, as `src/pipeline/load.ts` knows them. */
export const endings = ['ts', 'mts', 'yaml', 'yml', 'json'] as const

/** The whole command line as a shell needs it to offer words: from the catalogue alone, so that neither can forget the other. */
export function shapeOf(catalogue: readonly CommandEntry[]): Shape {
  const shown = catalogue.filter((entry) => !entry.hidden)
  const commands = shown.map(wordOf)
  const options = [...globalOptions, { flags: '-V, --version', meaning: 'the version' }]
  const help = [...commands, ...topics.map((topic) => ({ word: topic, meaning: 'a topic' }))]
  return {
    places: [
      {
        path: '',
        words: [...commands, { word: 'help', meaning: 'about a command or a topic' }],
        options: wordsOf(options),
        pipelines: 'none',
      },
      { path: 'help', words: help, options: [], pipelines: 'none' },
      ...placesOf(shown, []),
    ],
    values: new Map([...globalOptions, ...optionsOf(catalogue)].flatMap(valuesOf)),
  }
}

function placesOf(entries: readonly CommandEntry[], path: readonly string[]): Place[] {
  return entries.flatMap((entry) => {
    const here = [...path, entry.name]
    const place: Place = {
      path: here.join(' '),
      words: [...(entry.commands ?? []).map(wordOf), ...(entry.choices ?? []).map((word) => ({ word, meaning: '' }))],
      options: wordsOf([...(entry.options ?? []), ...globalOptions]),
      pipelines: !entry.args?.includes('PIPELINE') ? 'none' : entry.args.includes('...') ? 'all' : 'first',
    }
    return [place, ...placesOf(entry.commands ?? [], here)]
  })
}

function wordOf({ name, summary }: CommandEntry): Word {
  return { word: name, meaning: summary }
}

function wordsOf(options: readonly OptionEntry[]): Word[] {
  return options.flatMap(({ flags, meaning }) => spellings(flags).map((word) => ({ word, meaning })))
}

function optionsOf(entries: readonly CommandEntry[]): OptionEntry[] {
  return entries.flatMap((entry) => [...(entry.options ?? []), ...optionsOf(entry.commands ?? [])])
}

function valuesOf({ flags }: OptionEntry): [string, ValueKind][] {
  const value = /<(.+)>/.exec(flags)?.[1]
  if (value === undefined) return []
  const kind = value === 'DIR' ? 'directory' : value === 'FILE' || value === 'URI' ? 'file' : 'other'
  return spellings(flags).map((word) => [word, kind])
}

/** `-F, --field <key=value>` is `-F` and `--field`. */
function spellings(flags: string): string[] {
  return flags.replace(/ <.*$/, '').split(', ')
}
