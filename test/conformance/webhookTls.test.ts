/** A receiver with invalid TLS makes its webhook invalid immediately (spec 3.1). A PUT makes it valid again (spec 6.1). */
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createHmac } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCertificate, type Certificate } from '../../src/sandbox/http/tls/certificate.ts'
import { withSandbox, type SandboxUnderTest } from '../support/sandbox.ts'
import { sandboxCredentials } from '../support/signer.ts'
import { target } from '../support/target.ts'

const DAY = 86_400_000
const from = (days: number): Date => new Date(Date.now() + days * DAY)
const authority = makeCertificate({ commonName: 'Receivers', isAuthority: true, notBefore: from(-1), notAfter: from(10) })
const certificate = (more: { readonly own?: boolean; readonly host?: string; readonly expired?: boolean } = {}): Certificate =>
  makeCertificate({
    commonName: 'Receiver',
    hosts: more.host === undefined ? [{ dns: 'localhost' }, { ip: '127.0.0.1' }] : [{ dns: more.host }],
    notBefore: from(-30),
    notAfter: from(more.expired === true ? -1 : 10),
    ...(more.own === true ? {} : { issuer: authority }),
  })

let sandbox: SandboxUnderTest
let server: Server
let url: string
beforeAll(async () => {
  setDefaultCACertificates([...getCACertificates('default'), authority.certificatePem])
  sandbox = await withSandbox({ seed: 3 })
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  server = createServer((request, response) => {
    const token = new URL(request.url ?? '/', 'http://receiver').searchParams.get('crc_token') ?? ''
    const answer = createHmac('sha256', sandboxCredentials.consumerSecret).update(token).digest('base64')
    response.writeHead(200, { connection: 'close' }).end(JSON.stringify({ response_token: `sha256=${answer}` }))
  })
  show(certificate())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await sandbox.close()
})

function show({ certificatePem: cert, privateKeyPem: key }: Certificate, more: { readonly maxVersion?: 'TLSv1.1' } = {}): void {
  server.setSecureContext({
    cert,
    key,
    ...(more.maxVersion === undefined ? {} : { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  })
}

test.skipIf(target !== undefined)('invalid immediately, refused by PUT while it lasts, valid again afterwards', async () => {
  const basic = Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')
  const bearer = (
    await sandbox.call('POST', '/oauth2/token', {
      form: { grant_type: 'client_credentials' },
      headers: { authorization: `Basic ${basic}` },
    })
  ).body.access_token
  const isValid = async (): Promise<boolean> => (await sandbox.call('GET', '/2/webhooks', { bearer })).body.data[0].valid
  const made = await sandbox.call('POST', '/2/webhooks', { bearer, json: { url } })
  expect([made.status, made.body.data?.valid], made.text).toEqual([200, true])
  const check = () => sandbox.call('PUT', `/2/webhooks/${made.body.data.id}`, { bearer })

  for (const [bad, more] of [
    [certificate({ own: true }), {}],
    [certificate({ expired: true }), {}],
    [certificate({ host: 'other.example.com' }), {}],
    [certificate(), { maxVersion: 'TLSv1.1' }],
  ] as const) {
    show(bad, more)
    const refused = await check()
    expect([refused.status, refused.body.errors[0].message]).toEqual([400, expect.stringMatching(/^CrcValidationFailed: .*TLS/)])
    expect(await isValid()).toBe(false)
    show(certificate())
    expect((await check()).body).toEqual({ data: { valid: true } })
    expect(await isValid()).toBe(true)
  }
  // The automatic check, 24 hours after the last success, has the same result.
  show(certificate({ own: true }))
  await sandbox.control.advance((24 * 60 + 31) * 60)
  expect(await isValid()).toBe(false)
})
