/** TLS checks before a byte of a feed is accepted, with certificates of an authority of the test. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureServer } from 'node:http2'
import type { ServerOptions } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readApart } from './readApart.ts'
import { sourceOf, temporaryFolder } from './support.ts'

const withoutOpenssl = !existsSync('/usr/bin/openssl') && !existsSync('/usr/local/bin/openssl')

/** A folder with an authority, `ca.pem`, and its certificates `good`, `expired` and `elsewhere`; `alone` is self-signed. */
async function certificates() {
  const folder = await temporaryFolder()
  const path = (name: string) => join(folder.path, name)
  const openssl = (...words: readonly string[]) => execFileSync('openssl', words, { cwd: folder.path, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=sluice test']
  openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-addext', 'basicConstraints=critical,CA:TRUE')
  await folder.write('index', '')
  await folder.write(
    'ca.conf',
    '[ca]\ndefault_ca=own\n[own]\ndatabase=index\nnew_certs_dir=.\ncertificate=ca.pem\nprivate_key=ca.key\nrand_serial=yes\ndefault_md=sha256\npolicy=any\ncopy_extensions=copy\nunique_subject=no\n[any]\ncommonName=supplied\n',
  )
  const issue = (name: string, host: string, from: string, to: string) => {
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-addext', `subjectAltName=${host}`)
    openssl(
      'ca',
      '-batch',
      '-config',
      'ca.conf',
      '-in',
      `${name}.csr`,
      '-out',
      `${name}.pem`,
      '-startdate',
      from,
      '-enddate',
      to,
      '-notext',
    )
  }
  issue('good', 'IP:127.0.0.1', '20200101000000Z', '20491231000000Z')
  issue('expired', 'IP:127.0.0.1', '20200101000000Z', '20200102000000Z')
  issue('elsewhere', 'DNS:shop.example.com', '20200101000000Z', '20491231000000Z')
  openssl('req', '-x509', ...key, '-keyout', 'alone.key', '-out', 'alone.pem', '-days', '2', '-addext', 'subjectAltName=IP:127.0.0.1')
  return {
    authority: path('ca.pem'),
    pair: async (name: string) => ({ key: await readFile(path(`${name}.key`)), cert: await readFile(path(`${name}.pem`)) }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

test.skipIf(withoutOpenssl)(
  'only a trusted, current certificate of this host and a current protocol are accepted',
  { tags: ['long'] },
  async () => {
    await using made = await certificates()
    const read = async (name: string, options: ServerOptions = {}) => {
      let requests = 0
      const server = createServer({ ...(await made.pair(name)), ...options }, (_, response) => {
        requests++
        // Without a request for it, as from some proxies.
        response.writeContinue()
        response.end('id,title\n1,Cup\n')
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      try {
        const { port } = server.address() as AddressInfo
        const definition = sourceOf(`https://127.0.0.1:${port}/feed.csv`, { allowPrivate: true, credentials: { token: 'FEED_TOKEN' } })
        const { code, message } = await readApart(definition, { env: { NODE_EXTRA_CA_CERTS: made.authority, FEED_TOKEN: 'secret' } })
        return [code, /\((\w+)\)$/.exec(message ?? '')?.[1], requests]
      } finally {
        server.close()
      }
    }
    expect(await read('good')).toEqual(['read', undefined, 1])
    expect(await read('expired')).toEqual(['SOURCE_UNAVAILABLE', 'CERT_HAS_EXPIRED', 0])
    expect(await read('elsewhere')).toEqual(['SOURCE_UNAVAILABLE', 'ERR_TLS_CERT_ALTNAME_INVALID', 0])
    expect(await read('alone')).toEqual(['SOURCE_UNAVAILABLE', 'DEPTH_ZERO_SELF_SIGNED_CERT', 0])
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    expect((await read('good', old)).toSpliced(1, 1)).toEqual(['SOURCE_UNAVAILABLE', 0])
  },
)

test.skipIf(withoutOpenssl)('a feed from a server that supports only HTTP/2 is read', async () => {
  await using made = await certificates()
  const server = createSecureServer(await made.pair('good'), (_, response) => void response.end('id,title\n1,Cup\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const definition = sourceOf(`https://127.0.0.1:${port}/feed.csv`, { allowPrivate: true })
    expect((await readApart(definition, { env: { NODE_EXTRA_CA_CERTS: made.authority } })).code).toBe('read')
  } finally {
    server.close()
  }
})
