/** Commands for use before the first run: they write and check pipeline files, and check the environment. */
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
      { flags: '--source <URI>', meaning: 'the source; init reads its first rows' },
      { flags: '--catalog <ID>', meaning: 'the rows are products of this catalog' },
      { flags: '--audience <ID>', meaning: 'the rows are people of this audience' },
      { flags: '--do-not-reach <ID>', meaning: 'the rows are people of this do-not-reach list' },
      { flags: '--account <ID>', meaning: 'the account of the audience or list' },
      { flags: '--sandbox', meaning: 'use the local sandbox: its ids, its address in .env' },
      { flags: '--map <FIELD=COLUMN>', meaning: 'the column of a field; repeat it for more', repeatable: true },
      { flags: '--set <FIELD=VALUE>', meaning: 'one value for every row; repeat it for more', repeatable: true },
      { flags: '--consent <COLUMN=VALUES>', meaning: 'consent column: values for yes, or not:VALUES for no', repeatable: true },
      { flags: '--ignore <COLUMN>', meaning: 'a column without meaning for consent; repeat it for more', repeatable: true },
      { flags: '--currency <CODE>', meaning: 'currency of prices without one, such as EUR' },
      { flags: '--country <CODE>', meaning: 'country of phone numbers without one, such as DE' },
      { flags: '--shop <URL>', meaning: 'address of the shop, for an export without links' },
      { flags: '--encoding <LABEL>', meaning: 'encoding of a source that is not UTF-8' },
      { flags: '--member <NAME>', meaning: 'the file to read in a zip with several files' },
      { flags: '--item <ELEMENT>', meaning: 'the element of one record, in XML that is not a feed' },
      { flags: '--force', meaning: 'replace the pipeline file' },
    ],
    notes: [
      'NAME defaults to the name of the source. On a terminal, init asks for missing values; elsewhere it names their flags. Values in .env are kept.',
    ],
  },
  {
    name: 'check',
    args: '[PIPELINE...]',
    summary: 'validate pipelines, show first mapped records',
    examples: ['sluice check', 'sluice check shop', "sluice check 'shop-*' --json"],
    options: [{ flags: '--rows <N>', meaning: 'rows to read from the start of the source, default 200' }],
    notes: ['Sends nothing. Personal values are masked.'],
  },
  {
    name: 'doctor',
    summary: 'check database, clock, credentials and access',
    examples: ['sluice doctor', 'sluice doctor --json'],
    notes: [
      'Changes nothing at the service; migrates the database, as a run does. Exits 1 when a check failed. Each failed line has its hint.',
    ],
  },
]
