/** Completion markers and manifests beside the source: in its folder, on its server, in its bucket. */
import { rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CompletenessProof } from '../../../src/model/pipeline.ts'
import { openStore, s3Env } from './s3Store.ts'
import { openSsh, sshCredentials, withoutSsh } from './sshServer.ts'
import type { Outcome } from './support.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const csv = 'id,title\n1,a\n2,b\n'

interface Place extends AsyncDisposable {
  /** `seconds` since 1970 of its last change. */
  readonly put: (name: string, content: string, seconds: number) => Promise<void>
  readonly remove: (name: string) => Promise<void>
  readonly read: (complete: CompletenessProof) => Promise<Outcome>
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  'a folder': async () => {
    const folder = await temporaryFolder()
    return {
      put: async (name, content, seconds) => utimes(await folder.write(name, content), seconds, seconds),
      remove: (name) => rm(join(folder.path, name)),
      read: (complete) => readSource(sourceOf(join(folder.path, 'crm-*.csv'), { complete })),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    }
  },
  SFTP: async () => {
    const ssh = await openSsh()
    const path = (name: string) => join(ssh.folder.path, name)
    return {
      put: async (name, content, seconds) => utimes(await ssh.folder.write(name, content), seconds, seconds),
      remove: (name) => rm(path(name)),
      read: (complete) =>
        readSource(sourceOf(ssh.uri(path('crm-*.csv')), { credentials: sshCredentials, hostKey: ssh.fingerprint, complete }), {
          env: ssh.env,
        }),
      [Symbol.asyncDispose]: () => ssh[Symbol.asyncDispose](),
    }
  },
  'a store': async () => {
    const store = await openStore()
    return {
      put: async (name, content, seconds) => {
        await store.put(name, content)
        await utimes(store.file(name), seconds, seconds)
      },
      remove: (name) => rm(store.file(name)),
      read: (complete) =>
        readSource(sourceOf(`s3://exports/crm-*.csv?endpoint=${store.endpoint}`, { allowPrivate: true, complete }), { env: s3Env }),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  },
  http: async () => {
    const files = new Map<string, { readonly content: string; readonly seconds: number }>()
    const server = createServer((request, response) => {
      const { pathname, search } = new URL(request.url ?? '', 'http://x')
      if (search !== '?key=1' || request.headers.authorization !== 'Bearer token') return response.writeHead(401).end()
      const file = files.get(pathname.slice(1))
      // As shops do for missing files.
      if (file === undefined) return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Have you seen our offers?</html>')
      return response
        .writeHead(200, { 'content-length': file.content.length, 'last-modified': new Date(file.seconds * 1000).toUTCString() })
        .end(file.content)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      put: async (name, content, seconds) => void files.set(name, { content, seconds }),
      remove: async (name) => void files.delete(name),
      read: (complete) =>
        readSource(
          sourceOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}/crm-1.csv?key=1`, {
            credentials: { token: 'FEED_TOKEN' },
            complete,
          }),
          { env: { FEED_TOKEN: 'token' } },
        ),
      [Symbol.asyncDispose]: async () => void server.close(),
    }
  },
}

test.for(Object.keys(places))(
  '%s: a newer marker beside the source proves its end; a manifest proves it by its numbers',
  { tags: ['long'] },
  async (kind, { skip }) => {
    skip(kind === 'SFTP' && withoutSsh, 'OpenSSH is not installed')
    await using place = await (places[kind] as (typeof places)[string])()
    const marker = { kind: 'marker', path: '{path}.done' } as const
    const manifest = { kind: 'manifest', path: '{path}.json' } as const
    const proofOf = async (complete: CompletenessProof) => {
      const { rows, facts, error } = await place.read(complete)
      expect([error?.message, rows.length]).toEqual([undefined, 2])
      return facts?.completeness.reason ?? facts?.completeness.proof
    }
    await place.put('crm-1.csv', csv, 2_000)
    expect(await proofOf(marker)).toBe('the completion marker is missing')
    await place.put('crm-1.csv.done', '', 1_000)
    expect(await proofOf(marker)).toBe('the completion marker is older than the source')
    await place.put('crm-1.csv.done', '', 2_000)
    expect(await proofOf(marker)).toBe('completion marker found')
    await place.remove('crm-1.csv.done')
    expect(await proofOf(marker)).toBe('the completion marker is missing')

    expect(await proofOf(manifest)).toBe('the manifest is missing or cannot be read')
    await place.put('crm-1.csv.json', `{"rows":2,"bytes":${csv.length}}`, 1_000)
    expect(await proofOf(manifest)).toBe('manifest met')
    await place.put('crm-1.csv.json', '\ufeff{"rows":2}\r\n', 2_000)
    expect(await proofOf(manifest)).toBe('manifest met')
    await place.put('crm-1.csv.json', `{"rows":"3","bytes":${csv.length}}`, 2_000)
    expect(await proofOf(manifest)).toBe('the manifest announces 3 rows, 2 were read')
    await place.put('crm-1.csv.json', `{"rows":2}${' '.repeat(70_000)}`, 2_000)
    expect(await proofOf(manifest)).toBe('the manifest is missing or cannot be read')
  },
)

test('a marker of this machine that is older than a local source proves nothing', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('crm.csv', csv)
  const marker = await folder.write('crm.done', '')
  await utimes(marker, 1_000, 1_000)
  const read = () => readSource(sourceOf(path, { complete: { kind: 'marker', path: marker } }))
  expect((await read()).facts?.completeness).toMatchObject({ complete: false, reason: 'the completion marker is older than the source' })
  await utimes(path, 1_000, 1_000)
  expect((await read()).facts?.completeness.complete).toBe(true)
})

test('a file name with $ is put into the path of its marker as it is', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write("crm-$$-$&-$'.csv", csv)
  const read = () => readSource(sourceOf(path, { complete: { kind: 'marker', path: '/{path}.done' } }))
  expect((await read()).facts?.completeness.complete).toBe(false)
  await folder.write("crm-$$-$&-$'.csv.done", '')
  expect((await read()).facts?.completeness).toMatchObject({ complete: true, proof: 'completion marker found' })
})

test('a marker whose path does not begin with {path} is a file of this machine', async () => {
  await using store = await openStore()
  await using folder = await temporaryFolder()
  await store.put('crm.csv', csv)
  const definition = sourceOf(`s3://exports/crm.csv?endpoint=${store.endpoint}`, {
    allowPrivate: true,
    complete: { kind: 'marker', path: join(folder.path, 'crm.done') },
  })
  expect((await readSource(definition, { env: s3Env })).facts?.completeness.complete).toBe(false)
  await writeFile(join(folder.path, 'crm.done'), '')
  expect((await readSource(definition, { env: s3Env })).facts?.completeness.complete).toBe(true)
})
