import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
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
] as const

test.each(foreign)('%s is named as such, plain and in gzip', async (what, content) => {
  await using folder = await temporaryFolder()
  for (const bytes of [content, gzipSync(content)]) {
    const { error, rows } = await readSource(sourceOf(await folder.write('crm.csv', bytes)))
    expect([error?.code, error?.message, rows]).toEqual(['WRONG_FORMAT', `the file is ${what}`, []])
  }
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
