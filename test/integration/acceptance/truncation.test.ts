/** A truncated file is not taken for a complete one: nothing is deleted, and the reason is reported. */
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { engineUnderTest } from '../../support/agreement.ts'
import { catalogYaml } from '../../support/engine.ts'
import { item, products, rss, expectedProduct } from './products.ts'

const rows = products(3)
const header = 'id,title,description,link,image_link,price,availability,brand,mpn,condition'
const flat = rows.map((row) => expectedProduct({ ...row, title: row.id }))
const files: readonly (readonly [name: string, text: string])[] = [
  ['feed.xml', rss(rows.map((row) => item(row)))],
  ['feed.json', JSON.stringify(flat)],
  ['wrapped.json', JSON.stringify({ total: 3, data: { products: flat }, page: { next: null } }, null, 1)],
  ['feed.jsonl', flat.map((row) => `${JSON.stringify(row)}\n`).join('')],
  [
    'feed.csv',
    `${header}\n${flat
      .map((row) =>
        header
          .split(',')
          .map((name) => String(row[name]))
          .join(','),
      )
      .join('\n')}\n`,
  ],
]

/**
 * Returns the places to cut the file at. Each cut costs a plan, 200 ms of processor time, so there are few:
 * - places all over the file
 * - its first and last bytes
 * - the ends of lines, if there are at most four
 *
 * With SLUICE_EVERY_BYTE: every byte. test/integration/sources/truncation.test.ts cuts reads at every byte.
 */
function cuts(bytes: Uint8Array): number[] {
  const { length } = bytes
  const step = process.env['SLUICE_EVERY_BYTE'] ? 1 : Math.ceil(length / 6)
  const lineEnds = Array.from(bytes.keys()).filter((i) => bytes[i] === 0x0a)
  const ends = new Set((lineEnds.length > 4 ? [] : lineEnds).flatMap((i) => [i, i + 1]))
  return Array.from(bytes.keys()).filter((i) => i % step === 0 || i === 1 || i > length - 7 || ends.has(i))
}

describe.for(files)('%s', ([name, text]) => {
  test.for(['plain', 'gzip'] as const)(
    'deletes nothing unless the file is cut between two records, %s',
    { tags: ['long'], timeout: 300_000 },
    async (form) => {
      await using engine = await engineUnderTest()
      const whole = form === 'gzip' ? gzipSync(text) : Buffer.from(text)
      const file = form === 'gzip' ? `${name}.gz` : name
      // No guard, so that only the unproven end can withhold the deletes.
      engine.pipeline('shop', `${catalogYaml(file)}guards: { min_rows: 0, max_reject_percent: 100 }\n`)
      engine.write(file, whole)
      expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 3 } })
      // Only if the last kept byte ends a record, the cut cannot be reported (docs/guarantees.md#deletes-need-proof).
      const endsRecord = (at: number) => form === 'plain' && /csv|jsonl/.test(name) && (whole[at - 1] === 0x0a || whole[at] === 0x0a)
      // One cut for each result of a plan without deletes: an error, or guards.
      const cutOf = new Map<string, number>()
      for (const at of cuts(whole)) {
        engine.write(file, whole.subarray(0, at))
        const report = await engine.plan('shop').catch((error: { code: string; message: string }) => error)
        if ('counts' in report && report.counts.deletes > 0) {
          expect([at, endsRecord(at)]).toEqual([at, true])
          continue
        }
        if ('counts' in report) expect([at, report.guards.length > 0 || report.counts.withheld === 0]).toEqual([at, true])
        else expect([at, report.code]).toEqual([at, expect.stringMatching(/^[A-Z_]+$/)])
        const outcome = 'counts' in report ? report.guards.map(({ code }) => code).join() : report.code
        if (!cutOf.has(outcome)) cutOf.set(outcome, at)
      }
      expect([...cutOf.keys()]).not.toEqual([])
      for (const at of cutOf.values()) {
        engine.write(file, whole.subarray(0, at))
        await engine.run('shop')
      }
      expect((await engine.writes()).filter(({ method }) => method === 'DELETE')).toEqual([])
      expect((await engine.sandbox.control.catalog()).products).toBe(3)
    },
  )
})

test.for([
  ['an empty file', 'feed.csv', '', /^failed|withheld$/],
  ['a header alone', 'feed.csv', `${header}\n`, /^withheld$/],
  ['an empty list', 'feed.json', '[]', /^withheld$/],
  ['an empty channel', 'feed.xml', rss([]), /^withheld$/],
] as const)('%s deletes nothing and says why, whatever is approved', { tags: ['long'] }, async ([, file, text, status]) => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml(file))
  engine.write(file, files.find(([name]) => name === file)?.[1] ?? '')
  expect((await engine.run('shop')).status).toBe('succeeded')
  engine.write(file, text)
  for (const options of [{}, { approveDeletes: 3 }, { approveDeletes: 1_000 }]) {
    const report = await engine.run('shop', options)
    expect(report.status).toMatch(status)
    expect(report.counts.deletes).toBe(0)
    expect(report.guards.map(({ message, hint }) => `${message} ${hint}`).join('') + (report.error?.message ?? '')).not.toBe('')
    if (report.status === 'withheld') expect(report.guards.map(({ code }) => code)).toContain('GUARD_MIN_ROWS')
  }
  expect((await engine.sandbox.control.catalog()).products).toBe(3)
})

test('an error document instead of the records deletes nothing, whatever the guards allow', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.json')}guards: { min_rows: 0, max_reject_percent: 100 }\n`)
  engine.write('feed.json', JSON.stringify({ data: { products: flat } }))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { creates: 3 } })
  for (const text of ['{"error":"too many requests"}\n', '{"error":"too many requests"}', '{"data":null}\n', '{}\n']) {
    engine.write('feed.json', text)
    const report = await engine.run('shop', { approveDeletes: 1_000 })
    expect([text, report.counts.deletes, report.status]).toEqual([text, 0, 'withheld'])
  }
  expect((await engine.sandbox.control.catalog()).products).toBe(3)
})

test('with one delete more than approved, all deletes are withheld', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const feed = (from: number) =>
    engine.write(
      'feed.xml',
      rss(
        products(60)
          .slice(from)
          .map((row) => item(row)),
      ),
    )
  feed(0)
  await engine.run('shop')
  feed(15)
  expect(await engine.run('shop')).toMatchObject({
    status: 'withheld',
    counts: { withheld: 15, deletes: 0 },
    guards: [{ code: 'GUARD_DELETES', withheld: 15 }],
  })
  expect(await engine.run('shop', { approveDeletes: 14 })).toMatchObject({ status: 'withheld', counts: { withheld: 15, deletes: 0 } })
  // More rows are missing than when the number was approved.
  feed(16)
  expect(await engine.run('shop', { approveDeletes: 15 })).toMatchObject({ status: 'withheld', counts: { withheld: 16, deletes: 0 } })
  expect((await engine.sandbox.control.catalog()).products).toBe(60)
  expect(await engine.run('shop', { approveDeletes: 16 })).toMatchObject({ status: 'succeeded', counts: { deletes: 16, withheld: 0 } })
  expect((await engine.sandbox.control.catalog()).products).toBe(44)
})
