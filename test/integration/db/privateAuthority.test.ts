/** A database with a certificate of a private authority: commands connect with either setting, and name both without. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../../../src/db/open.ts'
import { makeCertificate } from '../../../src/sandbox/http/tls/certificate.ts'
import { tlsFront } from '../../support/tlsFront.ts'
import { feed, json, shopYaml, workspace } from '../cli/workspace.ts'

const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

test(
  'commands connect with sslrootcert or NODE_EXTRA_CA_CERTS, and with neither the error names both',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    await using space = await workspace()
    const authority = makeCertificate({ commonName: 'Shop CA', isAuthority: true, ...validity })
    const own = makeCertificate({ commonName: 'db', hosts: [{ ip: '127.0.0.1' }], issuer: authority, ...validity })
    await using front = await tlsFront(space.env['DATABASE_URL'] ?? '', own)
    const file = join(space.folder, 'ca.pem')
    writeFileSync(file, authority.certificatePem)
    const address = (query: string, hostname = '127.0.0.1') => {
      const url = new URL(space.env['DATABASE_URL'] ?? '')
      url.port = String(front.port)
      url.hostname = hostname
      url.search = query
      return url.href
    }
    const fault = (url: string) =>
      openStore({ databaseUrl: url, dataDir: '/nonexistent' }).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(await fault(address('?sslmode=verify-full'))).toMatchObject({
      code: 'DATABASE_TLS_FAILED',
      hint: expect.stringMatching(/sslrootcert[^]*NODE_EXTRA_CA_CERTS/) as string,
    })
    // The certificate is for the address, not for this name.
    expect(await fault(address(`?sslmode=verify-full&sslrootcert=${file}`, 'localhost'))).toMatchObject({ code: 'DATABASE_TLS_FAILED' })

    space.write('pipelines/shop.yaml', shopYaml)
    space.write('feed.csv', feed(2))
    const status = await space.run(['db', 'status'], { env: { DATABASE_URL: address('?sslmode=verify-full') } })
    expect(status.stderr.match(/TLS with the database server/g)).toHaveLength(1)
    const before = front.handshakes()
    const named = await space.run(['run', 'shop', '--json'], { env: { DATABASE_URL: address(`?sslmode=require&sslrootcert=${file}`) } })
    expect([named.code, json(named).counts.confirmed, named.stderr.includes('Warning')]).toEqual([0, 2, false])
    const trusted = { DATABASE_URL: address('?sslmode=verify-full'), NODE_EXTRA_CA_CERTS: file }
    const runs = await space.run(['runs', '--json'], { env: trusted })
    expect([runs.code, json(runs)]).toEqual([0, [expect.objectContaining({ runId: json(named).runId })]])
    expect(front.handshakes()).toBeGreaterThan(before + 1)
  },
)
