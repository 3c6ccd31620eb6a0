/** Signatures of the client: vectors of RFC 5849, encodings, forms (spec 5 rule 1; docs/spec-notes.md#signing). */
import { describe, expect, test } from 'vitest'
import { authorizationHeader, sign, signatureOf, type OAuthKeys } from '../../../src/service/client/signing.ts'

const printer = { consumerKey: 'dpf43f3p2l4k3l03', consumerSecret: 'kd94hf93k423kf44' }
const sandbox: OAuthKeys = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  token: '1001-sandbox-access-token',
  tokenSecret: 'sandbox-access-token-secret',
}

const protocol = (keys: OAuthKeys, timestamp: string, nonce: string, extra: Record<string, string> = {}) => ({
  oauth_consumer_key: keys.consumerKey,
  oauth_signature_method: 'HMAC-SHA1',
  oauth_timestamp: timestamp,
  oauth_nonce: nonce,
  ...(keys.token === undefined ? {} : { oauth_token: keys.token }),
  ...extra,
})

describe('the vectors of RFC 5849 (docs/spec-notes.md#signing)', () => {
  test('R1: a request token, no token', () => {
    const parameters = protocol(printer, '137131200', 'wIjqoS', { oauth_callback: 'http://printer.example.com/ready' })
    expect(signatureOf({ method: 'POST', url: 'https://photos.example.net/initiate' }, printer, parameters)).toBe(
      '74KNZJeDHnMBp0EMJ9ZHt/XKycU=',
    )
  })
  test('R2: the exchange for an access token', () => {
    const keys = { ...printer, token: 'hh5s93j4hdidpola', tokenSecret: 'hdhd0244k9j7ao03' }
    const parameters = protocol(keys, '137131201', 'walatlh', { oauth_verifier: 'hfdp7dh39dks9884' })
    expect(signatureOf({ method: 'POST', url: 'https://photos.example.net/token' }, keys, parameters)).toBe('gKgrFCywp7rO0OXSjdot/IHF7IU=')
  })
  test('R3: a query', () => {
    const keys = { ...printer, token: 'nnch734d00sl2jdk', tokenSecret: 'pfkkdhi9sl3r4s00' }
    const url = 'http://photos.example.net/photos?file=vacation.jpg&size=original'
    expect(signatureOf({ method: 'GET', url }, keys, protocol(keys, '137131202', 'chapoH'))).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=')
  })
  test('R4: upper-case host, default port, a name in query and form, a name without a value', () => {
    const keys = { consumerKey: '9djdj82h48djs9d2', consumerSecret: 'j49sk3j29djd', token: 'kkk9d7dh3k39sjv7', tokenSecret: 'dh893hdasih9' }
    const url = 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b'
    expect(signatureOf({ method: 'POST', url, form: 'c2&a3=2+q' }, keys, protocol(keys, '137131201', '7d8f3e4a'))).toBe(
      'r6/TJjbCOr97/+UU0NsvSne7s5g=',
    )
  })
})

describe('the wire vectors (docs/spec-notes.md#signing)', () => {
  const wire = (extra: Record<string, string> = {}) => protocol(sandbox, '1700000000', 'n0nce', { oauth_version: '1.0', ...extra })
  test.for(['a+b', 'a%20b'])('S1: a space sent as %s', (q) => {
    expect(signatureOf({ method: 'GET', url: `http://127.0.0.1:4010/12/accounts?q=${q}` }, sandbox, wire())).toBe(
      '7/l2xvSXEK/sC8Zg5oJLoJ3BGOE=',
    )
  })
  test('S1 without the port is another signature', () => {
    expect(signatureOf({ method: 'GET', url: 'http://127.0.0.1/12/accounts?q=a+b' }, sandbox, wire())).toBe('CbdUHupzmKU4262x2a7YttiiRRY=')
  })
  test('S2: every reserved character in a query, with a body hash', () => {
    const url = 'http://127.0.0.1:4010/12/accounts/18ce54d4x5t?name=Caf%C3%A9%27s%2C%20100%25%20%28A%2BB%29%21'
    expect(signatureOf({ method: 'PUT', url }, sandbox, wire({ oauth_body_hash: '2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }))).toBe(
      'dxzAUA9IHES5howtrrqeNq6RR0Q=',
    )
  })
  test('S3: the token in header and form, collapsed as the library merges it', () => {
    const keys = { ...sandbox, token: 'req-token', tokenSecret: 'req-token-secret' }
    const form = 'oauth_token=req-token&oauth_verifier=123456'
    expect(
      signatureOf({ method: 'POST', url: 'http://127.0.0.1:4010/oauth/access_token', form }, keys, { ...wire(), oauth_token: 'req-token' }),
    ).toBe('IkoaubfHQl3p+ryHsaS9c8IODHY=')
  })
})

test('a resend has a new nonce and the given time', () => {
  const request = { method: 'GET', url: 'http://127.0.0.1:4010/12/accounts' }
  const [first, second] = [sign(request, sandbox, 1_700_000_000_999), sign(request, sandbox, 1_700_000_000_999)]
  expect(first).toContain('oauth_timestamp="1700000000"')
  expect(first).not.toBe(second)
  expect(/oauth_nonce="([0-9a-f]+)"/.exec(first)?.[1]).not.toBe(/oauth_nonce="([0-9a-f]+)"/.exec(second)?.[1])
})

test('the header encodes its values', () => {
  expect(authorizationHeader({ oauth_signature: 'a/b=', oauth_callback: "x'y" })).toBe(
    'OAuth oauth_callback="x%27y", oauth_signature="a%2Fb%3D"',
  )
})
