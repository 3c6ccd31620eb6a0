/** Commands that show pipelines, runs and records, and the commands `audit` and `forget`. */
import type { CommandEntry } from './entry.ts'

const forgetCommand: CommandEntry = {
  name: 'forget',
  summary: 'erase a person: suppress, delete everywhere, purge',
  examples: [
    'sluice forget --email jane@example.com --reason "request 4711"',
    'sluice forget --email jane@example.com --phone +12025550123 --json',
    'sluice forget --key C-1042 --pipeline customers',
    'sluice forget --list --json',
  ],
  options: [
    { flags: '--email <ADDRESS>', meaning: 'email of the person; repeat it for more', repeatable: true },
    { flags: '--phone <NUMBER>', meaning: 'phone number with country code; repeat it for more', repeatable: true },
    { flags: '--key <KEY>', meaning: 'customer key in the audience of --pipeline; repeat it for more', repeatable: true },
    { flags: '--pipeline <PIPELINE>', meaning: 'audience that --key refers to, if there are several; its service is used' },
    { flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name; no personal data' },
    { flags: '--no-wait', meaning: 'suppress and plan only; the next runs send the deletes' },
    { flags: '--list', meaning: 'receipts of all erasures, at every service' },
    { flags: '--export <FILE>', meaning: 'write the suppressed digests to FILE (mode 0600), to keep beside the backups' },
    { flags: '--replay <FILE>', meaning: 'repeat the erasures in FILE after a backup was restored' },
  ],
  notes: [
    'The person is suppressed first: no run sends them again, even from a new file. Exits 3 if it waited and a delete is not confirmed; the next run sends it.',
    'Values are hashed immediately, never stored or logged. Your shell may keep them in its history.',
  ],
}

export const lookCommands: readonly CommandEntry[] = [
  {
    name: 'status',
    args: '[PIPELINE...]',
    summary: 'each pipeline now, and what needs action',
    examples: ['sluice status', "sluice status 'shop-*' --json"],
    notes: ['One screen: last result, age of the last success, next run or pause. Exits 0; --json lists what needs action as "needs".'],
  },
  {
    name: 'runs',
    args: '[PIPELINE]',
    summary: 'history of runs, newest first',
    examples: ['sluice runs', "sluice runs 'shop-*' --limit 5"],
    options: [{ flags: '--limit <N>', meaning: 'newest N, default 20' }],
  },
  {
    name: 'show',
    args: '<RUN_ID|PLAN_ID>',
    summary: 'one run as a funnel, or the changes of a plan',
    examples: ['sluice show r_81', 'sluice show p_7Q3F --changes'],
    options: [
      { flags: '--changes', meaning: 'every key of the plan: action, fields before and after' },
      { flags: '--markdown', meaning: 'the plan as Markdown, for a pull request' },
    ],
    notes: ['People are shown as shortened digests, never as values.'],
  },
  {
    name: 'rejects',
    args: '<RUN_ID>',
    summary: 'rejected rows of a run, with hints',
    examples: ['sluice rejects r_81', 'sluice rejects r_81 --csv bad.csv', 'sluice rejects r_81 --csv full.csv --from-source'],
    options: [
      { flags: '--csv <FILE>', meaning: "write the merchant's columns and the reasons; - is stdout" },
      { flags: '--from-source', meaning: 'with --csv: full rows, read again from the unchanged source' },
    ],
    notes: ['Personal columns are masked. With --from-source they are not, and FILE gets mode 0600.'],
  },
  {
    name: 'explain',
    args: '<PIPELINE> <KEY>',
    summary: 'the history of one record',
    examples: ['sluice explain shop SKU-004', 'sluice explain customers jane@example.com --json'],
    notes: [
      'KEY is a product id, a customer key, an email or a phone number. An email or a phone number is hashed immediately and never logged.',
    ],
  },
  {
    name: 'audit',
    args: '<PIPELINE>',
    summary: 'compare the catalog at the service with what was confirmed',
    examples: ['sluice audit shop', 'sluice audit shop --repair', 'sluice audit shop --json'],
    options: [{ flags: '--repair', meaning: 'also plan the corrections, for sluice apply' }],
    notes: [
      "Sends nothing. Exits 3 when products differ from what was confirmed, or could not be compared. Locks the pipeline meanwhile: 100,000 products take up to 15 minutes at the service's limits.",
      'The service lists only the first variant of a group: the others count as hidden, and --repair sends them again. Unmanaged products are reported and never touched.',
    ],
  },
  forgetCommand,
]
