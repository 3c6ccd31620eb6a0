/**
 * Sources larger than the allowed memory. A process of its own reads each from a real server. Its peak memory is far below the size of the
 * source (docs/guarantees.md#bounded-resources).
 */
import { mkdir, open } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { testDatabase } from '../../support/postgres.ts'
import type { Reading } from './readApart.ts'
import { readApart } from './readApart.ts'
import { openStore, s3Env } from './s3Store.ts'
import { openSsh, sshCredentials, withoutSsh } from './sshServer.ts'
import { sourceOf, temporaryFolder } from './support.ts'

const rowCount = 45_000
/** About 4 KB per row, 180 MB in all. */
const filler = 'x'.repeat(4_000)
const header = 'id,title\n'
const hugeBytes =
  header.length + Array.from({ length: rowCount }, (_, at) => `${at},${filler}\n`.length).reduce((sum, size) => sum + size, 0)

/**
 * Maximum of the peak memory. Measured with 400 MB: 118 (file), 123 (stdin), 133 (http), 163 (SFTP), 147 (store) and 140 MiB (Postgres).
 * 100 of these are Node. Three times the size took at most a sixth more. A reader that kept all of 180 MB took 241 or more. (Node 24.21,
 * OpenSSH 9.2, s3rver 3.7, Postgres 18)
 */
const mostMiB = 210

test('the memory limit of these tests is below the size of the sources', () => {
  const nodeMiB = 100
  expect(nodeMiB + hugeBytes / 1_048_576).toBeGreaterThan(mostMiB * 1.25)
})

function* hugeChunks(): Generator<Buffer> {
  let chunk = header
  for (let at = 0; at < rowCount; at++) {
    chunk += `${at},${filler}\n`
    if (chunk.length < 250_000) continue
    yield Buffer.from(chunk)
    chunk = ''
  }
  yield Buffer.from(chunk)
}

async function writeHuge(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'w')
  for (const chunk of hugeChunks()) await file.write(chunk)
  await file.close()
  return path
}

function expectHuge(reading: Reading, complete = true): void {
  expect(reading).toMatchObject({ code: 'read', rows: rowCount, complete })
  expect(reading.peakMiB).toBeLessThan(mostMiB)
}

test('a file and the newest match of a pattern', async () => {
  await using folder = await temporaryFolder()
  await writeHuge(join(folder.path, 'crm-1.csv'))
  expectHuge(await readApart(sourceOf(join(folder.path, 'crm-*.csv'))))
})

test('standard input', { tags: ['long'] }, async () => {
  expectHuge(await readApart(sourceOf('-'), { stdin: Readable.from(hugeChunks()) }), false)
})

test('http', { tags: ['long'] }, async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': hugeBytes, 'content-type': 'text/csv' })
    void pipeline(Readable.from(hugeChunks()), response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    expectHuge(await readApart(sourceOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.csv`)))
  } finally {
    server.close()
  }
})

test.skipIf(withoutSsh)('SFTP', { tags: ['long'] }, async () => {
  await using ssh = await openSsh()
  const path = await writeHuge(join(ssh.folder.path, 'crm.csv'))
  expectHuge(await readApart(sourceOf(ssh.uri(path), { credentials: sshCredentials, hostKey: ssh.fingerprint }), { env: ssh.env }))
})

test('an S3-compatible store', { tags: ['long'] }, async () => {
  await using s3 = await openStore()
  await writeHuge(s3.file('crm.csv'))
  expectHuge(await readApart(sourceOf(`s3://exports/crm.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env: s3Env }))
})

test('Postgres', { tags: ['long'] }, async () => {
  await using database = await testDatabase()
  const query = `select n as id, repeat('x', 4000) as title from generate_series(1, ${rowCount}) as n`
  expectHuge(await readApart(sourceOf(database.url, { query })))
})
