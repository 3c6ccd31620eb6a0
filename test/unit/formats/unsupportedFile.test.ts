import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { zipOf } from './zipOf.ts'
import { readSource, sourceOf, temporaryFolder } from '../../integration/sources/support.ts'

const tar = Buffer.alloc(1024)
tar.write('crm.csv')
tar.write('ustar', 257)

const foreign = [
  ['compressed with bzip2', Buffer.from('BZh91AY&SY rest')],
  ['compressed with xz', Buffer.from('fd377a585a000004', 'hex')],
  ['compressed with lz4', Buffer.from('04224d18644070b9', 'hex')],
  ['a 7z archive', Buffer.from('377abcaf271c0004', 'hex')],
  ['a RAR archive', Buffer.from('526172211a070100', 'hex')],
  ['a tar archive', tar],
  ['encrypted with PGP', Buffer.from('-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n')],
  ['encrypted with age', Buffer.from('age-encryption.org/v1\n-> X25519 a\n')],
  ['a Parquet file', Buffer.from('PAR1\x15\x04PAR1')],
  ['an Avro file', Buffer.from('Obj\x01\x04')],
  ['a SQLite database', Buffer.from('SQLite format 3\0')],
  ['a PDF document', Buffer.from('%PDF-1.7\n1 0 obj\n')],
  ['a document in RTF', Buffer.from('{\\rtf1 id;title}')],
  ['a picture', Buffer.from('89504e470d0a1a0a', 'hex')],
  [
    'an XML spreadsheet of Excel 2003',
    Buffer.from('<?xml version="1.0"?>\r\n<?mso-application progid="Excel.Sheet"?>\r\n<Workbook><Worksheet/></Workbook>'),
  ],
  ['a web page of Excel', Buffer.from('<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table><tr><td>id</td></tr></table></html>')],
] as const

test.each(foreign)('%s is named as such, plain and in gzip', async (what, content) => {
  await using folder = await temporaryFolder()
  for (const bytes of [content, gzipSync(content)]) {
    const { error, rows } = await readSource(sourceOf(await folder.write('crm.csv', bytes)))
    expect([error?.code, error?.message, rows]).toEqual(['WRONG_FORMAT', `the file is ${what}`, []])
  }
})

const openDocument = { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true }
test.each([
  ['an OpenDocument file', [openDocument, { name: 'content.xml', content: '<office:document-content/>' }]],
  [
    'a document of Apple Numbers or Pages',
    [
      { name: 'Index/Document.iwa', content: 'x' },
      { name: 'Metadata/Properties.plist', content: 'x' },
    ],
  ],
] as const)('%s is named as such, not as an archive of several files', async (what, members) => {
  await using folder = await temporaryFolder()
  const { error } = await readSource(sourceOf(await folder.write('crm.ods', zipOf(members))))
  expect(error).toMatchObject({ code: 'WRONG_FORMAT', message: `the file is ${what}`, hint: 'Save it as .xlsx, or export it as CSV.' })
})

test.each([
  'PAR1,PAR2',
  'BZh9,title',
  'Obj,title',
  'Rar!,title',
  '7z,title',
  'GIF8,title',
  '%PDF,title',
  'SQLite format 3,title',
  'ustar,title',
])('a table whose header begins with %s is a table', async (header) => {
  await using folder = await temporaryFolder()
  const { facts } = await readSource(sourceOf(await folder.write('crm.csv', `${header}\n1,a\n2,b\n`)))
  expect(facts?.columns).toEqual(header.split(','))
})
