/** What comes before a run: a pipeline file, and whether all is well. */
import type { CommandEntry } from './entry.ts'

export const startCommands: readonly CommandEntry[] = [
  {
    name: 'init',
    args: '[NAME]',
    summary: 'write a pipeline file and .env for a source',
    examples: [
      'sluice init --source exports/crm.csv --sandbox',
      'sluice init shop --source https://shop.example.com/feed.xml --catalog 4001',
      'sluice init --source list.csv --audience 1nmth --account 18ce54d4x5t',
    ],
    options: [
      { flags: '--source <URI>', meaning: 'what to read; its first rows are looked at' },
      { flags: '--catalog <ID>', meaning: 'the rows are products of this catalog' },
      { flags: '--audience <ID>', meaning: 'the rows are people of this audience' },
      { flags: '--do-not-reach <ID>', meaning: 'the rows are people of this do-not-reach list' },
      { flags: '--account <ID>', meaning: 'the account of the audience or list' },
      { flags: '--sandbox', meaning: 'for the local sandbox: its ids, its address in .env' },
      { flags: '--map <FIELD=COLUMN>', meaning: 'the column of a field; repeat it for more', many: true },
      { flags: '--set <FIELD=VALUE>', meaning: 'one value for every row; repeat it for more', many: true },
      { flags: '--consent <COLUMN=VALUES>', meaning: 'who may be reached: values, with commas', many: true },
      { flags: '--currency <CODE>', meaning: 'of prices without one, such as EUR' },
      { flags: '--country <CODE>', meaning: 'of phone numbers without one, such as DE' },
      { flags: '--shop <URL>', meaning: 'before the links of an export that has none' },
      { flags: '--encoding <LABEL>', meaning: 'of a source that is not UTF-8' },
      { flags: '--force', meaning: 'replace the pipeline file' },
    ],
    notes: [
      'NAME is that of the source where it is left out. What is missing is asked for on a terminal, and named elsewhere. Values in .env stay as they are.',
    ],
    load: () => import('../commands/init.ts'),
  },
  {
    name: 'check',
    args: '[PIPELINE...]',
    summary: 'validate pipelines, show first mapped records',
    examples: ['sluice check', 'sluice check shop', "sluice check 'shop-*' --json"],
    options: [{ flags: '--rows <N>', meaning: 'rows to read from the start of the source, default 200' }],
    notes: ['Reads the first rows only and sends nothing. Personal values are masked.'],
    load: () => import('../commands/check.ts'),
  },
  {
    name: 'doctor',
    summary: 'database, clock, credentials, reach: what is wrong',
    examples: ['sluice doctor', 'sluice doctor --json'],
    notes: ['Only reads. Exits 1 when a check failed; each failed line has its mend.'],
    load: () => import('../commands/doctor.ts'),
  },
]
