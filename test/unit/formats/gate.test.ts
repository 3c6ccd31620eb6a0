import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordGate } from '../../../src/formats/formatReader.ts'
import { feed, read, refusal, textOf, type Overrides } from './support.ts'

/** Gate with given known records that logs its calls. */
function gateOf(known: ReadonlySet<string> = new Set()): RecordGate & { readonly asked: string[] } {
  const asked: string[] = []
  let shape = ''
  return {
    asked,
    beginShape: (given) => {
      shape = given
    },
    skips: (bytes, start, end) => {
      const record = `${shape}\n${bytes.toString('utf8', start, end)}`
      asked.push(record)
      return known.has(record)
    },
  }
}

const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', '\n', '&', '<', ']', ' ', '\\'), maxLength: 6 })
const table = fc.array(fc.record({ id: fc.nat({ max: 30 }).map(String), title: cell }), { maxLength: 12 })
type Table = readonly { readonly id: string; readonly title: string }[]

const writers = {
  csv: (rows: Table) => `id,title\n${rows.map(({ id, title }) => `${id},"${title.replaceAll('"', '""')}"\n`).join('')}`,
  jsonl: (rows: Table) => rows.map((row) => `${JSON.stringify(row)}\n`).join('') || '{"id":"x","title":"y"}\n',
  json: (rows: Table) => JSON.stringify(rows, null, 1),
  'json in an object': (rows: Table) => JSON.stringify({ total: rows.length, data: { rows } }, null, 1),
  'xml of any kind': (rows: Table) =>
    `<shop>${rows.map(({ id, title }) => `<row id="${id}"><t>${title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</t></row>`).join('')}</shop>`,
  xml: (rows: Table) =>
    feed(...rows.map(({ id, title }) => `<g:id>${id}</g:id><g:title>${title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</g:title>`)),
} as const

/** Formats whose records need a configured name. */
const named: Readonly<Record<string, Overrides>> = {
  'json in an object': { json: { records: 'data.rows' } },
  'xml of any kind': { xml: { item: 'row' } },
}

describe('the record gate (performance.md, gate 2)', () => {
  for (const [format, write] of Object.entries(writers)) {
    test(`${format}: known records are not passed on, and all others are as without a gate`, { tags: ['long'] }, async () => {
      await fc.assert(
        fc.asyncProperty(table, table, fc.integer({ min: 1, max: 60 }), async (before, after, chunkBytes) => {
          const first = gateOf()
          const settings = named[format] ?? {}
          const whole = await read(write(before), { ...settings, gate: first, chunkBytes })
          expect(first.asked).toHaveLength(whole.rows.length)
          const second = gateOf(new Set(first.asked))
          const gated = await read(write(after), { ...settings, gate: second, chunkBytes })
          const oracle = await read(write(after), settings)
          const knownRows = new Set(whole.rows.map(textOf))
          const text = (rows: typeof oracle.rows) => rows.map(textOf).filter((row) => !knownRows.has(row))
          expect(text(gated.rows)).toEqual(text(oracle.rows))
          expect(gated.end.rowCount).toBe(oracle.rows.length)
          expect(gated.rows.length + second.asked.filter((record) => first.asked.includes(record)).length).toBe(oracle.rows.length)
        }),
        { numRuns: 200 },
      )
    })
  }
  test('cases 44 and 146: the gate gets a repaired record as it is in the file, with a shape that includes the settings', async () => {
    const raw = '<g:title>a&nbsp;b</g:title><g:link>https://shop.example.com/?a=1&b=2</g:link>'
    const xml = { htmlEntities: true, escapeAmpersands: true }
    const first = gateOf()
    await read(feed(raw), { gate: first, xml })
    expect(first.asked[0]).toContain(raw)
    const again = await read(feed(raw), { gate: gateOf(new Set(first.asked)), xml })
    expect([again.rows, again.end.rowCount]).toEqual([[], 1])
    const plain = async (settings: object) => {
      const gate = gateOf()
      await read(feed('<g:id>1</g:id>'), { gate, ...settings })
      return gate.asked[0]
    }
    const shapes = [{}, { xml: { htmlEntities: true } }, { xml: { escapeAmpersands: true } }, { xml }].map(plain)
    expect(new Set(await Promise.all(shapes)).size).toBe(4)
  })
  test('another header is another shape', async () => {
    const first = gateOf()
    await read('id,title\n1,a\n', { gate: first })
    const gated = await read('id,name\n1,a\n', { gate: gateOf(new Set(first.asked)) })
    expect(gated.rows).toHaveLength(1)
  })
  test('records with misplaced quotes or NUL bytes are always parsed, and a trailer is passed to the gate but never yielded', async () => {
    const gate = gateOf()
    const result = await read('id,title\n1,5" nail\n2,a\0\n3,c\n#rows=3\n', { gate, complete: { kind: 'trailer', pattern: '#rows={n}' } })
    expect(gate.asked.map((record) => record.split('\n')[1])).toEqual(['3,c', '#rows=3'])
    expect([result.rows.length, result.end.trailerRows]).toEqual([3, 3])
  })
  test('a record after the trailer rejects the file, known or not', async () => {
    const file = 'id,title\n1,a\n#rows=1\n2,b\n'
    const whole = gateOf()
    await read(file.replace('#rows=1\n', ''), { gate: whole })
    for (const chunkBytes of [1, 22, 4_000])
      for (const gate of [gateOf(), gateOf(new Set(whole.asked))])
        expect(await refusal(file, { gate, chunkBytes, complete: { kind: 'trailer', pattern: '#rows={n}' } })).toBe('FILE_MALFORMED')
  })
  test('a short last row may be truncated only if no known record follows it', async () => {
    const known = gateOf()
    await read('id,title\n2,b\n', { gate: known })
    const gate = () => gateOf(new Set(known.asked))
    expect((await read('id,title\n2,b\n1', { gate: gate() })).end.doubt).toBeDefined()
    expect((await read('id,title\n1\n2,b', { gate: gate() })).end.doubt).toBeUndefined()
  })
})
