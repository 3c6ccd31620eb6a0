/** Standard input of a process of its own, from real pipes and files. */
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readApart } from './readApart.ts'
import { sourceOf, temporaryFolder } from './support.ts'

const csv = `id,title\n${Array.from({ length: 3_000 }, (_, at) => `${at},title ${at}\n`).join('')}`
const packed = gzipSync(csv)
const piped = (...chunks: readonly (string | Buffer)[]) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)))

test('piped input is read, and only its own content can prove its end', async () => {
  expect(await readApart(sourceOf('-'), { stdin: piped(csv) })).toMatchObject({ code: 'read', rows: 3_000, complete: false })
  expect(await readApart(sourceOf('-'), { stdin: piped(packed) })).toMatchObject({ code: 'read', rows: 3_000, complete: true })
  expect(await readApart(sourceOf('-', { complete: { kind: 'rows', count: 3_000 } }), { stdin: piped(csv) })).toMatchObject({
    complete: true,
  })
})

test('input of a killed writer is never a complete read', { tags: ['long'] }, async () => {
  const middle = csv.indexOf('\n', 20_000)
  for (const [part, code] of [
    [csv.slice(0, middle + 1), 'read'],
    [csv.slice(0, middle - 3), 'read'],
    [packed.subarray(0, packed.length - 9), 'FILE_TRUNCATED'],
    ['', 'FILE_EMPTY'],
  ] as const) {
    const reading = await readApart(sourceOf('-', { complete: { kind: 'rows', count: 3_000 } }), { stdin: piped(part) })
    expect(reading.code).toBe(code)
    expect(reading.complete).not.toBe(true)
  }
})

test('the end of a file as standard input proves nothing, because the file may grow', async () => {
  await using folder = await temporaryFolder()
  const file = await open(await folder.write('crm.csv', csv))
  try {
    expect(await readApart(sourceOf('-'), { stdin: file.fd })).toMatchObject({ code: 'read', rows: 3_000, complete: false })
  } finally {
    await file.close()
  }
})

test('a reset connection as standard input is not the end', async () => {
  const server = createServer((socket) => {
    socket.write(csv, () => setImmediate(() => socket.resetAndDestroy()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    const reading = await readApart(sourceOf('-', { complete: { kind: 'rows', count: 3_000 } }), { stdin: socket })
    expect(reading).toMatchObject({ code: 'SOURCE_UNAVAILABLE', message: 'standard input cannot be read (ECONNRESET)' })
  } finally {
    socket.destroy()
    server.close()
  }
})

test('a folder or no standard input is an error, not an empty source', async () => {
  await using folder = await temporaryFolder()
  const opened = await open(folder.path)
  try {
    expect((await readApart(sourceOf('-'), { stdin: opened.fd })).code).toBe('FILE_EMPTY')
  } finally {
    await opened.close()
  }
  expect((await readApart(sourceOf('-'))).code).toBe('FILE_EMPTY')
})

test('a failed read does not wait for the writer of standard input', async () => {
  const endless = Readable.from(
    (function* () {
      yield Buffer.from('id,title\n1,"never closed')
      for (;;) yield Buffer.alloc(65_536, 'x')
    })(),
  )
  expect((await readApart(sourceOf('-'), { stdin: endless })).code).toMatch(/^FILE_/)
})
