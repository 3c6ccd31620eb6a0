/** Texts of the pages: what they list, advise and count. */
import { expect, test } from 'vitest'
import { unservedPipelines } from '../../../src/cli/servers/jobs.ts'
import type { WorkerRow } from '../../../src/db/workers.ts'
import { messagePage } from '../../../src/dashboard/pages/message.ts'
import { nowPage } from '../../../src/dashboard/pages/now.ts'
import { planPage } from '../../../src/dashboard/pages/plan.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import type { PlanReview } from '../../../src/sync/reports/review.ts'
import { mergeNotes } from '../../../src/sync/reports/mergeNotes.ts'
import { recordsPage } from '../../../src/dashboard/pages/records.ts'
import { progressText } from '../../../src/dashboard/progress.ts'
import { rejectGroups } from '../../../src/dashboard/rejectGroups.ts'
import { changesText } from '../../../src/dashboard/runTable.ts'
import { systemPage, type SystemData } from '../../../src/dashboard/pages/system.ts'

const system = (more: Partial<SystemData>): SystemData => ({
  findings: [],
  workers: [],
  queue: { queued: 0, running: 0, oldestS: 0 },
  budgets: [],
  deliveries: [],
  environment: { origin: 'https://ads.example.com', credentials: 'user 1 of application 0123456789ab' },
  receivers: [],
  webhooks: { lastAt: null, lastDayCount: 0 },
  now: 0,
  ...more,
})
const { pipeline: shop } = resolvePipeline(
  { source: { url: 'feed.xml' }, destination: { kind: 'catalog', catalog_id: '4001' } },
  'shop',
  'shop.yaml',
)
const worker = (host: string, idleS: number): WorkerRow => ({ id: host, role: 'worker', host, pid: 1, startedAt: new Date(0), idleS })

test('workers that are up come first, and the others are counted', async () => {
  const ended = Array.from({ length: 14 }, (_, n) => worker(`ended-${n}`, 3600))
  const text = String(await systemPage(system({ workers: [...ended, worker('serve-live', 1)] })).body)
  expect(text.indexOf('serve-live')).toBeGreaterThan(-1)
  expect(text.indexOf('serve-live')).toBeLessThan(text.indexOf('ended-0'))
  expect(text).toContain('and 3 more workers')
})

test('one of something is in the singular', async () => {
  const page = systemPage(
    system({ findings: [{ check: 'service', state: 'failed', message: 'no answer' }], webhooks: { lastAt: new Date(0), lastDayCount: 1 } }),
  )
  expect(page.state).toBe('1 check failed')
  expect(String(await page.body)).toMatch(/\b1 event\b/)
})

test('the time of a limit is shown without the second that is added to be safe', async () => {
  const budget = { class: 'https://ads.example.com user 7 product_puts', limit: 600, used: 1, windowMs: 901_000, blockedUntil: null }
  expect(String(await systemPage(system({ budgets: [budget] })).body)).toMatch(/1 of 600 requests in the last\s+15\s+min\s*</)
})

test('limits of two services for one user name their service', async () => {
  const budget = (service: string) => ({
    class: `${service} user 7 product_puts`,
    limit: 600,
    used: 1,
    windowMs: 900_000,
    blockedUntil: null,
  })
  const text = async (...services: string[]) => String(await systemPage(system({ budgets: services.map(budget) })).body)
  expect(await text('https://ads.example.com')).toContain('product_puts (user 7)</dt>')
  const both = await text('https://ads.example.com', 'http://127.0.0.1:4010/path')
  expect(both).toContain('product_puts (user 7) at ads.example.com')
  expect(both).toContain('product_puts (user 7) at 127.0.0.1:4010')
})

const plan: PlanReview = {
  planId: 'p_1',
  newestPlanId: 'p_1',
  runId: 'r_1',
  pipeline: 'shop',
  words: destinationOf('catalog').words,
  showsRecords: true,
  status: 'ready',
  digest: '',
  createdAt: new Date(0),
  counts: { withheld: 1 },
  guards: [{ code: 'GUARD_DELETES', message: '', hint: '', withheld: 1, examples: [] }],
  updateFields: [],
  requests: 0,
  samples: [],
}

test('the title of a plan counts the deletes to approve', () => {
  const titleOf = (shown: PlanReview) => planPage({ plan: shown, batches: [], mayAct: true, now: 0 }).title
  expect(titleOf(plan)).toBe('Approve 1 delete of shop')
  expect(titleOf({ ...plan, newestPlanId: 'p_2' })).toBe('Plan p_1')
  const guard = { code: 'GUARD_DELETES', message: '', hint: '', withheld: 12, examples: [] }
  const withheld = (outOfStock: number): PlanReview => ({ ...plan, counts: { withheld: 12 }, guards: [{ ...guard, outOfStock }] })
  expect(titleOf(withheld(12))).toBe('Approve 12 out-of-stock updates of shop')
  expect(titleOf(withheld(2))).toBe('Approve 12 changes of shop')
})

test('the page of a plan without actions names the setting that allows them', async () => {
  const text = String(await planPage({ plan, batches: [], mayAct: false, now: 0 }).body)
  expect(text).toContain('SLUICE_USER_HEADER')
  // The user may be signed in with the token.
  expect(text).not.toContain('no signed-in user')
})

test('line numbers have no thousands separator, as in messages and notes', async () => {
  const sample = { line: 1533, source: 0, message: 'description is missing', cells: [] }
  const group = { code: 'FIELD_MISSING', field: 'description', count: 1, hint: 'Fill it.', samples: [sample] }
  expect(String(await rejectGroups([group]))).toContain('>1533<')
})

test('unused columns share one note', async () => {
  const unused = (field: string) => ({ code: 'COLUMN_UNKNOWN', field, count: 1, message: `the column "${field}" is not used`, lines: [1] })
  const other = { code: 'TEXT_CLEANED', field: 'title', count: 3, message: 'title contained control characters', lines: [2, 5] }
  expect(mergeNotes([unused('notes'), other, unused('joined_at')])).toEqual([
    other,
    { code: 'COLUMN_UNKNOWN', field: '', count: 2, message: 'not used: "notes", "joined_at"', lines: [] },
  ])
})

test('the page of a plan says that content is sent again unchanged, or that it has expired', async () => {
  const shown = (hasExpired: boolean) =>
    String(
      planPage({
        plan: { ...plan, samples: [{ change: 'update', name: 'SKU-1', fields: [], hasExpired }] },
        batches: [],
        mayAct: true,
        now: 0,
      }).body,
    )
  expect(shown(false)).toContain('the same content again')
  expect(shown(true)).toContain('the content has expired')
})

test('alerts are advised only if no receiver is configured', async () => {
  const data = {
    pipelines: shop === undefined ? [] : [shop],
    problems: [],
    overviews: [],
    conditions: [],
    pauses: new Map(),
    services: new Map(),
    now: 0,
  }
  expect(String(await nowPage({ ...data, receivers: [] }).body)).toContain('The pipeline is fine. To get alerts')
  expect(String(await nowPage({ ...data, receivers: ['ops'] }).body)).not.toContain('To get alerts')
})

test('a file that is not valid is not an empty folder', async () => {
  const data = { pipelines: [], receivers: [], overviews: [], conditions: [], pauses: new Map(), services: new Map(), now: 0 }
  const broken = String(await nowPage({ ...data, problems: ['sluice.yaml: unknown key'] }).body)
  expect(broken).toContain('No pipeline can be used until this is corrected.')
  expect(broken).toContain('A file is not valid')
  expect(broken).not.toContain('sluice init')
  const empty = String(await nowPage({ ...data, problems: [] }).body)
  expect(empty).toContain('No pipelines yet')
  // Without a pipeline nothing is in order: the first one is missing.
  expect(empty).not.toContain('No action needed')
  expect(String(await recordsPage({ pipelines: [] }).body)).not.toContain('sluice init')
})

test('a pipeline that the process cannot run needs action', async () => {
  const data = { pipelines: shop === undefined ? [] : [shop], problems: [], receivers: [], overviews: [], conditions: [] }
  const unserved = unservedPipelines([{ file: 'pipelines/shop.yaml', credentials: 'live' }, { file: 'crm.yaml' }], new Set([undefined]))
  expect(unserved).toEqual([
    'pipelines/shop.yaml names credentials "live", which this process did not load when it started: restart serve and each worker',
  ])
  const page = nowPage({ ...data, unserved, pauses: new Map(), services: new Map(), now: 0 })
  expect(page.title).toBe('1 item to do')
  expect(String(await page.body)).toContain('restart serve and each worker')
  expect(String(await page.body)).not.toContain('No action needed')
})

test('a hint is a command, with its explanation beside it', async () => {
  const text = String(await messagePage('Not found', 'there is no run', 'sluice status   (lists every pipeline)').body)
  expect(text).toMatch(/sluice status<\/code>/)
  expect(text).toMatch(/class="muted small">\(lists every pipeline\)/)
})

test('the progress counts rows only while a source is read', () => {
  const at = new Date(0).toISOString()
  const read = { stage: 'read', done: 1200, at, stageStartedAt: at } as const
  expect(progressText(read)).toBe('reading the source 1,200 rows')
  expect(progressText({ ...read, stage: 'audit' })).toBe('reading the catalog back 1,200')
  expect(progressText({ ...read, stage: 'push', total: 3000 })).toBe('sending 1,200 of 3,000')
})

test('a run says that nothing was sent only if it has no operation', () => {
  expect(changesText({ confirmed: 0, rejected: 2 })).toBe('nothing sent · 2 rejected')
  expect(changesText({ confirmed: 0, ambiguous: 2500 })).toBe('2,500 unresolved')
  expect(changesText({ confirmed: 0, settled: { confirmed: 60, refused: 0 } })).toBe('60 confirmed of an earlier run')
  expect(changesText({ confirmed: 1, settled: { confirmed: 0, refused: 2 } })).toBe('1 confirmed · 2 refused of an earlier run')
  // What an earlier plan has not sent is not in this plan, so it is not pending.
  expect(changesText({ confirmed: 0, deferred: 48 })).toBe('nothing sent · 48 deferred')
  expect(changesText({ confirmed: 1, refused: 3, pending: 4, withheld: 5 })).toBe('1 confirmed · 3 refused · 4 not sent · 5 withheld')
})
