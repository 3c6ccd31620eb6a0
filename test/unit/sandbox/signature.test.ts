/** The sandbox's own implementation of RFC 5849: vectors of the RFC and of requests, headers (docs/spec-notes.md#signing). */
import { describe, expect, test } from 'vitest'
import { parseAuthorization, parsePairs, percentEncode, verifySignature, type Pair } from '../../../src/sandbox/verify/signature.ts'
import { authorization } from '../../support/signer.ts'

// Vectors: R1 to R4 from RFC 5849, S1 to S3 with the sandbox's fixed credentials.

const photos = { consumerKey: 'dpf43f3p2l4k3l03', consumerSecret: 'kd94hf93k423kf44' }
const sandbox = { consumerKey: 'sandbox-consumer-key', consumerSecret: 'sandbox-consumer-secret' }

function oauth(key: string, timestamp: string, nonce: string, signature: string, more: Pair[] = []): Pair[] {
  return [
    ['oauth_consumer_key', key],
    ['oauth_signature_method', 'HMAC-SHA1'],
    ['oauth_timestamp', timestamp],
    ['oauth_nonce', nonce],
    ['oauth_signature', signature],
    ...more,
  ]
}

const wire = (signature: string, more: Pair[] = []) =>
  oauth(sandbox.consumerKey, '1700000000', 'n0nce', signature, [['oauth_version', '1.0'], ...more])
const userToken: Pair = ['oauth_token', '1001-sandbox-access-token']
const userSecrets = { consumerSecret: sandbox.consumerSecret, tokenSecret: 'sandbox-access-token-secret' }

describe('RFC 5849 vectors', () => {
  test('R1 a temporary credential request', () => {
    const request = {
      method: 'POST',
      scheme: 'https',
      host: 'photos.example.net',
      rawPath: '/initiate',
      query: [],
      form: [],
      oauth: oauth(photos.consumerKey, '137131200', 'wIjqoS', '74KNZJeDHnMBp0EMJ9ZHt/XKycU=', [
        ['oauth_callback', 'http://printer.example.com/ready'],
        ['realm', 'Photos'],
      ]),
    }
    expect(verifySignature(request, { consumerSecret: photos.consumerSecret, tokenSecret: '' })).toBe(true)
  })
  test('R2 a token request with a verifier', () => {
    const request = {
      method: 'POST',
      scheme: 'https',
      host: 'photos.example.net',
      rawPath: '/token',
      query: [],
      form: [],
      oauth: oauth(photos.consumerKey, '137131201', 'walatlh', 'gKgrFCywp7rO0OXSjdot/IHF7IU=', [
        ['oauth_token', 'hh5s93j4hdidpola'],
        ['oauth_verifier', 'hfdp7dh39dks9884'],
      ]),
    }
    expect(verifySignature(request, { consumerSecret: photos.consumerSecret, tokenSecret: 'hdhd0244k9j7ao03' })).toBe(true)
  })
  test('R3 a resource request with a query', () => {
    const request = {
      method: 'GET',
      scheme: 'http',
      host: 'photos.example.net',
      rawPath: '/photos',
      query: parsePairs('file=vacation.jpg&size=original'),
      form: [],
      oauth: oauth(photos.consumerKey, '137131202', 'chapoH', 'MdpQcU8iPSUjWoN/UDMsK2sui9I=', [['oauth_token', 'nnch734d00sl2jdk']]),
    }
    expect(verifySignature(request, { consumerSecret: photos.consumerSecret, tokenSecret: 'pfkkdhi9sl3r4s00' })).toBe(true)
  })
  test('R4 repeated names, a form, escapes of escapes, an upper-case host with the default port', () => {
    const request = {
      method: 'POST',
      scheme: 'http',
      host: 'EXAMPLE.COM:80',
      rawPath: '/request',
      query: parsePairs('b5=%3D%253D&a3=a&c%40=&a2=r%20b'),
      form: parsePairs('c2&a3=2+q'),
      oauth: oauth('9djdj82h48djs9d2', '137131201', '7d8f3e4a', 'r6/TJjbCOr97/+UU0NsvSne7s5g=', [
        ['oauth_token', 'kkk9d7dh3k39sjv7'],
        ['realm', 'Example'],
      ]),
    }
    expect(verifySignature(request, { consumerSecret: 'j49sk3j29djd', tokenSecret: 'dh893hdasih9' })).toBe(true)
  })
})

describe('wire vectors', () => {
  const s1 = (query: string, signature: string, host = '127.0.0.1:4010') => ({
    method: 'GET',
    scheme: 'http',
    host,
    rawPath: '/12/accounts',
    query: parsePairs(query),
    form: [],
    oauth: wire(signature, [userToken]),
  })
  test.for(['q=a+b', 'q=a%20b'])('S1 accepts %s as the same space', (query) => {
    expect(verifySignature(s1(query, '7/l2xvSXEK/sC8Zg5oJLoJ3BGOE='), userSecrets)).toBe(true)
  })
  test('S1 signed without the port is refused', () => {
    expect(verifySignature(s1('q=a+b', 'CbdUHupzmKU4262x2a7YttiiRRY='), userSecrets)).toBe(false)
    expect(verifySignature(s1('q=a+b', 'CbdUHupzmKU4262x2a7YttiiRRY=', '127.0.0.1'), userSecrets)).toBe(true)
  })
  test('S2 reserved characters and a body hash', () => {
    const request = {
      method: 'PUT',
      scheme: 'http',
      host: '127.0.0.1:4010',
      rawPath: '/12/accounts/18ce54d4x5t',
      form: [],
      query: parsePairs('name=Caf%C3%A9%27s%2C%20100%25%20%28A%2BB%29%21'),
      oauth: wire('dxzAUA9IHES5howtrrqeNq6RR0Q=', [userToken, ['oauth_body_hash', '2jmj7l5rSw0yVb/vlWAYkK/YBwk=']]),
    }
    expect(verifySignature(request, userSecrets)).toBe(true)
  })
  test('S3 a duplicated oauth_token is accepted as the RFC counts it, and collapsed only with the switch', () => {
    const request = (signature: string) => ({
      method: 'POST',
      scheme: 'http',
      host: '127.0.0.1:4010',
      rawPath: '/oauth/access_token',
      query: [],
      form: parsePairs('oauth_token=req-token&oauth_verifier=123456'),
      oauth: wire(signature, [['oauth_token', 'req-token']]),
    })
    const secrets = { consumerSecret: sandbox.consumerSecret, tokenSecret: 'req-token-secret' }
    expect(verifySignature(request('YyxBd3f9HkcrIqTgZhjMLytlCys='), secrets)).toBe(true)
    expect(verifySignature(request('IkoaubfHQl3p+ryHsaS9c8IODHY='), secrets)).toBe(true)
    expect(verifySignature(request('IkoaubfHQl3p+ryHsaS9c8IODHY='), secrets, 'rfc')).toBe(false)
    expect(verifySignature(request('AAAaubfHQl3p+ryHsaS9c8IODHY='), secrets)).toBe(false)
  })
})

test('pairs that differ, and are equal only when joined by =, both count', () => {
  const oauth = parseAuthorization(authorization({ method: 'GET', url: 'http://127.0.0.1:4010/12/accounts?oauth_a%3Db=c' })) ?? []
  const request = { method: 'GET', scheme: 'http', host: '127.0.0.1:4010', rawPath: '/12/accounts', form: [], oauth }
  expect(verifySignature({ ...request, query: [['oauth_a=b', 'c']] }, userSecrets)).toBe(true)
  const query: Pair[] = [
    ['oauth_a=b', 'c'],
    ['oauth_a', 'b=c'],
  ]
  expect(verifySignature({ ...request, query }, userSecrets)).toBe(false)
})

test.for([
  ['Dogs, Cats & Mice', 'Dogs%2C%20Cats%20%26%20Mice'],
  ['☃', '%E2%98%83'],
  ["!*'()", '%21%2A%27%28%29'],
  ['a-b._~', 'a-b._~'],
] as const)('%s is encoded as %s', ([raw, encoded]) => {
  expect(percentEncode(raw)).toBe(encoded)
})

test('an Authorization header is read with and without spaces after commas', () => {
  expect(parseAuthorization('OAuth a="1",b="2%20", c="3"')).toEqual([
    ['a', '1'],
    ['b', '2 '],
    ['c', '3'],
  ])
  expect(parseAuthorization('Bearer abc')).toBeUndefined()
})
