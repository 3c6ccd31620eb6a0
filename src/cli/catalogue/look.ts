/** What became of it. */
import type { CommandEntry } from './entry.ts'

export const lookCommands: readonly CommandEntry[] = [
  {
    name: 'runs',
    args: '[PIPELINE]',
    summary: 'history of runs, newest first',
    examples: ['sluice runs', 'sluice runs shop --limit 5'],
    options: [{ flags: '--limit <N>', meaning: 'newest N, default 20' }],
    load: () => import('../commands/runs.ts'),
  },
  {
    name: 'show',
    args: '<RUN_ID>',
    summary: 'one run as a funnel',
    examples: ['sluice show r_81'],
    load: () => import('../commands/show.ts'),
  },
  {
    name: 'rejects',
    args: '<RUN_ID>',
    summary: 'rows that a run could not use, and the mend',
    examples: ['sluice rejects r_81', 'sluice rejects r_81 --csv bad.csv', 'sluice rejects r_81 --csv full.csv --from-source'],
    options: [
      { flags: '--csv <FILE>', meaning: "write the merchant's columns and the reasons; - is stdout" },
      { flags: '--from-source', meaning: 'with --csv: full rows, read again from the unchanged source' },
    ],
    notes: ['Personal columns are masked. With --from-source they are not, and FILE gets mode 0600.'],
    load: () => import('../commands/rejects.ts'),
  },
  {
    name: 'explain',
    args: '<PIPELINE> <KEY>',
    summary: "one record's whole story",
    examples: ['sluice explain shop SKU-004', 'sluice explain customers jane@example.com --json'],
    notes: ['KEY is a product id, a customer key, an email or a phone. It is hashed at once and never logged.'],
    load: () => import('../commands/explain.ts'),
  },
  {
    name: 'audit',
    args: '<PIPELINE>',
    summary: 'read the catalog back: what changed behind us',
    examples: ['sluice audit shop', 'sluice audit shop --repair', 'sluice audit shop --json'],
    options: [{ flags: '--repair', meaning: 'also plan to put right what differs, for sluice apply' }],
    notes: [
      "Sends nothing. Exits 3 where products are not as confirmed, or could not be judged. Holds the pipeline meanwhile: 100,000 products take up to 15 minutes at the service's limits.",
      'Of a group the service lists the first variant only: the others count as hidden, and --repair puts them again. Products of others are reported and never touched.',
    ],
    load: () => import('../commands/audit.ts'),
  },
]
