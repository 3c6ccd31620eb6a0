/**
 * Makes X.509 certificates at run time (RFC 5280), so that the repository contains no private key, and a certificate can have any
 * dates. A certificate has only the fields that a TLS handshake checks: ECDSA P-256 key, names, validity, and whether it may sign others. The package
 * selfsigned 5.5 would add 22 packages and 9 MB to the sandbox instead of these 100 lines.
 */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

export interface CertificateOptions {
  readonly commonName: string
  /** Host names and IPv4 addresses of the certificate; none for an authority. */
  readonly hosts?: readonly ({ readonly dns: string } | { readonly ip: string })[]
  readonly notBefore: Date
  readonly notAfter: Date
  /** Signs the certificate. Without it, the certificate is self-signed. */
  readonly issuer?: Certificate
  /** True if the certificate may sign others. */
  readonly authority?: boolean
}

export interface Certificate {
  readonly commonName: string
  readonly privateKey: KeyObject
  /** PEM. */
  readonly certificate: string
  /** Private key as PEM. */
  readonly key: string
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
const BASIC_CONSTRAINTS = '2.5.29.19'
const SUBJECT_ALT_NAME = '2.5.29.17'

/** Returns a new certificate with a new key. */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = options.issuer ?? { commonName: options.commonName, privateKey }
  const algorithm = sequence(oid(ECDSA_WITH_SHA256))
  const extensions = sequence(
    extension(BASIC_CONSTRAINTS, sequence(...(options.authority === true ? [der(0x01, Buffer.from([0xff]))] : []))),
    ...((options.hosts ?? []).length === 0 ? [] : [extension(SUBJECT_ALT_NAME, sequence(...(options.hosts ?? []).map(altName)))]),
  )
  const content = sequence(
    // 2 means X.509 v3, which has extensions.
    der(0xa0, integer(Buffer.from([2]))),
    // Serial number: random, positive and not zero.
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    nameOf(issuer.commonName),
    sequence(time(options.notBefore), time(options.notAfter)),
    nameOf(options.commonName),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = sign('sha256', content, { key: issuer.privateKey, dsaEncoding: 'der' })
  const whole = sequence(content, algorithm, bitString(signature))
  return {
    commonName: options.commonName,
    privateKey,
    certificate: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Encodes a DER value: tag, length (at most 65,535) and content. */
function der(tag: number, content: Uint8Array): Buffer {
  const { length } = content
  const head = length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes)
}

function bitString(bytes: Uint8Array): Buffer {
  return der(0x03, Buffer.concat([Buffer.from([0]), bytes]))
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const sevens = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) sevens.unshift((left & 0x7f) | 0x80)
    bytes.push(...sevens)
  }
  return der(0x06, Buffer.from(bytes))
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(commonName)))))
}

/** Encodes a time as GeneralizedTime, which has a year of four digits. */
function time(at: Date): Buffer {
  return der(0x18, Buffer.from(`${at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

function altName(host: { readonly dns: string } | { readonly ip: string }): Buffer {
  return 'dns' in host ? der(0x82, Buffer.from(host.dns)) : der(0x87, Buffer.from(host.ip.split('.').map(Number)))
}
