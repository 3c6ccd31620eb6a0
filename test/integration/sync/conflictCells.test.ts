import { expect, test } from 'vitest'
import { loadRejects } from '../../../src/sync/reports/history.ts'
import { engineUnderTest } from '../../support/engine.ts'
import { csvOf, goodProduct } from '../../support/through.ts'
import { full, headers, rawServer } from '../sources/rawServer.ts'

test('a source that cannot be read a second time rejects contradicting rows without their cells, and its other rows are sent', async () => {
  await using engine = await engineUnderTest()
  const feed = csvOf([{ ...goodProduct, id: 'A' }, goodProduct, { ...goodProduct, price: '1.00 USD' }])
  await using server = await rawServer((_, socket, count) =>
    socket.end(count === 1 ? full(feed) : headers({ 'content-length': 0 }, '404 Not Found')),
  )
  engine.pipeline(
    'shop',
    `source: { url: "${server.url}/feed.csv", allow_private: true }\ndestination: { kind: catalog, catalog_id: "4001" }\nguards: { max_reject_percent: 100 }\n`,
  )
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, rejected: 2, valid: 1, confirmed: 1 } })
  const rejects = await Array.fromAsync(loadRejects(engine.db, report.runId))
  expect(rejects.map(({ code, cells }) => [code, cells])).toEqual([
    ['DUPLICATE_CONFLICT', []],
    ['DUPLICATE_CONFLICT', []],
  ])
  expect(server.requests).toHaveLength(2)
})

test('cells of contradicting JSON rows stand under their columns, also after a read that skipped rows', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'shop',
    'source: { url: "{folder}/feed.jsonl" }\ndestination: { kind: catalog, catalog_id: "4001" }\nguards: { max_reject_percent: 100 }\n',
  )
  const { id: _, ...rest } = goodProduct
  const write = (...rows: object[]) => engine.write('feed.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const known = Array.from({ length: 20 }, (_unused, i) => ({ id: `K${i}`, ...rest }))
  // The second column of the last read is on no row of the next file.
  write({ id: 'A', note: 'x', ...rest }, ...known)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  write(...known, { id: 'B', ...rest }, { id: 'B', ...rest, price: '1.00 USD' })
  const report = await engine.run('shop')
  const [run] = await engine.db.query<{ columns: string[] }>('select columns from run order by id desc limit 1')
  const rejects = await Array.fromAsync(loadRejects(engine.db, report.runId))
  expect(rejects.map(({ cells }) => cells[run?.columns.indexOf('price') ?? -1])).toEqual([rest.price, '1.00 USD'])
})
