/** Commands that plan, start, stop and pause runs. */
import type { CommandEntry } from './entry.ts'

export const runCommands: readonly CommandEntry[] = [
  {
    name: 'plan',
    args: '<PIPELINE...>',
    summary: 'show what a run would do; sends nothing',
    examples: ['sluice plan shop', 'sluice plan shop --full --out plan.json', "sluice plan 'shop-*' --markdown"],
    options: [
      { flags: '--full', meaning: 'plan to send everything again' },
      { flags: '--out <FILE>', meaning: 'write the changes to FILE: all as JSON, or the first 200 as Markdown (.md)' },
      { flags: '--markdown', meaning: 'print Markdown, for a pull request' },
    ],
    notes: ['Exits 4 when a guard would withhold something.'],
  },
  {
    name: 'apply',
    args: '<PLAN_ID>',
    summary: 'send a stored plan',
    examples: ['sluice apply p_7Q3F'],
    notes: [
      'Rejected when the synced state or the desired content changed after the plan was made, or a newer plan replaced it.',
      'Leaves out people who opted out or were suppressed since.',
    ],
  },
  {
    name: 'run',
    args: '<PIPELINE...>',
    summary: 'plan and send',
    examples: ['sluice run shop', "sluice run 'shop-*'", 'sluice run shop --approve-deletes 1180'],
    options: [
      { flags: '--full', meaning: 'send everything again (full refresh)' },
      { flags: '--approve-deletes <N>', meaning: 'approve up to N deletes that a guard would withhold' },
      { flags: '--take-over', meaning: 'move the destination to these credentials from those of another user' },
    ],
    notes: ['N is a maximum: with more than N deletes, all are withheld. Exit codes: sluice help exit-codes'],
  },
  {
    name: 'backfill',
    args: '<PIPELINE>',
    summary: 'send the rows of another source; deletes no missing rows',
    examples: ['sluice backfill shop --source late-products.csv'],
    options: [{ flags: '--source <URI>', meaning: 'required: the source to read instead of the one in the file' }],
  },
  {
    name: 'rerun',
    args: '<RUN_ID>',
    summary: 'repeat a run, or only what failed in it',
    examples: ['sluice rerun r_81', 'sluice rerun r_81 --failed'],
    options: [{ flags: '--failed', meaning: 'only what failed, was refused or is unresolved' }],
    notes: ['A rerun sends. Plans that were not applied, and audits, cannot be rerun.'],
  },
  {
    name: 'cancel',
    args: '<RUN_ID>',
    summary: 'stop a run, wherever it runs',
    examples: ['sluice cancel r_81', 'sluice cancel r_81 --reason "wrong feed"'],
    options: [{ flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name' }],
    notes: ['What was confirmed is kept, and the next run resumes from there. The schedule stays as it is.'],
  },
  {
    name: 'pause',
    args: '<PIPELINE...>',
    summary: 'start no run until resumed',
    examples: ['sluice pause shop --reason "feed is being rebuilt"', "sluice pause 'shop-*'"],
    options: [{ flags: '--reason <TEXT>', meaning: 'shown with the pause, kept in the audit log' }],
    notes: ['A run in progress continues: sluice cancel RUN_ID stops it. Each scheduled run is recorded as skipped: paused.'],
  },
  {
    name: 'resume',
    args: '<PIPELINE...>',
    summary: 'start runs again after a pause',
    examples: ['sluice resume shop', "sluice resume 'shop-*'"],
    options: [{ flags: '--reason <TEXT>', meaning: 'kept in the audit log with your name' }],
  },
]
