/** The commands of a usual day as processes: output, exit codes, and stored results. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { cuttingProxy } from '../sources/cuttingProxy.ts'
import { ended } from './support.ts'
import { customersYaml, feed, json, product, shopYaml, workspace } from './workspace.ts'

/** Time for other processes on a busy machine. */
const waiting = { timeout: 30_000, interval: 50 }

test('a run sends new records, and the next one reports that nothing changed', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(3, { rows: [product(4, '19.99')] }))
  const first = await shop.run(['run', 'shop', '--json'])
  expect(first.code).toBe(0)
  const report = json(first)
  expect(Object.keys(report)).toEqual(
    expect.arrayContaining(['runId', 'pipeline', 'trigger', 'status', 'counts', 'guards', 'startedAt', 'finishedAt', 'durationMs']),
  )
  expect(report).toMatchObject({
    pipeline: 'shop',
    trigger: 'manual',
    status: 'succeeded',
    counts: { read: 4, rejected: 1, valid: 3, creates: 3, confirmed: 3, requests: 1 },
  })
  const second = await shop.here(['run', 'shop'])
  expect(second.code).toBe(0)
  expect(second.stdout).toContain('nothing to do')
  expect((await shop.sandbox.control.catalog()).products).toBe(3)

  const shown = await shop.here(['show', report.runId])
  expect(shown.stdout).toContain('4  = 3 valid + 1 rejected + 0 duplicates + 0 suppressed')
  const history = json(await shop.here(['runs', '--json']))
  expect(history.map((run: { pipeline: string }) => run.pipeline)).toEqual(['shop', 'shop'])
  expect(json(await shop.here(['runs', 'shop', '--limit', '1', '--json']))).toHaveLength(1)
})

test('rejects are grouped by code on a terminal, an array in JSON, and own columns first in CSV', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(1, { rows: [product(2, '=1+1'), product(3, '19.99')] }))
  const { runId } = json(await shop.here(['run', 'shop', '--json']))
  const rejects = json(await shop.here(['rejects', runId, '--json']))
  expect(rejects.map((reject: object) => Object.keys(reject))).toEqual([
    ['line', 'code', 'field', 'message', 'hint'],
    ['line', 'code', 'field', 'message', 'hint'],
  ])
  expect(rejects.map((reject: { line: number }) => reject.line)).toEqual([3, 4])
  expect((await shop.here(['rejects', runId])).stdout).toContain('line 4')

  await shop.here(['rejects', runId, '--csv', 'bad.csv'])
  const csv = readFileSync(join(shop.folder, 'bad.csv'), 'utf8').split('\r\n')
  expect(csv[0]).toBe('id,title,description,link,image_link,price,availability,brand,mpn,condition,line,code,field,message,hint')
  expect(csv[1]).toContain(`"'=1+1"`)
  expect(csv).toHaveLength(4)
  expect((await shop.here(['rejects', runId, '--csv', '-'])).stdout).toBe(readFileSync(join(shop.folder, 'bad.csv'), 'utf8'))

  // A corrected copy is a valid source.
  shop.write('mended.csv', csv.join('\r\n').replace(`"'=1+1"`, '5.00 EUR').replace(',19.99,', ',19.99 EUR,'))
  const backfill = json(await shop.here(['backfill', 'shop', '--source', 'mended.csv', '--json']))
  expect(backfill).toMatchObject({
    trigger: 'backfill',
    status: 'succeeded',
    counts: { read: 2, rejected: 0, creates: 2, deletes: 0, confirmed: 2 },
  })
})

test('expired rejects and runs are reported as expired', async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  crm.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n2,nobody,\n')
  const { runId } = json(await crm.here(['run', 'customers', '--json']))
  const db = openDatabase(crm.env['DATABASE_URL'] ?? '')
  await db.execute('delete from sluice.reject')
  const shown = await crm.here(['rejects', runId])
  expect(shown).toMatchObject({ code: 0, stdout: `1 reject in ${runId}, but they have expired: rejects are kept for 30 days\n` })
  await db.execute(
    `insert into sluice.audit (actor, what, detail) values ('retention', 'runs.dropped', '{"days": 90, "runs": 6, "last": 0}')`,
  )
  await db.close()
  const gone = await crm.here(['show', 'r_0'])
  expect(gone.code).toBe(2)
  expect(gone.stderr).toContain('run r_0 has expired: runs are kept for 90 days')
})

test('a backfill through a pipe withholds nothing, although its end is not proven', { tags: ['long'] }, async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  crm.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n')
  await crm.here(['run', 'customers'])
  const back = await crm.run(['backfill', 'customers', '--source', '-', '--json'], {
    input: 'customer_id,email,phone\n2,june@example.com,\n',
  })
  expect(json(back)).toMatchObject({ status: 'succeeded', guards: [], counts: { creates: 1, confirmed: 1, withheld: 0 } })
  expect(back.code).toBe(0)
})

test('piped rows are sent with a warning about the unproven end, and only deletes are withheld', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml.replace('feed.csv', '"-"'))
  const piped = (rows: number) => shop.run(['run', 'shop', '--json'], { input: feed(rows) })
  for (const creates of [3, 0]) {
    const whole = await piped(3)
    expect(json(whole)).toMatchObject({ status: 'succeeded', guards: [], counts: { creates, withheld: 0 } })
    expect(json(whole).warnings).toContainEqual(expect.objectContaining({ code: 'END_UNPROVEN' }))
    expect(whole.code).toBe(0)
  }
  const half = await piped(2)
  expect(json(half)).toMatchObject({ status: 'withheld', guards: [{ code: 'GUARD_INCOMPLETE' }], counts: { withheld: 1, deletes: 0 } })
  expect(half.code).toBe(4)
})

test('full reject rows need the unchanged source, and go to a file that only its owner can read', async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  const text = 'customer_id,email,phone\n1,jane@example.com,\n2,canary.nobody,\n'
  crm.write('crm.csv', text)
  const { runId } = json(await crm.here(['run', 'customers', '--json']))
  await crm.here(['rejects', runId, '--csv', 'masked.csv'])
  expect(readFileSync(join(crm.folder, 'masked.csv'), 'utf8')).not.toContain('canary')
  const full = await crm.here(['rejects', runId, '--csv', 'full.csv', '--from-source'])
  expect(full).toMatchObject({ code: 0, stdout: '' })
  expect(readFileSync(join(crm.folder, 'full.csv'), 'utf8')).toContain('2,canary.nobody,,3,EMAIL_INVALID')
  expect(statSync(join(crm.folder, 'full.csv')).mode & 0o777).toBe(0o600)

  crm.write('crm.csv', `${text}3,x@example.com,\n`)
  const changed = await crm.here(['rejects', runId, '--csv', 'again.csv', '--from-source'])
  expect(changed.code).toBe(1)
  expect(changed.stderr).toContain('error  SOURCE_CHANGED')
  expect(existsSync(join(crm.folder, 'again.csv'))).toBe(false)
  expect((await crm.here(['rejects', runId, '--csv', '-', '--from-source'])).code).toBe(2)
  const both = await crm.here(['rejects', runId, '--csv', '-', '--json'])
  expect([both.code, json(both).error.code]).toEqual([2, 'OPTIONS_CONFLICT'])
})

test('full reject rows of a run that did not read its whole source are not written, and the error says why', async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  // The file ends inside of a quote, so the run fails after it rejected a row.
  crm.write('crm.csv', 'customer_id,email,phone\n1,canary.nobody,\n2,"jane@example.com\n')
  const { runId, error } = json(await crm.here(['run', 'customers', '--json']))
  expect(error).toMatchObject({ code: 'FILE_TRUNCATED' })
  crm.write('crm.csv', 'customer_id,email,phone\n1,canary.nobody,\n2,jane@example.com,\n')
  const full = await crm.here(['rejects', runId, '--csv', 'full.csv', '--from-source'])
  expect(full.code).toBe(1)
  expect(full.stderr).toContain('error  SOURCE_UNVERIFIED')
  expect(full.stderr).toContain(`sluice rejects ${runId} --csv ${runId}.csv`)
  expect(existsSync(join(crm.folder, 'full.csv'))).toBe(false)
})

test('a plan sends nothing, apply sends it once', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(2))
  const planned = await shop.here(['plan', 'shop', '--json', '--out', 'plan.json'])
  expect(planned.code).toBe(0)
  const { planId, counts } = json(planned)
  expect(counts).toMatchObject({ creates: 2, confirmed: 0, requests: 1 })
  expect(JSON.parse(readFileSync(join(shop.folder, 'plan.json'), 'utf8')).planId).toBe(planId)
  expect((await shop.sandbox.control.catalog()).products).toBe(0)
  expect(json(await shop.here(['apply', planId, '--json']))).toMatchObject({ trigger: 'apply', status: 'succeeded' })
  expect((await shop.sandbox.control.catalog()).products).toBe(2)
  const requests = (await shop.sandbox.control.ledger()).length
  const again = await shop.here(['apply', planId])
  expect(again.code).toBe(0)
  expect(again.stdout).toContain('nothing to do')
  expect(await shop.sandbox.control.ledger()).toHaveLength(requests)
})

test('deletes over the guard are withheld with exit 4, and sent with an approval of their number', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(40))
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  shop.write('feed.csv', feed(20))
  const planned = await shop.here(['plan', 'shop'])
  expect(planned.code).toBe(4)
  expect(planned.stdout).toContain('GUARD_')
  const held = await shop.here(['run', 'shop'])
  expect(held.code).toBe(4)
  expect(held.stdout.trimEnd().split('\n').slice(-2).join(' ')).toContain('sluice run shop --approve-deletes 20')
  expect((await shop.sandbox.control.catalog()).products).toBe(40)
  expect((await shop.here(['run', 'shop', '--approve-deletes', '19'])).code).toBe(4)
  expect((await shop.here(['run', 'shop', '--approve-deletes', '20'])).code).toBe(0)
  expect((await shop.sandbox.control.catalog()).products).toBe(20)
})

test('a record that the service refuses ends in exit 3, and rerun --failed sends it again', async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  crm.write('crm.csv', 'customer_id,email,phone\n1,jane@example.com,\n')
  await crm.sandbox.control.fault({ method: 'POST', path: '/12/accounts' }, { kind: 'counts', success: 0, total: 1 }, 'always')
  const refused = await crm.here(['run', 'customers', '--json'])
  expect(refused.code).toBe(3)
  expect(json(refused)).toMatchObject({ status: 'partial', counts: { confirmed: 0 } })
  await crm.sandbox.control.clearFaults()
  const rerun = await crm.here(['rerun', json(refused).runId, '--failed', '--json'])
  expect(rerun.code).toBe(0)
  expect(json(rerun)).toMatchObject({ trigger: 'rerun', status: 'succeeded' })
  expect((await crm.sandbox.control.audience()).members).toBe(1)
})

test('explain answers in its first line and never repeats an email', async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  crm.write('crm.csv', 'customer_id,email,phone\n1,Jane.Canary@Example.com,\n')
  await crm.here(['run', 'customers'])
  const explained = await crm.here(['explain', 'customers', 'jane.canary@example.com'])
  expect(explained.code).toBe(0)
  expect(explained.stdout + explained.stderr).not.toMatch(/jane|canary/i)
  const events = json(await crm.here(['explain', 'customers', 'jane.canary@example.com', '--json']))
  expect(events.length).toBeGreaterThan(2)
  const kinds = events.map(({ what }: { what: string }) => what)
  expect(kinds.indexOf('read')).toBeLessThan(kinds.indexOf('planned'))
  const digest = createHash('sha256').update('jane.canary@example.com').digest('hex')
  for (const event of events) expect(event.digest ?? digest).toBe(digest)
  expect(events[0]).toMatchObject({
    what: 'status',
    live: true,
    key: expect.stringMatching(/^[0-9a-f]{32}$/),
    identifiers: expect.arrayContaining([{ type: 'email', digest }]),
  })
  expect(explained.stdout.split('\n').slice(0, 3)).toEqual([events[0].message, `  key    ${events[0].key}`, `  sha256 ${digest} email`])
  for (const event of events) expect(event).toMatchObject({ at: expect.stringMatching(/^\d{4}-.*Z$/), what: expect.any(String) })
})

test.for([
  ['a missing source', 1, 'source: { url: nowhere.csv }\ndestination: { kind: catalog, catalog_id: "4001" }\n', ['run', 'shop']],
  ['an unknown pipeline', 2, shopYaml, ['run', 'shpo']],
  ['a definition that is wrong', 2, 'source: { url: feed.csv }\ndestination: { kind: catalogue }\nnonsense: 1\n', ['check']],
  ['the history of an unknown pipeline', 2, shopYaml, ['runs', 'shpo']],
  ['an unknown run', 2, shopYaml, ['show', 'r_99']],
  ['an unknown plan', 2, shopYaml, ['apply', 'p_nothing']],
] as const)('%s: code %s, the hint last, and one document with --json', async ([, code, yaml, args]) => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', yaml)
  const plain = await shop.here(args)
  expect(plain.code).toBe(code)
  expect((plain.stderr + plain.stdout).trimEnd().split('\n').slice(-2).join('\n')).toMatch(
    /error {2}[A-Z_]+ .*\n(hint|Next) {2,3}\S|Next {2}\S/,
  )
  expect(plain.stderr + plain.stdout).not.toMatch(/\n\s+at /)
  const document = json(await shop.here([...args, '--json']))
  expect((Array.isArray(document) ? document[0].sources[0] : document).error).toMatchObject({
    code: expect.stringMatching(/^[A-Z_]+$/),
    message: expect.any(String),
    hint: expect.stringMatching(/./),
  })
})

test.for([
  ['an empty file', '', 1],
  ['a header alone', feed(0), 4],
  ['a file cut inside a row', feed(20).slice(0, -40), 4],
] as const)('%s deletes nothing and says why', async ([, content, code]) => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(20))
  await shop.here(['run', 'shop'])
  shop.write('feed.csv', content)
  const outcome = await shop.here(['run', 'shop', '--approve-deletes', '20'])
  expect(outcome.code).toBe(code)
  expect(outcome.stdout).toMatch(/\nNext {2}\S/)
  expect((await shop.sandbox.control.catalog()).products).toBe(20)
})

test('all problems of a file are listed together, each with its line', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', 'source: { url: feed.csv }\nnonsense: 1\ndestination:\n  kind: catalog\n  catalogue_id: "1"\n')
  const { stderr } = await shop.here(['check'])
  expect(stderr).toMatch(/shop\.yaml:2/)
  expect(stderr).toMatch(/shop\.yaml:[345]/)
})

test('several pipelines print an array and exit with the worst of theirs', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/shop-gone.yaml', 'source: { url: nowhere.csv }\ndestination: { kind: catalog, catalog_id: "4002" }\n')
  shop.write('feed.csv', feed(1))
  const outcome = await shop.here(['run', 'shop*', '--json'])
  expect(outcome.code).toBe(1)
  expect(
    json(outcome)
      .map((report: { pipeline: string; status: string }) => [report.pipeline, report.status])
      .toSorted(),
  ).toEqual([
    ['shop', 'succeeded'],
    ['shop-gone', 'failed'],
  ])
})

test('a second run of a locked destination exits 5; an interrupted run exits 130 without losing state', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  const { control } = shop.sandbox
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(60))
  await control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' }, 'always')
  const first = shop.start(['run', 'shop'])
  const outcome = ended(first)
  await expect.poll(control.holds, waiting).not.toEqual([])
  const second = await shop.here(['run', 'shop', '--json'])
  expect(second.code).toBe(5)
  expect(json(second).status).toBe('skipped')
  let stderr = ''
  first.stderr?.on('data', (chunk) => void (stderr += String(chunk)))
  first.kill('SIGINT')
  await expect.poll(() => stderr, waiting).toMatch(/^Stopping.*… press Ctrl-C again to force quit$/m)
  await control.clearFaults()
  await control.release('put')
  expect((await outcome).code).toBe(130)
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  expect((await control.catalog()).products).toBe(60)
  expect(await control.violations()).toEqual([])
})

test('a second Ctrl-C ends the run and reports what is in flight', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(2))
  await shop.sandbox.control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' }, 'always')
  const child = shop.start(['run', 'shop', '--json'])
  const outcome = ended(child)
  let stderr = ''
  child.stderr?.on('data', (chunk) => void (stderr += String(chunk)))
  await expect.poll(shop.sandbox.control.holds, waiting).toHaveLength(1)
  // Terminal and launcher may both deliver one Ctrl-C: signals within 300 ms count once.
  await expect
    .poll(() => {
      child.kill('SIGINT')
      return stderr
    }, waiting)
    .toContain('Forced to quit')
  const { code, stdout } = await outcome
  expect([code, JSON.parse(stdout)]).toEqual([
    130,
    {
      error: {
        code: 'INTERRUPTED',
        message: 'forced to quit; what was confirmed is kept; 1 request in flight, which the next run resolves',
        where: null,
        hint: 'run the same command again; it resumes',
      },
    },
  ])
  expect(stderr).toMatch(/^Stopping, 1 request in flight… press Ctrl-C again to force quit$/m)
  expect(stderr).toMatch(/^Forced to quit\. What was confirmed is kept; 1 request in flight, which the next run resolves\.$/m)
})

test('runs accepts a glob of pipeline names', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('pipelines/customers.yaml', customersYaml)
  for (const name of ['shop', 'customers']) expect((await shop.here(['run', name])).code).toBe(1)
  const runs: { pipeline: string }[] = json(await shop.here(['runs', 'sh*', '--json']))
  expect(runs.map(({ pipeline }) => pipeline)).toEqual(['shop'])
})

test('a failed run says whether anything was sent, and what to type', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  const { code, stdout } = await shop.here(['run', 'shop'])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^error {2}SOURCE_MISSING .*\. Nothing was sent\.$/m)
  expect(stdout.trimEnd().split('\n').at(-1)?.trim()).toBe('sluice check shop')
})

test('cancel stops the run of another process, which reports it', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  const { control } = shop.sandbox
  shop.write('pipelines/shop.yaml', shopYaml)
  // More requests than are in flight at first, so that some are left when the cancellation is noticed.
  shop.write('feed.csv', feed(500))
  await control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' }, 'always')
  const first = ended(shop.start(['run', 'shop', '--json']))
  await expect.poll(control.holds, waiting).not.toEqual([])
  const [{ runId }] = json(await shop.here(['runs', '--json']))
  expect(json(await shop.here(['cancel', runId, '--json']))).toEqual({ runId, state: 'stopping' })
  await seen(shop.env['DATABASE_URL'] ?? '')
  await control.clearFaults()
  await control.release('put')
  const outcome = await first
  expect([outcome.code, json(outcome).status, json(outcome).error.code]).toEqual([1, 'cancelled', 'RUN_CANCELLED'])
  expect((await shop.here(['cancel', runId])).stdout).toContain('had already ended')
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  expect((await control.catalog()).products).toBe(500)
})

/** Waits until the process of the run checks for a cancellation after it was requested. */
async function seen(databaseUrl: string): Promise<void> {
  const db = openDatabase(databaseUrl)
  try {
    const asked = () =>
      db.query(
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'
         and query like '%cancel_requested_at is not null%' and query_start > (select max(cancel_requested_at) from run)`,
      )
    await expect.poll(asked, waiting).not.toEqual([])
  } finally {
    await db.close()
  }
}

test('canaries of the environment, the arguments and the feed appear in no output', { tags: ['long'] }, async () => {
  await using crm = await workspace()
  crm.write('pipelines/customers.yaml', customersYaml)
  crm.write(
    'crm.csv',
    'customer_id,email,phone\nkey-canary-1,canary.one@example.com,+1 202 555 0177\nkey-canary-2,canary.two.at.example,12\n',
  )
  const env = { SLUICE_ACCESS_TOKEN_SECRET: 'canary-secret-77', SLUICE_LOG_LEVEL: 'debug' }
  let text = ''
  for (const args of [
    ['check'],
    ['run', 'customers'],
    ['run', 'customers', '--json'],
    ['doctor'],
    ['rejects', 'r_1'],
    ['rejects', 'r_1', '--csv', '-'],
    ['explain', 'customers', 'canary.one@example.com'],
    ['auth', 'status'],
    ['api', 'GET', '/12/accounts', '--include'],
  ]) {
    const outcome = await crm.here(args, { env })
    text += outcome.stdout + outcome.stderr
  }
  expect(text.length).toBeGreaterThan(500)
  for (const canary of [
    /canary\.one/i,
    /canary\.two/i,
    /2025550177|202.555.0177/,
    /canary-secret/,
    new RegExp(crm.env['SLUICE_CONSUMER_SECRET'] ?? 'x'),
  ])
    expect(text).not.toMatch(canary)
})

test('a backfill of people warns of a no that only the source of the pipeline has', async () => {
  await using shop = await workspace()
  shop.write(
    'pipelines/crm.yaml',
    'source: crm.csv\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  const { code, stderr } = await shop.here(['backfill', 'crm', '--source', 'missing.csv'])
  expect([code, stderr]).toEqual([1, expect.stringContaining('The backfill sends people whose opt-out is only in that source')])
})

test('a backfill whose opt-outs are withheld names the setting and the rerun that send its deletes', async () => {
  await using shop = await workspace()
  const crm =
    'source: crm.csv\nmap: { key: id, email: email }\nconsent: { column: marketing_ok, values: ["yes"] }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'
  const rows = (ok: string) => ['id,email,marketing_ok', ...Array.from({ length: 20 }, (_, i) => `${i},p${i}@example.com,${ok}`)].join('\n')
  shop.write('pipelines/crm.yaml', crm)
  shop.write('crm.csv', `${rows('yes')}\n`)
  await shop.here(['run', 'crm'])
  shop.write('out.csv', `${rows('no')}\n`)
  const withheld = await shop.here(['backfill', 'crm', '--source', 'out.csv'])
  const hint = 'set guards: { max_delete_count: 20 } in the pipeline and sluice rerun r_2'
  expect([withheld.code, withheld.stdout]).toEqual([4, expect.stringMatching(/^WITHHELD {2}GUARD_DELETES /m)])
  expect(withheld.stdout).toContain(`Next  ${hint}\n`)
  shop.write('pipelines/crm.yaml', `${crm}guards: { max_delete_count: 20 }\n`)
  expect((await shop.here(['rerun', 'r_2'])).code).toBe(0)
  expect((await shop.sandbox.control.audience()).members).toBe(0)
})

test('a backfill never withholds for missing rows, and warns first that the next run deletes what only the backfill has', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(3))
  await shop.here(['run', 'shop'])
  shop.write('late.csv', feed(4))
  const late = await shop.here(['backfill', 'shop', '--source', 'late.csv'])
  expect([late.code, late.stderr]).toEqual([
    0,
    expect.stringContaining('the next run of shop deletes the products that its source does not have'),
  ])
  shop.write('empty.csv', feed(0))
  const empty = await shop.here(['backfill', 'shop', '--source', 'empty.csv'])
  expect(empty.code).toBe(0)
  expect(`${empty.stdout}${empty.stderr}`).not.toMatch(/withheld|MIN_ROWS/i)
  expect((await shop.sandbox.control.catalog()).products).toBe(4)
  await shop.here(['run', 'shop'])
  expect((await shop.sandbox.control.catalog()).products).toBe(3)
})

test('Ctrl-C ends a run within 10 seconds although the database hangs, and the next run completes it', { tags: ['long'] }, async () => {
  await using shop = await workspace()
  const address = new URL(shop.env['DATABASE_URL'] ?? '')
  await using proxy = await cuttingProxy(Number(address.port), () => undefined)
  address.port = String(proxy.port)
  const { control } = shop.sandbox
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(60))
  await control.fault({ method: 'PUT' }, { kind: 'hold', name: 'put' }, 'always')
  const child = shop.start(['run', 'shop'], { env: { DATABASE_URL: address.href } })
  const over = ended(child)
  await expect.poll(control.holds, waiting).not.toEqual([])
  proxy.hang()
  await control.clearFaults()
  await control.release('put')
  child.kill('SIGINT')
  const { code, stderr } = await over
  expect(stderr).toMatch(/^Forced to quit, because the command did not stop within 9 s\. What was confirmed is kept/m)
  expect(code).toBe(130)
  proxy.cutAll()
  expect((await shop.here(['run', 'shop'])).code).toBe(0)
  expect((await control.catalog()).products).toBe(60)
  expect(await control.violations()).toEqual([])
})
