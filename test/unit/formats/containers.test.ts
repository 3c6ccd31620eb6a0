import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { read, refusal } from './support.ts'
import { zipOf } from './zipOf.ts'

const csv = 'id,title\n1,a\n2,b\n'
const gzip = gzipSync(csv)

describe('transport, containers, encodings (bad-inputs section 1)', () => {
  test('case 1: a file of zero bytes is rejected', async () => {
    expect(await refusal('')).toBe('FILE_EMPTY')
    expect(await refusal(gzipSync(''))).toBe('FILE_EMPTY')
  })
  test.each([
    ['cut', gzip.subarray(0, -5), 'FILE_TRUNCATED'],
    ['with a bad checksum', flip(gzip, gzip.length - 8), 'FILE_CORRUPT'],
    ['with a bad length', flip(gzip, gzip.length - 4), 'FILE_CORRUPT'],
    ['with damaged data', Buffer.concat([gzip.subarray(0, 12), Buffer.from([0xff, 0xff, 0xff]), gzip.subarray(15)]), 'FILE_CORRUPT'],
  ])('case 3: gzip %s', async (_, bytes, code) => {
    expect(await refusal(bytes)).toBe(code)
    expect(await refusal(bytes, { chunkBytes: 1 })).toBe(code)
  })
  test.each([['P'], ['PK'], ['PK\u0003'], ['\u001f']])(
    'a file that ends inside the signature of a compressed file is truncated, and not a small table: %j',
    async (text) => {
      expect(await refusal(text)).toBe('FILE_TRUNCATED')
    },
  )
  test.each([[Buffer.alloc(9)], [Buffer.from('garbage')], [Buffer.from([0])]])('case 4: bytes after the gzip stream: %j', async (tail) => {
    for (const chunkBytes of [1, 7, 65_536])
      expect(['FILE_TRAILING_BYTES', 'FILE_CORRUPT']).toContain(await refusal(Buffer.concat([gzip, tail]), { chunkBytes }))
  })
  test('case 5: one layer of compression is removed for any file name, and a second layer is rejected', async () => {
    expect((await read(gzip, { name: 'feed.csv', compression: 'none' })).detected.notes).toHaveLength(1)
    expect((await read(csv, { name: 'feed.csv.gz', compression: 'gzip' })).detected.notes).toHaveLength(1)
    expect(await refusal(gzipSync(gzip))).toBe('FILE_DOUBLE_PACKED')
    expect(await refusal(zstdCompressSync(gzip))).toBe('FILE_DOUBLE_PACKED')
  })
  test.each([[1], [10], [65_536]])('case 6: consecutive gzip members are one file (chunks of %i)', async (chunkBytes) => {
    const result = await read(Buffer.concat([gzipSync('id,title\n1,a'), gzipSync('\n2,b\n')]), { chunkBytes })
    expect(result.rows.map((row) => row.cells)).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ])
  })
  test('case 7: a decompression bomb is rejected by its ratio', async () => {
    const bomb = Buffer.concat([Buffer.from('id,title\n'), Buffer.alloc(20_000_000, '\n')])
    expect(await refusal(gzipSync(bomb))).toBe('FILE_BOMB')
    expect(await refusal(zstdCompressSync(bomb))).toBe('FILE_BOMB')
    expect(await refusal(zipOf([{ name: 'feed.csv', content: bomb }]))).toBe('FILE_BOMB')
    const beside = [
      { name: 'feed.csv', content: 'id,title\n1,a\n' },
      { name: 'other.bin', content: bomb },
    ]
    expect(await refusal(zipOf(beside), { member: 'feed.csv' })).toBe('FILE_BOMB')
  })
  test('case 7: a zip whose directory does not match its members is rejected', async () => {
    expect(await refusal(zipOf([{ name: 'feed.csv', content: csv }], { directoryOffset: 4 }))).toBe('FILE_CORRUPT')
  })
  test.each([
    ['a path that climbs', zipOf([{ name: '../../x', content: csv }])],
    ['an absolute path', zipOf([{ name: '/etc/x', content: csv }])],
    [
      'two files',
      zipOf([
        { name: 'a.csv', content: csv },
        { name: 'b.csv', content: csv },
      ]),
    ],
    ['a symbolic link', zipOf([{ name: 'a.csv', content: csv, mode: 0o120777 }])],
    ['an encrypted member', zipOf([{ name: 'a.csv', content: csv, flags: 1 }])],
    ['only a folder', zipOf([{ name: 'a/', content: '' }])],
  ])('case 8: a zip with %s is rejected', async (_, bytes) => {
    expect(await refusal(bytes)).toBe('FILE_ARCHIVE')
    expect(await refusal(bytes, { chunkBytes: 3 })).toBe('FILE_ARCHIVE')
  })
  test.each([
    ['one member', zipOf([{ name: 'a.csv', content: csv }])],
    [
      'one member in a folder',
      zipOf([
        { name: 'x/', content: '' },
        { name: 'x/a.csv', content: csv },
      ]),
    ],
    ['a stored member', zipOf([{ name: 'a.csv', content: csv, stored: true }])],
    ['a size that follows', zipOf([{ name: 'a.csv', content: csv, described: true }])],
  ])('case 184: a zip with %s is read', async (_, bytes) => {
    for (const chunkBytes of [1, 65_536]) {
      const result = await read(bytes, { chunkBytes })
      expect([result.rows.length, result.containerProof]).toEqual([2, 'zip directory and checksum'])
    }
  })
  test('reads only the named member', async () => {
    const bytes = zipOf([
      { name: 'a.csv', content: 'x,y\n' },
      { name: 'b.csv', content: csv },
    ])
    expect((await read(bytes, { member: 'b.csv' })).rows).toHaveLength(2)
    expect(await refusal(bytes, { member: 'c.csv' })).toBe('FILE_ARCHIVE')
  })
  test('a zip with a wrong checksum is rejected', async () => {
    expect(await refusal(zipOf([{ name: 'a.csv', content: csv, crc: 1 }]))).toBe('FILE_CORRUPT')
  })
  test.each([[1], [65_536]])(
    'zstd frames are one file, also with skippable frames as pzstd writes them (chunks of %i)',
    async (chunkBytes) => {
      const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 0x1f, 0x8b])
      const frames = [zstdCompressSync('id,title\n1,a\n'), zstdCompressSync('2,b\n')]
      const bytes = Buffer.concat(frames.flatMap((frame) => [skippable, frame]))
      expect((await read(bytes, { chunkBytes })).rows).toHaveLength(2)
      expect(await refusal(bytes.subarray(0, -3), { chunkBytes })).toBe('FILE_TRUNCATED')
      expect(['FILE_TRAILING_BYTES', 'FILE_CORRUPT']).toContain(await refusal(Buffer.concat([bytes, Buffer.from('more')]), { chunkBytes }))
    },
  )
  test('case 9: a UTF-8 byte order mark is not part of the first column', async () => {
    expect((await read('\ufeffid,title\n1,a\n')).rows[0]?.columns).toEqual(['id', 'title'])
  })
  test.each([
    ['utf16le', [0xff, 0xfe]],
    ['utf-16be', [0xfe, 0xff]],
  ] as const)('cases 10 and 203: %s is read with its byte order mark, and rejected without it', async (encoding, mark) => {
    const little = Buffer.from('id,title\n1,é\n', 'utf16le')
    const bytes = encoding === 'utf16le' ? little : Buffer.from(little).swap16()
    const result = await read(Buffer.concat([Buffer.from(mark), bytes]), { chunkBytes: 3 })
    expect(result.rows[0]?.cells).toEqual(['1', 'é'])
    expect(await refusal(bytes)).toBe('FILE_ENCODING')
    expect((await read(bytes, { encoding: encoding === 'utf16le' ? 'utf-16le' : 'utf-16be' })).rows[0]?.cells).toEqual(['1', 'é'])
  })
  test.each([
    ['utf-16', [0xff, 0xfe], 'utf16le', undefined],
    ['UTF-16', [0xfe, 0xff], 'utf-16be', undefined],
    ['utf-16le', [0xff, 0xfe], 'utf16le', undefined],
    ['utf-8', [0xef, 0xbb, 0xbf], 'utf-8', undefined],
    ['utf-16', [0xef, 0xbb, 0xbf], 'utf-8', 'the file starts with the byte order mark of utf-8, but the setting is utf-16'],
    ['utf-16be', [0xff, 0xfe], 'utf16le', 'the file starts with the byte order mark of utf-16le, but the setting is utf-16be'],
    ['utf-8', [0xfe, 0xff], 'utf-16be', 'the file starts with the byte order mark of utf-16be, but the setting is utf-8'],
  ] as const)('case 17: the setting %s and the mark %j of a file in %s: %s', async (encoding, mark, of, message) => {
    const text = 'id,title\n1,é\n'
    const little = Buffer.from(text, 'utf16le')
    const bytes = of === 'utf-8' ? Buffer.from(text) : of === 'utf16le' ? little : little.swap16()
    const reading = read(Buffer.concat([Buffer.from(mark), bytes]), { encoding })
    if (message !== undefined) await expect(reading).rejects.toMatchObject({ code: 'FILE_ENCODING', message })
    else expect((await reading).rows[0]?.cells).toEqual(['1', 'é'])
  })
  test('case 11: bytes of windows-1252 are rejected as UTF-8, with the byte, and read if the encoding is set', async () => {
    const bytes = Buffer.from('id,title\n1,caf\xe9 \x80\n', 'latin1')
    await expect(read(bytes)).rejects.toMatchObject({ code: 'FILE_ENCODING', where: 'feed, byte 14' })
    expect((await read(bytes, { encoding: 'windows-1252' })).rows[0]?.cells).toEqual(['1', 'café €'])
  })
  test.each([[[0xc0, 0x80]], [[0xed, 0xa0, 0x80]], [[0xf5, 0x80, 0x80, 0x80]], [[0x80]]])(
    'case 13: the bytes %j are rejected',
    async (bad) => {
      for (const chunkBytes of [1, 65_536])
        expect(await refusal(Buffer.concat([Buffer.from('id,title\n1,'), Buffer.from(bad), Buffer.from('\n')]), { chunkBytes })).toBe(
          'FILE_ENCODING',
        )
    },
  )
  test.each([
    ['iso-8859-2', [0xb1], 'ą'],
    ['windows-1251', [0xdf], 'Я'],
    ['shift_jis', [0x83, 0x65], 'テ'],
    ['windows-1254', [0xfe], 'ş'],
  ] as const)('%s is read if it is set', async (encoding, bytes, text) => {
    expect(
      (await read(Buffer.concat([Buffer.from('id,title\n1,'), Buffer.from(bytes), Buffer.from('\n')]), { encoding, chunkBytes: 1 })).rows[0]
        ?.cells,
    ).toEqual(['1', text])
  })
  test.each([
    ['shift_jis', [0x81, 0x20]],
    ['utf-16le', [0x00, 0xd8, 0x41, 0x00]],
    ['windows-1253', [0xd2]],
  ] as const)('bytes that are not %s are rejected', async (encoding, bad) => {
    const head = encoding === 'utf-16le' ? Buffer.from('id\n', 'utf16le') : Buffer.from('id\n')
    expect(await refusal(Buffer.concat([head, Buffer.from(bad), head]), { encoding })).toBe('FILE_ENCODING')
  })
  test('bytes that are not utf-16le are reported with their place in the file', async () => {
    const bytes = Buffer.concat([Buffer.from('\ufeffid\n1234567\n', 'utf16le'), Buffer.from([0x00, 0xd8, 0x41, 0x00])])
    await expect(read(bytes, { chunkBytes: 8 })).rejects.toMatchObject({ where: 'feed, bytes 24 to 27' })
  })
  test('case 177: windows-1251, semicolons and repeated names are read if each is set', async () => {
    const bytes = Buffer.from('id;\xef;\xef\n1;a;b\n', 'latin1')
    expect(await refusal(bytes)).toBe('FILE_ENCODING')
    expect((await read(bytes, { encoding: 'windows-1251' })).rows[0]?.columns).toEqual(['id', 'п', 'п (column 3)'])
    const result = await read(bytes, { encoding: 'windows-1251', csv: { headerRow: 1, columns: ['id', 'title', 'brand'] } })
    expect(result.rows[0]?.cells).toEqual(['1', 'a', 'b'])
  })
  test.each(['UTF-16', 'utf-16le', 'utf-16be'])('case 17: a readable declaration of %s contradicts its bytes', async (declared) => {
    const text = `<?xml version="1.0" encoding="${declared}"?>\n<rss><channel></channel></rss>`
    await expect(read(text)).rejects.toMatchObject({
      code: 'FILE_ENCODING',
      message: 'the XML declaration names utf-16, but it is not UTF-16 itself',
      hint: 'Set `encoding: utf-8` of the source, or correct the declaration.',
    })
    expect((await read(text, { encoding: 'utf-8' })).rows).toEqual([])
  })
  test('case 17: the byte order mark takes precedence over the HTTP header, and that over the declaration', async () => {
    const xml = (declared: string, text: Buffer) =>
      Buffer.concat([
        Buffer.from(`<?xml version="1.0" encoding="${declared}"?><rss><channel><item><id>`),
        text,
        Buffer.from('</id></item></channel></rss>'),
      ])
    const latin = xml('iso-8859-1', Buffer.from([0xe9]))
    expect((await read(latin)).rows[0]?.cells).toEqual(['é'])
    expect(await refusal(latin, { charset: 'utf-8' })).toBe('FILE_ENCODING')
    expect((await read(xml('utf-8', Buffer.from([0xe9])), { charset: 'iso-8859-1' })).rows[0]?.cells).toEqual(['é'])
    expect((await read(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), xml('iso-8859-1', Buffer.from('é'))]))).rows[0]?.cells).toEqual([
      'é',
    ])
    expect(await refusal(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), latin]))).toBe('FILE_ENCODING')
  })
  test('a byte order mark that contradicts the setting is rejected', async () => {
    expect(await refusal('\ufeffid\n1\n', { encoding: 'windows-1252' })).toBe('FILE_ENCODING')
    expect(await refusal('id\n1\n', { encoding: 'klingon' })).toBe('FILE_ENCODING')
  })
  test('a file that ends inside a character is truncated', async () => {
    expect(await refusal(Buffer.from('id,title\n1,é\n').subarray(0, -2))).toBe('FILE_TRUNCATED')
  })
})

function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 0xff
  return copy
}
