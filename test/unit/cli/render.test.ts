/** Texts for users, made from given reports. */
import { expect, test, vi } from 'vitest'
import type { Output } from '../../../src/cli/context.ts'
import { worstExitCode } from '../../../src/cli/exitCodes.ts'
import { suggestName } from '../../../src/suggestName.ts'
import { barOf, createProgress } from '../../../src/cli/terminal/progress.ts'
import { checkReport, nextStep } from '../../../src/cli/reports/check.ts'
import { funnel, runsTable } from '../../../src/cli/reports/funnel.ts'
import { runOutcome } from '../../../src/cli/reports/outcome.ts'
import { hintCompleter } from '../../../src/cli/commandLine/repeatedCall.ts'
import { planSummary } from '../../../src/cli/commands/plan.ts'
import { renderRejects } from '../../../src/cli/reports/rejects.ts'
import { styleFor } from '../../../src/cli/terminal/style.ts'
import { fold, safe } from '../../../src/cli/terminal/text.ts'
import { shownAddress, storedAddress } from '../../../src/shownAddress.ts'
import { width } from '../../../src/cli/terminal/width.ts'
import { waiting } from '../../../src/cli/terminal/waiting.ts'
import { noCounts, type PlanReport, type RunCounts, type RunReport } from '../../../src/model/report.ts'

const deletesHeld = {
  code: 'GUARD_DELETES',
  message: '1,180 of 11,191 synced products would be deleted (10.5 %), over both limits (10 products and 10 %)',
  hint: 'sluice run shop --approve-deletes 1180',
  withheld: 1180,
  examples: ['SKU-004', 'SKU-009'],
}

test('a run in progress counts no request as failed that may still get an answer', () => {
  const counts = { read: 60, valid: 60, updates: 60, requests: 2, confirmed: 25, ambiguous: 25, pending: 10 }
  const under = funnel({ ...run({ counts }), status: 'running' as RunReport['status'] }, pipe())
  expect(under).toContain('  failed       0\n  unresolved  25\n  not sent    10\n')
  expect(under).toMatch(/\nNext {2}sluice cancel r_81\n$/)
  const ended = funnel(run({ counts, status: 'partial' }), pipe())
  expect(ended).toContain('  failed     25  = 0 refused + 25 unresolved\n')
  expect(ended).toContain('sluice rerun r_81 --failed')
})

test('a plan names the notes on the whole source, because the next run does not repeat all of them', () => {
  const note = { field: '', message: '', count: 1, lines: [] }
  const warnings = ['MOST_CHANGED', 'OTHER_PIPELINE', 'COLUMN_UNKNOWN', 'PRICES_DOUBTFUL'].map((code) => ({ ...note, code }))
  const guards = [{ ...deletesHeld, code: 'GUARD_PRICES_DOUBTFUL' }]
  expect(planSummary(plan({ warnings, guards }), pipe())).toContain('\n  ! notes      MOST_CHANGED, OTHER_PIPELINE: sluice show p_7Q3F\n')
  expect(planSummary(plan({}), pipe())).not.toContain('notes')
  const completeHint = hintCompleter({ pipelines: 'other', database: undefined })
  expect(planSummary(plan({ warnings }), { ...pipe(), completeHint })).toContain(': sluice show --pipelines other p_7Q3F\n')
})

test('a plan that a guard stopped is not stored, so its summary names the run', () => {
  const warnings = [{ code: 'DO_NOT_REACH_UNREAD', field: '', message: '', count: 1, lines: [] }]
  const text = planSummary({ ...plan({ runId: 'r_11', warnings }), planId: '' }, pipe())
  expect(text).toContain('DO_NOT_REACH_UNREAD: sluice show r_11\n')
  expect(text).toMatch(/^shop {3}no plan {3}/)
})

test('a plan is a table of at most 15 lines with 80 columns', () => {
  const text = planSummary(
    plan({
      counts: {
        read: 10_240,
        rejected: 31,
        duplicates: 4,
        valid: 10_205,
        unchanged: 9871,
        stale: 18,
        creates: 212,
        updates: 122,
        withheld: 1180,
      },
      guards: [deletesHeld],
    }),
    pipe(),
  )
  expect(text).toBe(
    [
      'shop   plan p_7Q3F   10,240 rows, end proven   4.1 s',
      '  + creates            212',
      '  ~ updates            122   price 97 · availability 31 · title 6',
      '  - deletes              0',
      '  = unchanged        9,871',
      '  ! stale               18   rejected rows; their last version stays live',
      '  ! withheld         1,180   by a guard: deletes, or products to set out of stock',
      '  ! rejected            31   PRICE_CURRENCY_MISSING 27 · LINK_INVALID 4',
      '  ! duplicates           4',
      "  14 requests, under 1 min at the service's limits",
      'NEEDS APPROVAL  GUARD_DELETES  1,180 of 11,191 synced products would be deleted (10.5 %), over both limits (10 products and 10 %)',
      '      e.g. SKU-004, SKU-009',
      'Next  sluice apply p_7Q3F',
      '      sluice run shop --approve-deletes 1180',
      '',
    ].join('\n'),
  )
})

test('a run prints one line of facts and the next command to a pipe', () => {
  const report = run({
    status: 'withheld',
    counts: { read: 10_240, rejected: 0, valid: 10_240, updates: 334, confirmed: 333, refused: 1, withheld: 1180 },
    guards: [deletesHeld],
  })
  expect(runOutcome(report, pipe()).split('\n')).toEqual([
    '2026-11-21T03:00:18Z shop r_81 withheld confirmed=333 refused=1 deletes_withheld=1180',
    'NEEDS APPROVAL  GUARD_DELETES  1,180 of 11,191 synced products would be deleted (10.5 %), over both limits (10 products and 10 %)',
    '      e.g. SKU-004, SKU-009',
    'Next  sluice rerun r_81 --failed',
    '      sluice run shop --approve-deletes 1180',
    '',
  ])
})

test('withheld products that would be set out of stock are not called deletes', () => {
  const of = (outOfStock: number) =>
    runOutcome(
      run({ status: 'withheld', counts: { valid: 500, withheld: 12 }, guards: [{ ...deletesHeld, withheld: 12, outOfStock }] }),
      terminal(120),
    )
  expect(of(12)).toContain('0 confirmed · 12 out-of-stock updates withheld')
  expect(of(2)).toContain('12 changes withheld')
  expect(of(0)).toContain('12 deletes withheld')
})

test('batches of an earlier run are shown beside the counts of the run, and alone if it planned nothing', () => {
  const alone = run({ status: 'succeeded', counts: { valid: 60, unchanged: 60, requests: 3 }, settled: { confirmed: 60, refused: 0 } })
  expect(runOutcome(alone, pipe())).toContain(' succeeded settled_confirmed=60 settled_in_requests=3\n')
  expect(runOutcome(alone, terminal(120))).toContain('60 confirmed of an earlier run, in 3 requests')
  const unresolved = { ...alone, settled: { confirmed: 0, refused: 0 } }
  expect(runOutcome(unresolved, terminal(120))).toContain('none confirmed of an earlier run, in 3 requests')
  const beside = run({
    status: 'partial',
    counts: { updates: 4, confirmed: 3, refused: 1, deferred: 2, requests: 2 },
    settled: { confirmed: 5, refused: 1 },
  })
  expect(runOutcome(beside, pipe())).toContain(' partial confirmed=3 settled_confirmed=5 refused=1 deferred=2\n')
  expect(runOutcome(beside, terminal(160))).toContain('3 confirmed · 5 confirmed and 1 refused of an earlier run · 1 refused · 2 deferred')
  expect(runOutcome(beside, pipe())).toMatch(/Next {2}sluice rerun r_81 --failed\n {6}sluice run shop\n$/)
})

test('a failed run reports whether anything was sent, unless its error does, and ends with a command', () => {
  const error = { code: 'SOURCE_MISSING' as const, message: 'the file does not exist', where: 'feed.csv', hint: 'correct the path' }
  expect(runOutcome(run({ status: 'failed', counts: {}, error }), pipe())).toMatch(
    /does not exist\. Nothing was sent\.\nNext {2}correct the path\n {6}sluice check shop\n$/,
  )
  expect(runOutcome(run({ status: 'failed', counts: { requests: 2 }, error }), pipe())).toContain('. What was confirmed is kept.\n')
  const withOutcome = { ...error, message: 'gone; what was confirmed is kept' }
  expect(runOutcome(run({ status: 'failed', counts: { requests: 2 }, error: withOutcome }), pipe())).toContain('is kept\nNext')
})

test('a second run of the same work reports that there was nothing to do', () => {
  const report = run({ status: 'succeeded', counts: { read: 9, valid: 9, unchanged: 9 } })
  expect(runOutcome(report, pipe())).toBe('2026-11-21T03:00:18Z shop r_81 succeeded nothing to do\n')
  expect(runOutcome(report, terminal(80))).toContain('nothing to do: 9 unchanged')
})

test.for([
  [
    run({
      status: 'failed',
      error: { code: 'FILE_TRUNCATED', message: 'the file ends inside a record', where: 'feed.csv:12', hint: 'export it again' },
    }),
    'export it again',
  ],
  [
    run({
      status: 'skipped',
      error: {
        code: 'PIPELINE_HELD',
        message: 'shop is locked by another run. Nothing was sent.',
        where: 'shop',
        hint: 'sluice runs shop',
      },
    }),
    'sluice runs shop',
  ],
  [run({ status: 'skipped' }), 'sluice runs shop'],
  [run({ status: 'cancelled' }), 'sluice run shop'],
  // A run would send, and would delete the rows that only the backfill has.
  [run({ status: 'cancelled', trigger: 'plan' }), 'sluice plan shop'],
  [run({ status: 'cancelled', trigger: 'audit' }), 'sluice audit shop'],
  [run({ status: 'cancelled', trigger: 'backfill' }), 'sluice rerun r_81'],
  // `sluice run` would do the same as the repetition, or be refused because of it.
  [
    run({
      status: 'cancelled',
      error: { code: 'RUN_INTERRUPTED', message: 'stopped by a signal; r_82 repeats it', where: 'shop', hint: 'sluice show r_82' },
    }),
    'sluice show r_82',
  ],
  [run({ status: 'partial', counts: { refused: 1 } }), 'sluice rerun r_81 --failed'],
  [run({ status: 'withheld', guards: [deletesHeld] }), 'sluice run shop --approve-deletes 1180'],
] as const)('a run that did not succeed ends with the next command', ([report, command]) => {
  for (const output of [pipe(), terminal(80)])
    expect(runOutcome(report, output).trimEnd().split('\n').slice(-2).join('\n')).toContain(command)
})

test('only a run that was skipped because of a lock has the command that shows the lock', () => {
  const skipped = (code: 'PIPELINE_HELD' | 'PIPELINE_PAUSED', hint: string) =>
    runOutcome(run({ status: 'skipped', error: { code, message: 'Nothing was sent.', where: 'shop', hint } }), terminal(80))
  expect(skipped('PIPELINE_HELD', 'sluice runs shop')).toMatch(/\nNext {2}sluice runs shop {3}which run locked it\n$/)
  expect(skipped('PIPELINE_PAUSED', 'sluice resume shop')).toMatch(/\nNext {2}sluice resume shop\n$/)
})

test('the funnel prints its sums, so that users can check the counts', () => {
  const text = funnel(
    run({
      status: 'partial',
      counts: {
        read: 10,
        rejected: 2,
        duplicates: 1,
        suppressed: 1,
        valid: 6,
        creates: 3,
        updates: 1,
        confirmed: 3,
        refused: 1,
        requests: 2,
        unchanged: 2,
      },
    }),
    pipe(),
  )
  expect(text).toContain('10  = 6 valid + 2 rejected + 1 duplicates + 1 suppressed')
  expect(text).toContain('4  = 3 creates + 1 updates + 0 deletes + 0 renewals')
  expect(text).toContain('1  = 1 refused + 0 unresolved')
})

test('only a terminal gets colours, and the text without them has the same meaning', () => {
  const report = plan({ counts: { read: 1, valid: 1, creates: 1 } })
  const bare = planSummary(report, terminal(80)).replace(/\u001b\[\d+m/g, '')
  expect(bare).toBe(planSummary(report, pipe()))
  expect(planSummary(report, pipe())).not.toContain('\u001b')
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }, { NO_COLOR: '1', FORCE_COLOR: '1' }])
    expect(styleFor({ isTTY: true }, env).red('x')).toBe('x')
  expect(styleFor({ isTTY: true }, { NO_COLOR: '' }).red('x')).not.toBe('x')
  expect(styleFor({ isTTY: false }, { FORCE_COLOR: '1' }).red('x')).toBe('x')
})

test.for([40, 400])('at %i columns no line is wider than the terminal, and output to a pipe is not cut', (columns) => {
  const long = 'a-very-long-pipeline-name-that-goes-on-and-on-and-on'
  const report = run({ pipeline: long, status: 'succeeded' })
  expect(
    Math.max(
      ...runsTable([report], terminal(columns))
        .split('\n')
        .map((line) => line.length),
    ),
  ).toBeLessThanOrEqual(columns)
  expect(runsTable([report], pipe())).toContain(long)
  const rejects = [{ line: 41, code: 'LINK_INVALID', field: 'link', message: 'x'.repeat(500), hint: 'absolute https:// address' }]
  const colours = /\u001b\[\d+m/g
  for (const line of renderRejects(rejects, terminal(columns)).replace(colours, '').split('\n'))
    expect(line.length).toBeLessThanOrEqual(columns)
  expect(renderRejects(rejects, pipe())).toContain('x'.repeat(500))
})

test('the history and the page of a skipped run show why it was skipped', () => {
  const skipped = (code: 'PIPELINE_PAUSED' | 'PIPELINE_HELD') =>
    run({ status: 'skipped', error: { code, message: 'not started', where: 'shop', hint: 'sluice runs shop' } })
  for (const show of [
    (report: ReturnType<typeof run>) => runsTable([report], pipe()),
    (report: ReturnType<typeof run>) => funnel(report, pipe()),
  ]) {
    expect(show(skipped('PIPELINE_PAUSED'))).toContain('  skipped: paused  manual')
    expect(show(skipped('PIPELINE_HELD'))).toContain('  skipped: locked  manual')
  }
})

test('a narrow terminal wraps the lines of the history, with all values', () => {
  const report = run({ status: 'withheld', counts: { read: 10_240, rejected: 31, confirmed: 333, withheld: 1180 } })
  expect(runsTable([report], terminal(40))).toBe(
    [
      'r_81  shop  withheld  manual',
      '      2026-11-21T03:00:00Z  18 s',
      '      read 10,240  sent 333  rejected 31',
      '      withheld 1,180',
      '',
    ].join('\n'),
  )
  expect(runsTable([report], terminal(200))).toBe(runsTable([report], pipe()))
})

test.for([
  ['exports/crm.csv', 'exports/crm.csv'],
  ['https://shop.example.com/feed.xml', 'https://shop.example.com/feed.xml'],
  ['https://shop.example.com/feed.xml?token=canary', 'https://shop.example.com/feed.xml?…'],
  ['sftp://canary:canary@files.example.com/x.csv', 'sftp://files.example.com/x.csv'],
  ['postgres://canary:canary@db.example.com:5432/shop', 'postgres://db.example.com:5432/shop'],
  ['https://canary:can ary@[', 'https:…'],
] as const)('the address %s is shown as %s', ([address, shown]) => {
  expect(shownAddress(address)).toBe(shown)
})

test.for([
  ['exports/crm.csv', 'exports/crm.csv'],
  ['https://shop.example.com/a%20b.csv', 'https://shop.example.com/a%20b.csv'],
  ['https://shop.example.com/feed.xml?token=canary', 'https://shop.example.com/feed.xml?…'],
  ['https://shop.example.com/feed.xml?…', 'https://shop.example.com/feed.xml?…'],
  ['sftp://jane:canary@files.example.com/x.csv', 'sftp://jane@files.example.com/x.csv'],
  ['postgres://jane:canary@db.example.com:5432/shop?sslmode=require', 'postgres://jane@db.example.com:5432/shop?…'],
  ['https://canary:can ary@[', 'https:…'],
] as const)('the address %s is stored as %s', ([address, stored]) => {
  expect(storedAddress(address)).toBe(stored)
})

test('check shows the names of columns without control characters', () => {
  const source = {
    uri: 'feed.csv',
    detected: [],
    columns: ['a\u001b[2Jb'],
    rows: 1,
    valid: 1,
    suppressed: 0,
    rejected: 0,
    duplicates: 0,
    holds: [],
    whole: true,
    records: [{ line: 2, fields: { 'a\u001b[2Jb': 'x\u0007' } }],
    rejects: [],
    warnings: [],
  }
  const text = checkReport({ pipeline: 'shop', file: 'shop.yaml', destination: 'catalog 4001', sources: [source] }, '', pipe())
  expect(text).toContain('a\\u001b[2Jb')
  expect(text).not.toMatch(/[\u0007\u001b]/)
})

test.for([40, 60, 80])('check is not wider than a terminal of %i columns: values are cut, messages wrap', (columns) => {
  const long = 'word '.repeat(40).trim()
  const check = {
    pipeline: 'shop',
    file: 'pipelines/shop.yaml',
    destination: 'catalog 4001',
    sources: [
      {
        uri: `exports/${'x'.repeat(100)}.csv`,
        detected: ['csv', 'utf-8'],
        columns: ['title', 'x'.repeat(100)],
        rows: 2,
        valid: 1,
        suppressed: 0,
        rejected: 1,
        duplicates: 0,
        holds: [{ code: 'GUARD_REJECTS', message: long, hint: long }],
        whole: true,
        records: [{ line: 2, fields: { title: 'x'.repeat(200) } }],
        rejects: [{ line: 3, code: 'PRICE_INVALID', field: 'price', message: long, hint: long }],
        warnings: [{ line: 3, code: 'FIELD_UNKNOWN', field: 'colour', message: long }],
      },
    ],
  }
  for (const line of `${checkReport(check, '', terminal(columns))}${nextStep([check], terminal(columns))}`.split('\n'))
    expect(width(line.replaceAll(/\u001b\[\d+m/g, '')), line).toBeLessThanOrEqual(columns)
})

test('runs name their environment only if they belong to several', () => {
  const [service, credentials] = ['https://ads.example.com', 'user 1 of application aa']
  const table = (...environments: readonly { service: string | null; credentials: string | null }[]) =>
    runsTable(
      environments.map((environment) => ({ ...run({}), ...environment })),
      pipe(),
    )
  // A destination that never ran belongs to no user yet, and some early runs have no destination.
  const one = table({ service, credentials }, { service, credentials: null }, { service: null, credentials: null })
  expect(one).toBe(runsTable([run({}), run({}), run({})], pipe()))
  expect(table({ service, credentials }, { service, credentials: 'user 2' })).toContain(`${service} as user 2`)
  expect(table({ service, credentials }, { service: 'https://other.example.com', credentials: null })).toContain('other.example.com')
})

test('columns are aligned for any letters of the names', () => {
  const reports = ['shop', '店舗', 'Käufer', 'cafe\u0301', '👕👖'].map((pipeline) => run({ pipeline, status: 'succeeded' }))
  const starts = runsTable(reports, pipe())
    .trimEnd()
    .split('\n')
    .map((line) => width(line.slice(0, line.indexOf('succeeded'))))
  expect(new Set(starts).size).toBe(1)
  expect(starts).toHaveLength(5)
})

test.for([24, 40, 80])('at %i columns summaries wrap between words, and a command stays on one line', (columns) => {
  const report = run({
    status: 'withheld',
    counts: { read: 10_240, rejected: 31, duplicates: 4, valid: 10_205, creates: 212, refused: 1, confirmed: 211, withheld: 1180 },
    guards: [{ ...deletesHeld, examples: Array.from({ length: 5 }, (_, i) => `SKU-00${i}`) }],
    rejectCodes: [{ code: 'LINK_INVALID', count: 4 }],
  })
  const bare = (text: string) => text.replaceAll(/\u001b\[\d+m/g, '')
  for (const [shown, piped] of [
    [funnel(report, terminal(columns)), funnel(report, pipe())],
    [planSummary(plan({ ...report }), terminal(columns)), planSummary(plan({ ...report }), pipe())],
    [runOutcome(report, terminal(columns)), ''],
    [
      renderRejects(
        [{ line: 41, code: 'LINK_INVALID', field: 'link', message: 'm', hint: 'use an absolute https:// address' }],
        terminal(columns),
      ),
      '',
    ],
  ] as const) {
    for (const line of bare(shown).split('\n')) if (!line.includes('sluice ')) expect(line.length, line).toBeLessThanOrEqual(columns)
    // All words are printed.
    if (piped !== '') expect(bare(shown).split(/\s+/)).toEqual(piped.split(/\s+/))
  }
  expect(funnel(report, terminal(columns))).toContain('  sluice run shop --approve-deletes 1180\n')
  expect(runOutcome(report, terminal(columns))).toMatch(
    columns === 80 ? /--failed +sends the unconfirmed part/ : /sluice rerun r_81 --failed\n/,
  )
})

test('a word that is wider than the terminal is not split', () => {
  expect(fold(`  a  ${'x'.repeat(30)} b`, 20)).toBe(`  a\n  ${'x'.repeat(30)}\n     b`)
  expect(fold('short', 20)).toBe('short')
  expect(fold('x '.repeat(40), undefined)).toBe('x '.repeat(40))
})

test('a wait of more than a second is shown on a terminal and erased, or printed once as plain text', async () => {
  vi.useFakeTimers()
  try {
    const shown = async (output: ReturnType<typeof pipe>, ms: number) => {
      const work = waiting({ stderr: output }, 'looking', () => new Promise((resolve) => setTimeout(resolve, ms)))
      await vi.advanceTimersByTimeAsync(ms)
      await work
      return output.text()
    }
    expect(await shown(terminal(80), 3500)).toMatch(/^(\r\S*looking … \d s\S*){3}\r\u001b\[K$/)
    expect(await shown(terminal(80), 900)).toBe('')
    expect(await shown({ ...terminal(80), style: styleFor({ isTTY: true }, { NO_COLOR: '1' }) }, 3500)).toBe('looking …\n')
    expect(await shown(pipe(), 3500)).toBe('')
    await expect(waiting({ stderr: terminal(80) }, 'looking', () => Promise.reject(new Error('gone')))).rejects.toThrow('gone')
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('a feed cannot move the cursor or forge a line', () => {
  expect(safe('a\u001b[2Jb\r\nerror  FAKE\u202e\u0007')).toBe('a\\u001b[2Jb\\u000d\\u000aerror  FAKE\\u202e\\u0007')
  const forged = renderRejects([{ line: 1, code: 'X_Y', field: 'f', message: 'm\n=\u001b[31m', hint: 'n' }], pipe())
  for (const raw of ['\u001b', 'm\n=']) expect(forged).not.toContain(raw)
})

test('rejects are grouped by code, the most frequent first, with the first lines', () => {
  const reject = (line: number, code: string) => ({ line, code, field: 'price', message: `"${line}"`, hint: 'write "19.99 EUR"' })
  const text = renderRejects([reject(1, 'RARE_ONE'), ...[41, 88, 90, 91, 92].map((line) => reject(line, 'PRICE_CURRENCY_MISSING'))], pipe())
  expect(text.split('\n')[0]).toBe('PRICE_CURRENCY_MISSING  5 rows  price   hint: write "19.99 EUR"')
  expect(text).toContain('  line 41      "41"')
  expect(text).toContain('  … 2 more')
})

test('plain progress is a line for each stage, then at most one in ten seconds, without a carriage return', () => {
  const output = pipe()
  let at = 0
  const clock = { now: () => Date.parse('2026-11-21T03:00:04Z') + at, monotonic: () => at, sleep: () => Promise.resolve() }
  const progress = createProgress(output, clock, 'shop r_81')
  progress.update({ stage: 'read', done: 0 })
  progress.update({ stage: 'diff', done: 0 })
  for (at = 500; at <= 20_000; at += 500) progress.update({ stage: 'push', done: at / 50, total: 1000 })
  progress.end()
  const lines = output.text().trimEnd().split('\n')
  expect(output.text()).not.toContain('\r')
  expect(lines).toEqual([
    '2026-11-21T03:00:04Z shop r_81 read rows=0',
    // Numbers are shown only once they are known.
    '2026-11-21T03:00:04Z shop r_81 diff',
    '2026-11-21T03:00:04Z shop r_81 push done=10 of=1000',
    '2026-11-21T03:00:14Z shop r_81 push done=210 of=1000 per_second=20 left=40s',
    '2026-11-21T03:00:24Z shop r_81 push done=400 of=1000 per_second=20 left=31s',
  ])
})

test.for([
  [{ stage: 'read', done: 0 }, undefined, { line: 'read  \u0000', share: undefined }],
  [{ stage: 'read', done: 1200 }, 600, { line: 'read  \u00001,200 rows  600/s', share: undefined }],
  [{ stage: 'push', done: 228, total: 334 }, 21, { line: 'push  \u0000228/334  21/s  5 s left', share: 228 / 334 }],
  [{ stage: 'push', done: 0, total: 0 }, undefined, { line: 'push  \u00000/0', share: undefined }],
] as const)('a terminal shows for %j at %s/s no unknown number, and no share of another stage', ([progress, rate, bar]) => {
  // Compared strictly, because a missing share would leave the share of the stage before.
  expect(barOf(progress, rate)).toStrictEqual(bar)
})

test('a slow source, and a stage that reports nothing, get a line every 14 s', () => {
  vi.useFakeTimers()
  try {
    const output = pipe()
    const clock = { now: () => Date.parse('2026-11-21T03:00:00Z'), monotonic: () => performance.now(), sleep: () => Promise.resolve() }
    const progress = createProgress(output, clock, 'shop')
    vi.advanceTimersByTime(61_000)
    progress.update({ stage: 'diff', done: 0 })
    vi.advanceTimersByTime(30_000)
    progress.end()
    vi.advanceTimersByTime(60_000)
    expect(output.text().replaceAll('2026-11-21T03:00:00Z shop ', '')).toBe(
      'begin waited=14s\nbegin waited=28s\nbegin waited=42s\nbegin waited=56s\ndiff\ndiff\ndiff\n',
    )
  } finally {
    vi.useRealTimers()
  }
})

test('progress lines name the pipeline and the run once the run has started', () => {
  const update = (format: 'pretty' | 'json') => {
    const output = pipe()
    const progress = createProgress(output, { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }, 'rerun of r_80', format)
    progress.update({ stage: 'read', done: 2, run: { runId: 'r_81', pipeline: 'shop' } })
    progress.end()
    return output.text()
  }
  expect(update('pretty')).toBe('1970-01-01T00:00:00Z shop r_81 read rows=2\n')
  const log = { time: '1970-01-01T00:00:00.000Z', level: 'info', msg: 'progress' }
  expect(JSON.parse(update('json'))).toEqual({ ...log, pipeline: 'shop', runId: 'r_81', stage: 'read', rows: 2 })
})

test('progress lines are JSON if logs are', () => {
  const output = pipe()
  const progress = createProgress(output, { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }, 'shop', 'json')
  progress.update({ stage: 'push', done: 1, total: 4, waiting: 'service down (http://127.0.0.1:1), retrying in 2 s' })
  progress.update({ stage: 'push', done: 4, total: 4 })
  progress.end()
  const line = { time: '1970-01-01T00:00:00.000Z', level: 'info', msg: 'progress', label: 'shop', stage: 'push', of: 4 }
  expect(
    output
      .text()
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text) as unknown),
  ).toEqual([
    { ...line, done: 1, waiting: 'service down (http://127.0.0.1:1), retrying in 2 s' },
    { ...line, done: 4 },
  ])
})

test('in the second half the time left is right within a quarter, even if a limit lets requests through in bursts', () => {
  const output = pipe()
  let at = 0
  const progress = createProgress(output, { now: () => at, monotonic: () => at, sleep: () => Promise.resolve() }, 'shop')
  // 20 bursts of 100 in 2 s, each followed by a wait of 13 s.
  const doneAt = (ms: number) => Math.min(2_000, Math.floor(ms / 15_000) * 100 + Math.min(100, Math.floor((ms % 15_000) / 20)))
  for (at = 0; doneAt(at) < 2_000; at += 500) progress.update({ stage: 'push', done: doneAt(at), total: 2_000 })
  const end = at
  const lines = output.text().trimEnd().split('\n')
  const late = lines.flatMap((line) => {
    const [, time = '', left] = /^(\S+) .*left=(\d+)s/.exec(line) ?? []
    const ms = Date.parse(time)
    // The last minute has too few bursts to divide by.
    return left === undefined || ms < end / 2 || end - ms < 60_000 ? [] : [{ left: Number(left), truth: (end - ms) / 1000 }]
  })
  expect(late.length).toBeGreaterThan(5)
  for (const { left, truth } of late) expect(Math.abs(left - truth) / truth).toBeLessThan(0.25)
})

test.for([{ NO_COLOR: '1' }, { TERM: 'dumb' }])('a terminal with %j gets plain lines instead of a bar, and no escape sequence', (env) => {
  const output = { ...terminal(80), style: styleFor({ isTTY: true }, env) }
  const progress = createProgress(output, { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }, 'shop r_81')
  progress.update({ stage: 'read', done: 0 })
  progress.end()
  expect(output.text()).toBe('1970-01-01T00:00:00Z shop r_81 read rows=0\n')
})

test('the progress bar is cleared on its own line, also after log lines have moved it', () => {
  const output = terminal(80)
  const progress = createProgress(output, { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }, 'shop')
  progress.update({ stage: 'read', done: 1, total: 2 })
  output.write('\nWARN a log line\n')
  progress.update({ stage: 'read', done: 2, total: 2 })
  progress.end()
  expect(output.text()).not.toMatch(/\u001b[78]/)
  expect(output.text()).toMatch(/read .*\u001b\[1G\u001b\[2K$/s)
})

test.for([
  [[0, 3, 4], 4],
  [[3, 5], 5],
  [[4, 5], 5],
  [[3, 4], 4],
  [[5, 1, 4], 1],
  [[0, 0], 0],
  [[], 0],
] as const)('several pipelines %j exit %i: the worst of 1, 5, 4, 3, 0', ([codes, expected]) => {
  expect(worstExitCode(codes)).toBe(expected)
})

test.for([
  ['shpo', ['shop', 'customers'], 'shop'],
  ['cust', ['shop', 'customers'], 'customers'],
  ['zzz', ['shop'], undefined],
  ['x', ['shop'], undefined],
  ['emial', ['email', 'phone'], 'email'],
  ['EMAIL', ['email', 'phone'], 'email'],
  ['custmers', ['costs', 'customers_old', 'customers'], 'customers'],
  ['sh', ['shop'], undefined],
] as const)('suggestion for %s', ([name, names, expected]) => {
  expect(suggestName(name, names)).toBe(expected)
})

function run(given: Partial<Omit<RunReport, 'counts'>> & { counts?: Partial<RunCounts> }): RunReport {
  return {
    runId: 'r_81',
    pipeline: 'shop',
    trigger: 'manual',
    status: 'succeeded',
    guards: [],
    startedAt: '2026-11-21T03:00:00.123Z',
    finishedAt: '2026-11-21T03:00:18.456Z',
    durationMs: 18_333,
    ...given,
    counts: { ...noCounts, ...given.counts },
  }
}

function plan(given: Parameters<typeof run>[0]): PlanReport {
  return {
    ...run({ trigger: 'plan', status: 'withheld', durationMs: 4100, ...given }),
    planId: 'p_7Q3F',
    requests: 14,
    minutes: 0.4,
    proof: 'end proven',
    updateFields: [
      { field: 'price', count: 97 },
      { field: 'availability', count: 31 },
      { field: 'title', count: 6 },
    ],
    rejectCodes: [
      { code: 'PRICE_CURRENCY_MISSING', count: 27 },
      { code: 'LINK_INVALID', count: 4 },
    ],
  }
}

function pipe(): Output & { text: () => string } {
  return recorder({ isTTY: false, columns: undefined })
}

function terminal(columns: number): Output & { text: () => string } {
  return recorder({ isTTY: true, columns })
}

function recorder(kind: { isTTY: boolean; columns: number | undefined }): Output & { text: () => string } {
  let text = ''
  return { ...kind, style: styleFor(kind, {}), write: (chunk) => void (text += chunk), text: () => text }
}
