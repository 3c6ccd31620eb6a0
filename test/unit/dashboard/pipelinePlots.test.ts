/** Plots of a pipeline: the line of the valid rows below which deletes are withheld. */
import { expect, test } from 'vitest'
import { pipelinePage } from '../../../src/dashboard/pages/pipeline.ts'
import { pipelinePlots } from '../../../src/dashboard/pipelinePlots.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import type { RunFigures } from '../../../src/sync/reports/runFigures.ts'

const { pipeline } = resolvePipeline(
  { source: { url: 'feed.xml' }, destination: { kind: 'catalog', catalog_id: '4001' }, guards: { min_rows: 5 } },
  'shop',
  'shop.yaml',
)

const runWith = (valid: number, status = 'succeeded'): RunFigures => ({
  runId: 'r_1',
  at: new Date(0),
  status,
  counts: { read: valid, valid },
  stages: [],
  requests: 0,
  rateLimited: 0,
  p50: null,
  p95: null,
})

const { pipeline: list } = resolvePipeline(
  { source: { url: 'list.csv' }, destination: { kind: 'do-not-reach', account_id: 'a1', list_id: 'l1' } },
  'list',
  'list.yaml',
)

const dashedLine = (runs: readonly RunFigures[]) => {
  if (pipeline === undefined) throw new Error('the pipeline is not valid')
  const rows = pipelinePlots(pipeline, runs, []).find(({ id }) => id === 'plot-rows')
  return rows?.series.find(({ dash }) => dash === true)?.values
}

test('the dashed line is half of the last valid rows from 20 rows on, else min_rows', () => {
  expect(dashedLine([runWith(19), runWith(21), runWith(40), runWith(4)])).toEqual([5, 5, 11, 20])
})

test('the dashed line ignores withheld runs and runs that read nothing, as the guard does', () => {
  expect(dashedLine([runWith(100), runWith(30, 'withheld'), runWith(0), runWith(90), runWith(1)])).toEqual([5, 50, 50, 50, 45])
})

test('one request is in the singular', () => {
  if (pipeline === undefined) throw new Error('the pipeline is not valid')
  const requests = pipelinePlots(pipeline, [{ ...runWith(1), requests: 1, rateLimited: 1 }], []).find(({ id }) => id === 'plot-requests')
  expect(requests?.summary).toBe('1 request; 1 was over the rate limit (429).')
})

test('the plot of the stages adds up to the duration of the run', () => {
  if (pipeline === undefined) throw new Error('the pipeline is not valid')
  const ms = { settle: 1000, read: 2000, plan: 3000, push: 4000, sets: 5000, images: 6000 }
  const run = { ...runWith(40), stages: Object.entries(ms).map(([stage, durationMs]) => ({ stage, durationMs })) }
  const stages = pipelinePlots(pipeline, [run], []).find(({ id }) => id === 'plot-stages')
  expect(stages?.series.map(({ name, values }) => [name, ...values])).toEqual([
    ['settle', 1],
    ['read', 2],
    ['plan', 3],
    ['push', 4],
    ['others', 11],
  ])
  expect(stages?.summary).toBe('The stages of the last run took 21 s.')
})

test('a do-not-reach list has neither the dashed line nor a limit of deletes, because no guard withholds its deletes', async () => {
  if (pipeline === undefined || list === undefined) throw new Error('a pipeline is not valid')
  const rows = pipelinePlots(list, [runWith(40)], []).find(({ id }) => id === 'plot-rows')
  expect([rows?.series.map(({ name }) => name), rows?.summary]).toEqual([['read', 'valid'], 'The last run read 40 rows, 40 of them valid.'])
  const pageOf = async (given: typeof pipeline) => {
    const { name } = given
    const overview = {
      pipeline: name,
      last: undefined,
      planned: undefined,
      guarded: undefined,
      stopped: undefined,
      open: undefined,
      succeededAt: undefined,
      deliveredAt: undefined,
      recent: [],
    }
    const shared = {
      pause: undefined,
      problem: undefined,
      runs: [],
      hasOlder: false,
      before: undefined,
      plots: [],
      sources: [],
      actions: [],
      minutes: undefined,
    }
    return String(await pipelinePage({ ...shared, pipeline: given, name, overview, mayAct: false, now: 0 }).body)
  }
  expect(await pageOf(pipeline)).toMatch(/above 10 records and 10 %, or below 5 valid rows/)
  expect(await pageOf(list)).toMatch(/never, for this type of destination/)
})
