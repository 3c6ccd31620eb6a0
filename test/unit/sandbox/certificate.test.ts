/** Certificates of the TLS listeners, as a strict client checks them (RFC 5280). */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeCertificate } from '../../../src/sandbox/http/tls/certificate.ts'

const openssl = ['/usr/bin/openssl', '/usr/local/bin/openssl'].find((path) => existsSync(path))

test.skipIf(openssl === undefined)('a strict client accepts a server certificate and its authority (needs openssl)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-certificate-'))
  try {
    const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }
    const authority = makeCertificate({ commonName: 'Authority', isAuthority: true, ...validity, notAfter: new Date('2051-01-01') })
    const own = makeCertificate({
      commonName: 'Server',
      hosts: [{ dns: 'localhost' }, { ip: '127.0.0.1' }],
      issuer: authority,
      ...validity,
    })
    const [ca, leaf] = [join(folder, 'ca.pem'), join(folder, 'leaf.pem')]
    writeFileSync(ca, authority.certificatePem)
    writeFileSync(leaf, own.certificatePem)
    const words = ['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_ip', '127.0.0.1', '-CAfile', ca, leaf]
    expect(execFileSync(openssl ?? '', words, { encoding: 'utf8', stdio: 'pipe' }).trim()).toBe(`${leaf}: OK`)
    const dates = execFileSync(openssl ?? '', ['asn1parse', '-in', ca], { encoding: 'utf8' })
    expect(dates.match(/UTCTIME|GENERALIZEDTIME/g)).toEqual(['UTCTIME', 'GENERALIZEDTIME'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
