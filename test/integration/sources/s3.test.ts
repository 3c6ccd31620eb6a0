import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import S3rver from 's3rver'
import { expect, test } from 'vitest'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const csv = `id,title\n${Array.from({ length: 300 }, (_, at) => `${at},title ${at}\n`).join('')}`
const env = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }

async function store() {
  const folder = await temporaryFolder()
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory: folder.path })
  const { port } = await server.run()
  const endpoint = `http://127.0.0.1:${port}`
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  })
  await client.send(new CreateBucketCommand({ Bucket: 'exports' }))
  return {
    endpoint,
    put: (key: string, body: string) => client.send(new PutObjectCommand({ Bucket: 'exports', Key: key, Body: body })),
    folder: folder.path,
    [Symbol.asyncDispose]: async () => {
      client.destroy()
      await server.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('an object is read whole, and a second time costs one conditional request', async () => {
  await using s3 = await store()
  await s3.put('feeds/crm 1.csv', csv)
  const definition = sourceOf(`s3://exports/feeds/crm%201.csv?endpoint=${s3.endpoint}`, { allowPrivate: true })
  const first = await readSource(definition, { env })
  expect([first.code, first.rows.length]).toEqual(['read', 300])
  expect(first.facts).toMatchObject({
    uri: 's3://exports/feeds/crm%201.csv',
    completeness: { complete: true, proof: 'content-length met' },
  })
  expect((await readSource(definition, { env, previous: first.facts! })).code).toBe('unchanged')
  await s3.put('feeds/crm 1.csv', `${csv}x,y\n`)
  expect((await readSource(definition, { env, previous: first.facts! })).rows).toHaveLength(301)
})

test('the newest key that matches a pattern is read', async () => {
  await using s3 = await store()
  await s3.put('feeds/b.csv', 'id\n1\n')
  await utimes(join(s3.folder, 'exports', 'feeds', 'b.csv._S3rver_object'), 1_000_000, 1_000_000)
  await s3.put('feeds/a.csv', 'id\n2\n')
  await s3.put('other/c.csv', 'id\n3\n')
  expect(
    (await readSource(sourceOf(`s3://exports/feeds/*.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env })).rows[0]?.cells,
  ).toEqual(['2'])
  expect((await readSource(sourceOf(`s3://exports/none/*.csv?endpoint=${s3.endpoint}`, { allowPrivate: true }), { env })).code).toBe(
    'SOURCE_MISSING',
  )
})

test('what is not there, wrong credentials and private endpoints are refused', async () => {
  await using s3 = await store()
  await s3.put('a.csv', csv)
  const code = async (uri: string, allowPrivate: boolean, given: Readonly<Record<string, string>> = env) =>
    (await readSource(sourceOf(`${uri}?endpoint=${s3.endpoint}`, { allowPrivate }), { env: given })).code
  expect(await code('s3://exports/none.csv', true)).toBe('SOURCE_MISSING')
  expect(await code('s3://nowhere/a.csv', true)).toBe('SOURCE_MISSING')
  expect(await code('s3://exports/a.csv', true, { ...env, AWS_ACCESS_KEY_ID: 'STRANGER' })).toBe('SOURCE_DENIED')
  expect(await code('s3://exports/a.csv', false)).toBe('SOURCE_REFUSED')
})

test('a cut connection is resumed on the same object only', async () => {
  for (const [tag, expected] of [
    ['"v1"', 'read'],
    ['"v2"', 'SOURCE_CHANGED'],
  ] as const) {
    const server = createServer((request, response) => {
      const start = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      const etag = start === 0 ? '"v1"' : tag
      if (request.headers['if-match'] !== undefined && request.headers['if-match'] !== etag) return response.writeHead(412).end()
      response.writeHead(start === 0 ? 200 : 206, { etag, 'content-length': csv.length - start })
      if (start > 0) return response.end(csv.slice(start))
      return response.write(csv.slice(0, 1000), () => response.destroy())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const outcome = await readSource(sourceOf(`s3://exports/a.csv?endpoint=http://127.0.0.1:${port}`, { allowPrivate: true }), { env })
    server.closeAllConnections()
    server.close()
    expect([outcome.code, outcome.rows.length]).toEqual([expected, expected === 'read' ? 300 : outcome.rows.length])
  }
})
