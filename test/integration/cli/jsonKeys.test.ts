/** Keys of the JSON that programs read. Keys may be added; a removed or renamed key breaks a program. */
import { expect, test } from 'vitest'
import { feed, json, product, shopYaml, workspace } from './workspace.ts'

const counts =
  'read rejected duplicates suppressed valid unchanged stale creates updates deletes renewals withheld deferred requests confirmed refused ambiguous pending'
const runKeys = 'runId pipeline trigger status counts guards startedAt finishedAt durationMs planId rejectCodes warnings'

/** Keys of `list` that the document lacks. */
const missing = (document: object, list: string) => list.split(' ').filter((key) => !(key in document))

test('keys of every report stay', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', shopYaml)
  shop.write('feed.csv', feed(3, { rows: [product(4, '19.99')] }))
  const asked = async (...args: string[]) => json(await shop.here([...args, '--json']))
  const [checked] = await asked('check')
  expect(missing(checked, 'pipeline file destination sources')).toEqual([])
  expect(missing(checked.sources[0], 'uri detected columns rows valid whole records rejects warnings')).toEqual([])
  const made = await asked('init', 'more', '--source', 'feed.csv', '--catalog', '4002')
  expect(missing(made, 'pipeline file destination source settings consent env notes next')).toEqual([])
  expect(missing(made.source, 'uri detected columns mapping rows valid suppressed rejected whole')).toEqual([])
  expect(missing(made.env, 'file added kept')).toEqual([])
  const plan = await asked('plan', 'shop')
  expect(missing(plan, `${runKeys} updateFields requests minutes proof`)).toEqual([])
  expect(missing(plan.counts, counts)).toEqual([])
  const applied = await asked('apply', plan.planId)
  expect([missing(applied, runKeys), missing(applied.counts, counts)]).toEqual([[], []])
  const ran = await asked('run', 'shop')
  expect([missing(ran, runKeys), missing(ran.counts, counts)]).toEqual([[], []])
  expect(missing(await asked('show', ran.runId), `${runKeys} stages columns rerunOf scheduledFor actions`)).toEqual([])
  const [newest] = await asked('runs')
  expect(missing(newest, runKeys)).toEqual([])
  const [reject] = await asked('rejects', ran.runId)
  expect(Object.keys(reject)).toEqual('line code field message hint'.split(' '))
  const [event] = await asked('explain', 'shop', 'SKU-1')
  expect(missing(event, 'at what message')).toEqual([])
  expect(missing(await asked('cancel', ran.runId), 'runId state')).toEqual([])
  const audit = await asked('audit', 'shop')
  expect(
    missing(audit, `${runKeys.replace('planId ', '')} drift readRequests changedFields examples notReturned requests minutes`),
  ).toEqual([])
  expect(missing(audit.drift, 'listed same changed notListed hidden unmanaged unresolved waiting')).toEqual([])
  expect(missing(audit.counts, counts)).toEqual([])
  expect(missing((await asked('run', 'nope')).error, 'code message where hint')).toEqual([])
  shop.write('feed.csv', '')
  const failed = await asked('run', 'shop')
  expect(missing(failed.error, 'code message where hint')).toEqual([])
  shop.write('feed.csv', feed(0))
  const held = await asked('run', 'shop')
  expect(missing(held.guards[0], 'code message hint withheld examples')).toEqual([])
})
