import type { CommandEntry, OptionEntry } from './catalogue.ts'
import { variables } from '../../config/variables.ts'
import { fixedCredentials } from '../../sandbox/area.ts'
import { exitCodes, worstFirst } from '../exitCodes.ts'

const width = 80

const outputOptions: readonly OptionEntry[] = [
  { flags: '--json', meaning: 'one JSON document on stdout' },
  { flags: '-h, --help', meaning: 'this text' },
]

/** Options that every command accepts. A command with `standalone` uses neither of the first two. */
export const globalOptions: readonly OptionEntry[] = [
  { flags: '--pipelines <DIR>', meaning: 'folder of pipeline files, default pipelines/' },
  { flags: '--database <URL>', meaning: 'Postgres; default DATABASE_URL, else the embedded one' },
  ...outputOptions,
]

/** Returns the options that help and completion show for a command, its own ones first. */
export function optionsOf({ options = [], standalone }: CommandEntry): readonly OptionEntry[] {
  return [...options, ...(standalone === true ? outputOptions : globalOptions)]
}

/** Topics of `sluice help TOPIC`. */
export const topics = ['environment', 'exit-codes', 'formatting'] as const
export type Topic = (typeof topics)[number]

/** Returns the text of `sluice --help`: at most 40 lines, each at most 80 columns wide. Leaves out hidden commands. */
export function mainHelp(catalogue: readonly CommandEntry[]): string {
  const names = catalogue.filter((entry) => !entry.hidden)
  return [
    'sluice syncs product catalogs and audiences from your own data.',
    '',
    'Example',
    '  sluice sandbox                 # local emulator of the service',
    '  sluice init shop --source feed.xml --sandbox',
    '  sluice check && sluice plan shop && sluice run shop',
    '',
    'Usage: sluice <command> [options]',
    '',
    ...formatPairs(names.map((entry) => [entry.name, entry.summary])),
    '',
    // Only names here: the help of each command explains them.
    `Everywhere: ${globalOptions.map(({ flags }) => flags).join(', ')}, -V`,
    '',
    `More: sluice help <command>, sluice help ${topics.join(' | ')}`,
    '',
  ].join('\n')
}

/** Returns the text of `sluice help COMMAND`: summary, examples, usage, options, notes. `path`: words of the command. */
export function commandHelp(path: readonly string[], entry: CommandEntry): string {
  const name = ['sluice', ...path].join(' ')
  const lines = [
    `${name}: ${entry.summary}`,
    '',
    entry.examples.length === 1 ? 'Example' : 'Examples',
    ...entry.examples.map((example) => `  ${example}`),
    '',
  ]
  if (entry.commands) {
    lines.push(
      `Usage: ${name} <command> [options]`,
      '',
      ...formatPairs(entry.commands.map((sub) => [sub.args === undefined ? sub.name : `${sub.name} ${sub.args}`, sub.summary])),
    )
  } else {
    lines.push(`Usage: ${name}${entry.args === undefined ? '' : ` ${entry.args}`} [options]`)
  }
  lines.push('', 'Options', ...formatPairs(optionsOf(entry).map((option) => [option.flags, option.meaning])))
  if (entry.notes) lines.push('', ...entry.notes.flatMap((note) => wrap(note, width)))
  return `${lines.join('\n')}\n`
}

/** Returns the text of `sluice help TOPIC`. */
export function topicHelp(topic: Topic): string {
  return `${topicTexts[topic]().join('\n')}\n`
}

const topicTexts: Readonly<Record<Topic, () => string[]>> = {
  environment: () => [
    'Example: a .env file for the sandbox, in the folder where you run sluice',
    '  SLUICE_BASE_URL=http://127.0.0.1:4010',
    `  SLUICE_CONSUMER_KEY=${fixedCredentials.consumerKey}`,
    '',
    'Variables (set for the process, else in .env; an empty value counts as unset)',
    ...formatPairs(variables.map(({ name, meaning, secret }) => [`${name}${secret ? ' *' : ''}`, meaning])),
    '',
    '* secret: can also be read from a file, NAME_FILE=/run/secrets/name.',
    'NO_COLOR and TERM=dumb switch colours off.',
  ],
  'exit-codes': () => [
    'Example: react to withheld deletes in a script',
    '  sluice run shop --json > run.json; [ $? -eq 4 ] && jq .guards run.json',
    '',
    ...formatPairs(exitCodes),
    '',
    `Several pipelines: the worst one, in the order ${worstFirst.join(', ')}.`,
  ],
  formatting: () => [
    'Example: the ids of runs that did not succeed',
    '  sluice runs --json | jq -r \'.[] | select(.status!="succeeded").runId\'',
    '',
    'Results go to stdout; progress and logs go to stderr (2>/dev/null hides them).',
    '--json prints one document on stdout, errors included:',
    '  {"error":{"code":"…","message":"…","where":"…","hint":"…"}}',
    'New keys may be added: ignore unknown ones. Times are ISO 8601, UTC.',
    'A terminal gets a progress bar; anything else plain lines, about one in 10 s.',
  ],
}

/**
 * Formats names and meanings as two columns, together at most 80 characters wide. A long meaning continues on the next line. The meaning of
 * a name with more than 28 characters begins on the next line.
 */
function formatPairs(rows: readonly (readonly [string, string])[]): string[] {
  const nameWidth = Math.min(28, Math.max(...rows.map(([name]) => name.length)))
  return rows.flatMap(([name, meaning]) => {
    const [first = '', ...rest] = wrap(meaning, width - nameWidth - 4)
    const head = name.length > nameWidth ? [`  ${name}`, `  ${' '.repeat(nameWidth)}  ${first}`] : [`  ${name.padEnd(nameWidth)}  ${first}`]
    return [...head, ...rest.map((line) => `  ${' '.repeat(nameWidth)}  ${line}`)]
  })
}

/** Breaks a text between words into lines of at most `maxLength` characters. A longer word is not broken. */
function wrap(text: string, maxLength: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > maxLength) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
