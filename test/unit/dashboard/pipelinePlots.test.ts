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

const runWith = (valid: number): RunFigures => ({
  runId: 'r_1',
  at: new Date(0),
  status: 'succeeded',
  counts: { valid },
  stages: [],
  requests: 0,
  rateLimited: 0,
  p50: null,
  p95: null,
})

test('the dashed line is half of the last valid rows from 20 rows on, else min_rows', () => {
  if (pipeline === undefined) throw new Error('the pipeline is not valid')
  const plots = pipelinePlots(pipeline, [runWith(19), runWith(21), runWith(40), runWith(4)], [])
  const rows = plots.find(({ id }) => id === 'plot-rows')
  expect(rows?.series.find(({ dash }) => dash === true)?.values).toEqual([5, 5, 11, 20])
})
