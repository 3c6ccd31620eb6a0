/** Guard results for warnings on a source. */
import { expect, test } from 'vitest'
import { guardResultsOfWarnings } from '../../../src/sync/plan/qualityGuard.ts'

const note = { code: 'ENCODING_DOUBTFUL', field: '', message: 'doubtful', count: 7, lines: [1, 2, 3, 4, 5] }

test('the hint of a backfill repeats the backfill, because a run reads another source', () => {
  const pipeline = { name: 'shop', guards: { minRows: 1, maxDeleteCount: 10, maxDeletePercent: 10, maxRejectPercent: 50 } }
  const hint = (backfillCommand?: string) => guardResultsOfWarnings(pipeline, [note], { backfillCommand })[0]?.hint
  expect(hint()).toMatch(/in the pipeline and sluice run shop$/)
  expect(hint('sluice rerun r_7')).toMatch(/in the pipeline and sluice rerun r_7$/)
})

test('a result shows the first lines of its notes, also line 1, with a hint for the file or without', () => {
  const pipeline = { name: 'shop', guards: { minRows: 1, maxDeleteCount: 10, maxDeletePercent: 10, maxRejectPercent: 50 } }
  const examples = (hint: object) => guardResultsOfWarnings(pipeline, [{ ...note, ...hint }]).map((result) => result.examples)
  const lines = [['line 1', 'line 2', 'line 3', 'line 4', 'line 5']]
  expect([examples({}), examples({ hint: 'consent: none' })]).toEqual([lines, lines])
})
