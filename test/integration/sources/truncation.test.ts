import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { zipOf } from '../../unit/formats/zipOf.ts'
import type { Outcome } from './support.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const files = {
  csv: 'id,title,price\n1,"a, b",1.00 USD\n2,"c ""d""\ne",2.00 USD\n3,é,3.00 USD\n',
  tsv: 'id\ttitle\tprice\n1\ta\t1.00 USD\n2\tb\t2.00 USD\n3\té\t3.00 USD\n',
  jsonl: '{"id":"1","title":"a"}\n{"id":"2","title":"é"}\n{"id":"3","price":{"value":1.5}}\n',
  json: '[{"id":"1","title":"a"},\n{"id":"2","title":"]é"},\n{"id":"3"}]',
  wrapped: '{"n":3,\n"data":{"items":[{"id":"1","title":"a"},\n{"id":"2","title":"]é"},\n{"id":"3"}],"next":null},\n"ok":true}',
  xml: '<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0"><channel><item><g:id>1</g:id></item><!-- é --><item><g:id><![CDATA[2</item>]]></g:id></item></channel></rss>',
} as const

const packers = { gzip: gzipSync, zstd: zstdCompressSync, zip: (text: Buffer) => zipOf([{ name: 'feed', content: text }]) } as const

for (const [format, text] of Object.entries(files)) {
  const bytes = Buffer.from(text)

  test(`${format}, plain, cut at every byte is complete nowhere but at the end of a record`, async () => {
    const outcomes = await cutEverywhere(`feed.${format}`, bytes)
    const complete = outcomes.flatMap(({ facts }, length) => (facts?.completeness.complete === true ? [length] : []))
    // If a plain file is truncated at the end of a record, nothing shows it. Every format with an end marker shows it.
    const untold =
      format === 'csv'
        ? [endOf(text, 'price\n'), endOf(text, ',1.00 USD\n'), endOf(text, ',2.00 USD\n')]
        : ['json', 'wrapped', 'xml'].includes(format)
          ? []
          : lineEnds(text)
    expect(complete).toEqual(untold)
  })

  for (const [packing, pack] of Object.entries(packers)) {
    test(`${format} in ${packing}, cut at every byte, is never complete`, { tags: ['long'] }, async () => {
      const packed = pack(bytes)
      const outcomes = await cutEverywhere(`feed.${format}.${packing}`, packed)
      expect(outcomes.filter(({ facts }) => facts?.completeness.complete === true)).toEqual([])
      expect(new Set(outcomes.map(({ code }) => code)).size).toBeGreaterThan(0)
    })
  }

  test(`${format}, whole, is complete plain and packed`, async () => {
    await using folder = await temporaryFolder()
    for (const content of [bytes, ...Object.values(packers).map((pack) => pack(bytes))]) {
      const { facts, rows } = await readSource(sourceOf(await folder.write('feed', content)))
      expect([facts?.completeness.complete, rows.length]).toEqual([true, format === 'xml' ? 2 : 3])
    }
  })
}

for (const complete of [
  { kind: 'rows', count: 3 },
  { kind: 'trailer', pattern: '#rows={n}' },
] as const) {
  test(`csv with ${complete.kind} as proof, cut at every byte, is never complete`, async () => {
    const text = files.csv + (complete.kind === 'trailer' ? '#rows=3\n' : '')
    const end = text.trimEnd().length
    const outcomes = await cutEverywhere('feed.csv', Buffer.from(text), { complete })
    const proven = outcomes.flatMap(({ facts }, length) => (facts?.completeness.complete === true ? [length] : []))
    // Only the line end itself is missing there; rows and count are complete.
    expect(proven.filter((length) => length < Buffer.byteLength(text.slice(0, end)))).toEqual([])
  })
}

test('a marker and a manifest prove the end; without them it is not proven', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('feed.csv', files.csv)
  const marker = { complete: { kind: 'marker', path: '{path}.done' } } as const
  const manifest = { complete: { kind: 'manifest', path: '{path}.json' } } as const
  expect((await readSource(sourceOf(path, marker))).facts?.completeness.complete).toBe(false)
  expect((await readSource(sourceOf(path, manifest))).facts?.completeness.complete).toBe(false)
  await folder.write('feed.csv.done', '')
  expect((await readSource(sourceOf(path, marker))).facts?.completeness.complete).toBe(true)
  for (const [content, complete] of [
    ['{"rows":3}', true],
    ['{"rows":4}', false],
    ['{}', false],
    [`${'0'.repeat(64)}  feed.csv`, false],
    [`{"bytes":${Buffer.byteLength(files.csv)}}`, true],
    ['nonsense', false],
  ] as const) {
    await folder.write('feed.csv.json', content)
    expect((await readSource(sourceOf(path, manifest))).facts?.completeness.complete).toBe(complete)
  }
})

test('a plain file is complete only if it ends like its last complete read', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('feed.csv', files.csv.trimEnd())
  const first = await readSource(sourceOf(path))
  expect(first.facts).toMatchObject({ finalNewline: false, completeness: { complete: true } })
  expect((await readSource(sourceOf(path), { previous: first.facts! })).facts?.completeness.complete).toBe(true)
  await folder.write('feed.csv', files.csv)
  expect((await readSource(sourceOf(path), { previous: first.facts! })).facts?.completeness.complete).toBe(false)
})

/** Outcome by length, for every proper beginning; the last complete reading ended with a line end. */
async function cutEverywhere(name: string, bytes: Buffer, overrides = {}): Promise<readonly Outcome[]> {
  await using folder = await temporaryFolder()
  const whole = await readSource(sourceOf(await folder.write(`whole-${name}`, bytes), overrides))
  const outcomes: Outcome[] = []
  for (let length = 0; length < bytes.length; length++) {
    outcomes.push(await readSource(sourceOf(await folder.write(name, bytes.subarray(0, length)), overrides), { previous: whole.facts! }))
  }
  return outcomes
}

function endOf(text: string, part: string): number {
  return Buffer.byteLength(text.slice(0, text.indexOf(part) + part.length))
}

function lineEnds(text: string): readonly number[] {
  return [...text.matchAll(/\n/g)].map(({ index }) => Buffer.byteLength(text.slice(0, index + 1))).slice(0, -1)
}
