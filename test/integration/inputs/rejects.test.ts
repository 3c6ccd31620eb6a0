/** A rejects file, corrected by hand and fed back through `backfill`, leaves no reject (issue 4, line 7). */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { csvOf, itemOf, manyProducts, rssOf, type Fields } from '../../support/through.ts'
import { sluice } from '../cli/support.ts'

type Cells = Record<string, string>

/** Reads the copy as a spreadsheet would, corrects it, writes it back with its five reasons. */
function correct(file: string, mend: (row: Cells) => Cells): Cells[] {
  const rows = parse<Cells>(readFileSync(file), { columns: true })
  writeFileSync(file, csvOf(rows.map(mend) as Fields[]))
  return rows
}

const faults: readonly Fields[] = [
  { price: '12,99 EUR' },
  { link: 'http://shop.example.com/x' },
  { condition: 'like new' },
  { title: '-20 % on shoes', availability: 'maybe' },
]
const mended = (row: Cells): Cells => ({
  ...row,
  price: '12.99 EUR',
  link: (row['link'] ?? '').replace('http:', 'https:'),
  condition: 'new',
  availability: 'in stock',
})

for (const format of ['csv', 'xml'] as const) {
  test(`catalog from ${format}: the corrected rejects leave no reject, and what was escaped is itself again`, async () => {
    await using engine = await engineUnderTest()
    const rows = manyProducts(40, (i) => ({ ...(i < faults.length ? faults[i] : {}), ...(i === 2 ? { color: 'red' } : {}) }))
    engine.pipeline('shop', catalogYaml(`feed.${format}`))
    engine.write(`feed.${format}`, format === 'csv' ? csvOf(rows) : rssOf(rows.map((row) => itemOf(row))))
    const first = await engine.run('shop')
    expect(first.counts).toMatchObject({ rejected: 4, confirmed: 36 })

    const file = join(engine.folder, 'rejects.csv')
    const told = await sluice(['rejects', first.runId, '--csv', file], { cwd: engine.folder, env: engine.env })
    expect(told.code).toBe(0)
    const rejects = correct(file, mended)
    expect(Object.keys(rejects[0] ?? {}).slice(-5)).toEqual(['line', 'code', 'field', 'message', 'mend'])
    expect(rejects[3]?.['title']).toBe("'-20 % on shoes")

    const back = await sluice(['backfill', 'shop', '--source', file, '--json'], { cwd: engine.folder, env: engine.env })
    const report = JSON.parse(back.stdout)
    expect([back.code, report.counts.read, report.counts.rejected, report.counts.confirmed]).toEqual([0, 4, 0, 4])
    expect(imbalance(report.counts)).toEqual([])
    expect(report.warnings.filter(({ code }: { code: string }) => code === 'COLUMN_UNKNOWN')).toEqual([])
    const sent = await engine.sandbox.control.products()
    expect(sent).toHaveLength(40)
    expect(sent.find(({ id }) => id === 'P-3')).toMatchObject({ title: '-20 % on shoes', price: '12.99 EUR' })
    expect(sent.find(({ id }) => id === 'P-2')).toMatchObject({ color: 'red' })
  }, 60_000)
}

test('audience: the full rows of --from-source, corrected, leave no reject', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email, phone_number: phone }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write(
    'crm.csv',
    csvOf(
      Array.from({ length: 30 }, (_, i): Fields => ({
        id: `C-${i}`,
        email: i < 3 ? `p${i}@` : `p${i}@example.com`,
        phone: i === 1 ? '+1 202 CALL' : '',
      })),
    ),
  )
  const first = await engine.run('crm')
  expect(first.counts).toMatchObject({ rejected: 3, confirmed: 27 })

  const file = join(engine.folder, 'full.csv')
  const told = await sluice(['rejects', first.runId, '--csv', file, '--from-source'], { cwd: engine.folder, env: engine.env })
  expect([told.code, statSync(file).mode & 0o777]).toEqual([0, 0o600])
  const rejects = correct(file, (row) => ({ ...row, email: `${row['email'] ?? ''}example.com`, phone: '' }))
  expect(rejects.map(({ email }) => email)).toEqual(['p0@', 'p1@', 'p2@'])

  const report = await engine.backfill('crm', 'full.csv')
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, rejected: 0, confirmed: 3 } })
  expect((await engine.sandbox.control.audience()).members).toBe(30)
}, 60_000)
