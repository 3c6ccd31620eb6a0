/**
 * Makes X.509 certificates (RFC 5280) at run time. So the repository contains no private key, and a certificate can have any dates. A
 * certificate has an ECDSA P-256 key, and the extensions that strict clients such as Python 3.13 require (X509_V_FLAG_X509_STRICT of
 * OpenSSL). The package selfsigned 5.5 can make certificates too, but would add 22 packages and 9 MB.
 */
import { generateKeyPairSync, hash, randomBytes, sign, type KeyObject } from 'node:crypto'

export interface CertificateOptions {
  readonly commonName: string
  /** Host names and IPv4 addresses for which the certificate is valid. Default: none. */
  readonly hosts?: readonly ({ readonly dns: string } | { readonly ip: string })[]
  readonly notBefore: Date
  readonly notAfter: Date
  /** Authority that signs the certificate. Default: the certificate is self-signed. */
  readonly issuer?: Certificate
  /** True if the certificate may sign others. */
  readonly isAuthority?: boolean
}

/** Certificate with its private key. */
export interface Certificate {
  readonly commonName: string
  readonly privateKey: KeyObject
  /** SHA-1 of the public key (RFC 5280 4.2.1.2). */
  readonly keyId: Buffer
  readonly certificatePem: string
  readonly privateKeyPem: string
}

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
const SUBJECT_KEY_ID = '2.5.29.14'
const KEY_USAGE = '2.5.29.15'
const SUBJECT_ALT_NAME = '2.5.29.17'
const BASIC_CONSTRAINTS = '2.5.29.19'
const AUTHORITY_KEY_ID = '2.5.29.35'
const EXTENDED_KEY_USAGE = '2.5.29.37'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
/** Length of an uncompressed point of P-256. The encoded public key ends with such a point. */
const POINT_BYTES = 65

/** Returns a new certificate with a new key. */
export function makeCertificate(options: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subjectKey = publicKey.export({ type: 'spki', format: 'der' })
  const keyId = hash('sha1', subjectKey.subarray(-POINT_BYTES), 'buffer')
  const issuer = options.issuer ?? { commonName: options.commonName, privateKey, keyId }
  const algorithm = sequence(oid(ECDSA_WITH_SHA256))
  const hosts = options.hosts ?? []
  const extensions = sequence(
    extension(SUBJECT_KEY_ID, der(0x04, keyId)),
    extension(AUTHORITY_KEY_ID, sequence(der(0x80, issuer.keyId))),
    ...(options.isAuthority === true
      ? [
          criticalExtension(BASIC_CONSTRAINTS, sequence(TRUE)),
          // keyCertSign and cRLSign. The first byte of a bit string is the number of unused bits.
          criticalExtension(KEY_USAGE, der(0x03, Buffer.from([1, 0x06]))),
        ]
      : [
          criticalExtension(BASIC_CONSTRAINTS, sequence()),
          // digitalSignature.
          criticalExtension(KEY_USAGE, der(0x03, Buffer.from([7, 0x80]))),
          extension(EXTENDED_KEY_USAGE, sequence(oid(SERVER_AUTH))),
        ]),
    ...(hosts.length === 0 ? [] : [extension(SUBJECT_ALT_NAME, sequence(...hosts.map(altName)))]),
  )
  const content = sequence(
    // 2 means X.509 v3, which has extensions.
    der(0xa0, integer(Buffer.from([2]))),
    // Serial number: random, positive and not zero.
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    distinguishedName(issuer.commonName),
    sequence(encodedTime(options.notBefore), encodedTime(options.notAfter)),
    distinguishedName(options.commonName),
    subjectKey,
    der(0xa3, extensions),
  )
  const signature = sign('sha256', content, { key: issuer.privateKey, dsaEncoding: 'der' })
  const certificate = sequence(content, algorithm, bitString(signature))
  return {
    commonName: options.commonName,
    privateKey,
    keyId,
    certificatePem: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64').replaceAll(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const TRUE = Buffer.from([0x01, 0x01, 0xff])

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

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from(commonName)))))
}

/**
 * Encodes a time (RFC 5280 4.1.2.5). A time before 2050 is a UTCTime, which has two digits of the year. A later time is a GeneralizedTime.
 */
function encodedTime(at: Date): Buffer {
  const digits = `${at.toISOString().replaceAll(/[-:T]/g, '').slice(0, 14)}Z`
  return at.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), der(0x04, value))
}

/** Encodes an extension that a client must understand. */
function criticalExtension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), TRUE, der(0x04, value))
}

function altName(host: { readonly dns: string } | { readonly ip: string }): Buffer {
  return 'dns' in host ? der(0x82, Buffer.from(host.dns)) : der(0x87, Buffer.from(host.ip.split('.').map(Number)))
}
