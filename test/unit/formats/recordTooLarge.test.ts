/** A record that is too large is rejected with the same text by every reader, with its first line. */
import { expect, test } from 'vitest'
import { feed, feedHead, read } from './support.ts'
import { workbook } from './workbookOf.ts'

const limits = { recordBytes: 1000 }
const long = 'x'.repeat(2000)

test.each([
  ['feed.csv', `id,title\n1,Cup\n2,${long}\n`, 'a record', ', line 3'],
  ['feed.jsonl', `{"id":"1"}\n{"id":"${long}"}\n`, 'a line', ', line 2'],
  ['feed.json', `[{"id":"1"},\n{"id":"${long}"}]`, 'an element', ', line 2'],
  ['around.json', `{"note":"${long}","items":[]}`, 'the text around the records', ''],
  ['feed.xml', feed('<g:id>1</g:id>', `<g:id>${long}</g:id>`), 'an item, comment or tag', ', line 4'],
  ['head.xml', `${feedHead}\n${long}`, 'the text between two elements', ', line 4'],
  ['feed.xlsx', workbook(`<row r="2"><c r="A2" t="inlineStr"><is><t>${long}</t></is></c></row>`), 'a row', ', line 2'],
])('%s: names the record that is too large, and its first line', async (name, content, what, at) => {
  const json = name === 'around.json' ? { json: { records: 'items' } } : {}
  await expect(read(content, { name, limits, chunkBytes: 64, ...json })).rejects.toMatchObject({
    code: 'FILE_RECORD_TOO_LARGE',
    message: `${what} is larger than 1000 bytes`,
    where: `${name}${at}`,
  })
})
