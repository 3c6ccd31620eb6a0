import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFile, chmod, copyFile, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import { hashSource } from '../../../src/sources/hashSource.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { readApart } from './readApart.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const csv = 'id,title\n1,a\n'
const large = `id,title\n${Array.from({ length: 20_000 }, (_, at) => `${at},${'x'.repeat(100)}\n`).join('')}`

test('a path, a file address and a pattern name the same file; the newest match counts', async () => {
  await using folder = await temporaryFolder()
  const older = await folder.write('export-b.csv', 'id,title\n0,old\n')
  const newer = await folder.write('export-a.csv', csv)
  await utimes(older, 1_000_000, 1_000_000)
  for (const uri of [newer, `file://${newer}`, join(folder.path, 'export-*.csv')]) {
    expect((await readSource(sourceOf(uri))).rows.map((row) => row.cells)).toEqual([['1', 'a']])
  }
  expect((await readSource(sourceOf(join(folder.path, 'nothing-*.csv')))).code).toBe('SOURCE_MISSING')
})

test('a relative pattern leads to no file outside of the working directory, also by its braces', async () => {
  await using folder = await temporaryFolder()
  await folder.write('feed.csv', csv)
  const outside = relative(process.cwd(), folder.path)
  for (const pattern of [`${outside}/*.csv`, `{none,${outside}}/feed.csv`, `{none/x,${outside}/feed}.csv`])
    expect([pattern, (await readSource(sourceOf(pattern))).code]).toEqual([pattern, 'SOURCE_REFUSED'])
})

test('the newest match ignores unfinished uploads, markers and checksums, and prefers the later name', async () => {
  await using folder = await temporaryFolder()
  const put = async (name: string, id: number, at: number) => utimes(await folder.write(name, `id\n${id}\n`), at, at)
  const read = async (pattern: string) => (await readSource(sourceOf(join(folder.path, pattern)))).rows[0]?.cells[0]
  await put('crm-1.csv', 1, 1_000)
  await put('crm-2.csv', 2, 2_000)
  await put('crm-3.csv', 3, 2_000)
  for (const ending of ['.part', '.PART', '.partial', '.filepart', '.tmp', '.temp', '.crdownload', '~', '.done', '.sha256'])
    await put(`crm-4.csv${ending}`, 4, 3_000)
  await put('.crm-5.csv.Ab12', 5, 3_000)
  await mkdir(join(folder.path, 'crm-6.csv'))
  expect([await read('crm-*'), await read('*.csv*'), await read('crm-*.csv'), await read('*')]).toEqual(['3', '3', '3', '3'])
  // An ending in the pattern includes such files.
  expect([await read('crm-*.tmp'), await read('crm-4.csv.part')]).toEqual(['4', '4'])
  await put('only.part', 7, 3_000)
  expect((await readSource(sourceOf(join(folder.path, 'only*')))).error).toMatchObject({
    code: 'SOURCE_MISSING',
    message: 'no finished file matches the pattern',
  })
})

test('a newest match that is still being written is rejected, not replaced by the one before', async () => {
  await using folder = await temporaryFolder()
  await utimes(await folder.write('crm-1.csv', csv), 1_000, 1_000)
  const growing = await folder.write('crm-2.csv', csv)
  const source = await openSource(sourceOf(join(folder.path, 'crm-*.csv')), { env: {}, log: silentLogger })
  await appendFile(growing, '2,b\n')
  await expect(Array.fromAsync(source.rows)).rejects.toMatchObject({ code: 'SOURCE_CHANGED', where: growing })
})

test('case 138: anything but a regular file is rejected', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'inside'))
  const file = await folder.write('feed.csv', csv)
  await symlink(file, join(folder.path, 'inside', 'out.csv'))
  await symlink(file, join(folder.path, 'current.csv'))
  execFileSync('mkfifo', [join(folder.path, 'pipe')])
  const codes = async (...uris: readonly string[]) => Promise.all(uris.map(async (uri) => (await readSource(sourceOf(uri))).code))
  expect(await codes(folder.path, join(folder.path, 'pipe'), join(folder.path, 'inside', 'out.csv'))).toEqual([
    'SOURCE_REFUSED',
    'SOURCE_REFUSED',
    'SOURCE_REFUSED',
  ])
  expect(
    await codes(
      '../../etc/passwd',
      '/proc/self/environ',
      '/dev/zero',
      `${file}\0.csv`,
      '//host/share.csv',
      '\\\\host\\share.csv',
      'file://host/share.csv',
    ),
  ).toEqual(Array(7).fill('SOURCE_REFUSED'))
  expect(await codes(join(folder.path, 'missing.csv'), join(folder.path, '%2e%2e', 'feed.csv'), 'gopher://x/')).toEqual([
    'SOURCE_MISSING',
    'SOURCE_MISSING',
    'SOURCE_REFUSED',
  ])
  expect(await codes(join(folder.path, 'current.csv'))).toEqual(['read'])
})

test.for([
  ['grows', (path: string) => appendFile(path, '2,b\n')],
  ['is replaced by its like', async (path: string) => (await copyFile(path, `${path}.new`), rename(`${path}.new`, path))],
  ['is cut short', (path: string) => truncate(path, 200_000)],
  ['is written over at the same length', (path: string) => writeFile(path, large.replaceAll('x', 'y'), { flag: 'r+' })],
  ['is taken away', (path: string) => rm(path)],
] as const)('the read of a file that %s fails at its end', async ([, change]) => {
  await using folder = await temporaryFolder()
  for (const when of ['before the first row', 'between two rows']) {
    const path = await folder.write('feed.csv', large)
    await utimes(path, 1_000_000, 1_000_000)
    const source = await openSource(sourceOf(path), { env: {}, log: silentLogger })
    const reading = source.rows[Symbol.asyncIterator]()
    if (when === 'between two rows') await reading.next()
    await change(path)
    const rest = async () => {
      while ((await reading.next()).done !== true);
    }
    await expect(rest(), when).rejects.toMatchObject({ code: 'SOURCE_CHANGED', where: path })
    await source.close()
    await source.close()
  }
})

// Root may read every file, so another user runs the program, and must have access to it.
const other = process.getuid?.() === 0 ? { uid: 65_534 } : {}
const noOtherUser =
  'uid' in other && spawnSync(process.execPath, ['-e', `fs.accessSync(${JSON.stringify(import.meta.filename)})`], other).status !== 0

test.skipIf(noOtherUser)('an unreadable file or folder is distinguished from a missing one', async () => {
  await using folder = await temporaryFolder()
  const secret = await folder.write('secret.csv', csv)
  const open = await folder.write('open.csv', csv)
  await chmod(secret, 0o000)
  const read = async (path: string) => (await readApart(sourceOf(path), other)).code
  await chmod(folder.path, 0o755)
  expect([await read(open), await read(secret), await read(`${open}.missing`)]).toEqual(['read', 'SOURCE_FORBIDDEN', 'SOURCE_MISSING'])
  if ('uid' in other) {
    await chmod(folder.path, 0o700)
    expect(await read(open)).toBe('SOURCE_FORBIDDEN')
  }
})

test('the facts have size, digest and detected format', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('feed.csv', 'id;title\n1;a\n')
  const { facts } = await readSource(sourceOf(path))
  const sha256 = createHash('sha256').update('id;title\n1;a\n').digest('hex')
  expect(facts).toMatchObject({
    uri: path,
    bytes: 13,
    sha256,
    format: 'csv',
    encoding: 'utf-8',
    compression: 'none',
    columns: ['id', 'title'],
    finalNewline: true,
  })
  expect(await hashSource(sourceOf(path))).toEqual({ sha256, bytes: 13 })
  expect(await hashSource(sourceOf('https://shop.example.com/feed.csv'))).toBeUndefined()
  expect(await hashSource(sourceOf(path), 13)).toEqual({ sha256, bytes: 13 })
  expect(await hashSource(sourceOf(path), 12)).toBe('other size')
})

test('a source larger than the limit is refused', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('feed.csv', csv)
  const { readLimits } = await import('../../../src/formats/limits.ts')
  expect((await readSource(sourceOf(path), { limits: { ...readLimits, compressedBytes: 5 } })).code).toBe('FILE_TOO_LARGE')
})

test('an aborted signal ends the read', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('feed.csv', csv)
  const abort = new AbortController()
  abort.abort(new Error('stop'))
  await expect(readSource(sourceOf(path), { signal: abort.signal })).rejects.toThrow('stop')
})
