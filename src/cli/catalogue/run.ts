/** What plans and sends, and what stops it. */
import type { CommandEntry } from './entry.ts'

const source = { flags: '--source <URI>', meaning: 'read this source instead of the one in the file' }

export const runCommands: readonly CommandEntry[] = [
  {
    name: 'plan',
    args: '<PIPELINE>',
    summary: 'what a run would do; sends nothing',
    examples: ['sluice plan shop', 'sluice plan shop --full --out plan.json'],
    options: [
      { flags: '--full', meaning: 'plan to send everything again' },
      { flags: '--out <FILE>', meaning: 'also write the plan as JSON to FILE' },
    ],
    notes: ['Exits 4 when a guard would withhold something.'],
    load: () => import('../commands/plan.ts'),
  },
  {
    name: 'apply',
    args: '<PLAN_ID>',
    summary: 'send exactly a stored plan',
    examples: ['sluice apply p_7Q3F'],
    notes: ['Refused when the synced state moved since the plan was made.'],
    load: () => import('../commands/apply.ts'),
  },
  {
    name: 'run',
    args: '<PIPELINE...>',
    summary: 'plan and send in one',
    examples: ['sluice run shop', "sluice run 'shop-*'", 'sluice run shop --approve-deletes 1180'],
    options: [
      { flags: '--full', meaning: 'send everything again (resync)' },
      { flags: '--approve-deletes <N>', meaning: 'delete, up to N, what a guard would withhold' },
    ],
    notes: ['A ceiling, not a switch: more than N deletes are withheld all the same. What ended how: sluice help exit-codes'],
    load: () => import('../commands/run.ts'),
  },
  {
    name: 'backfill',
    args: '<PIPELINE>',
    summary: 'send a one-off source; never deletes by absence',
    examples: ['sluice backfill shop --source late-products.csv'],
    options: [source],
    load: () => import('../commands/backfill.ts'),
  },
  {
    name: 'rerun',
    args: '<RUN_ID>',
    summary: 'run again, or only what a run left failed',
    examples: ['sluice rerun r_81', 'sluice rerun r_81 --failed'],
    options: [{ flags: '--failed', meaning: 'only what failed, was refused or is unsettled' }],
    load: () => import('../commands/rerun.ts'),
  },
  {
    name: 'cancel',
    args: '<RUN_ID>',
    summary: 'stop a run, wherever it runs',
    examples: ['sluice cancel r_81'],
    notes: ['What was confirmed is kept, and the next run goes on from there. The schedule stays as it is.'],
    load: () => import('../commands/cancel.ts'),
  },
]
