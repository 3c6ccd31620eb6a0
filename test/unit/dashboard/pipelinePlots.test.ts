/** Plots of a pipeline: the line of the valid rows below which deletes are withheld. */
import { expect, test } from 'vitest'
import { pipelinePlots } from '../../../src/dashboard/pipelinePlots.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import type { RunFigures } from '../../../src/sync/runFigures.ts'

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
