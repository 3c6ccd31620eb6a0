/** Signed requests, valid and faulty, about which two implementations have to agree. Signed by ../signer.ts. */
import fc from 'fast-check'
import { authorization, encode, sandboxCredentials } from '../signer.ts'

const FAULTS = [
  'none',
  'none',
  'none',
  'none',
  'none',
  'none',
  'plus for spaces',
  'body hash',
  'trailing slash',
  'no version',
  'lower-case escapes',
  'consumer secret',
  'token secret',
  'unknown consumer',
  'unknown token',
  'query changed',
  'query added',
  'form changed',
  'method changed',
  'port not signed',
  'path changed',
  'old timestamp',
  'timestamp ahead',
  'replayed nonce',
  'PLAINTEXT',
  'version 2.0',
  'signature cut',
  'signature absent',
  'nonce absent',
  'secret not encoded',
] as const

export interface SignedRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: string
  readonly body: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly fault: (typeof FAULTS)[number]
}

/** One path for each method. The path of DELETE names a record that does not exist. */
const PATHS = { GET: '/12/accounts', POST: '/12/accounts', PUT: '/12/accounts/18ce54d4x5t', DELETE: '/12/accounts/nobody' } as const

const NAMES = ['q', 'name', 'sort_by', 'a b', 'ü', 'c@', "!*'()", 'a', 'a%20'] as const
const VALUES = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    'a b',
    'a+b',
    'Dogs, Cats & Mice',
    '☃',
    "!*'()",
    '%',
    '%20',
    '~-._',
    '100% (A+B)!',
    '=&?',
    'Ünï',
    '\u{1F375}',
    'x:y/z,w',
    ';',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => text.isWellFormed()),
)
const PAIRS = fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), VALUES), { selector: ([name]) => name, maxLength: 4 })

/**
 * Returns random requests to endpoints of the service at the origin `base`. Most requests are refused for their parameters. So a test
 * compares only whether the answer is 401.
 */
export function signedRequests(base: string): fc.Arbitrary<SignedRequest> {
  return fc
    .record({
      fault: fc.constantFrom(...FAULTS),
      method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
      query: PAIRS,
      form: PAIRS,
      body: fc.constantFrom('none', 'form', 'form', 'json'),
      nonce: fc.stringMatching(/^[A-Za-z0-9_-]{8,40}$/),
    })
    .map((parts) => build(base, parts))
}

interface Parts {
  readonly fault: SignedRequest['fault']
  readonly method: SignedRequest['method']
  readonly query: readonly (readonly [string, string])[]
  readonly form: readonly (readonly [string, string])[]
  readonly body: string
  readonly nonce: string
}

function build(base: string, { fault, method, query, form, body: kind, nonce }: Parts): SignedRequest {
  const writes = method === 'POST' || method === 'PUT'
  const formGiven = writes && (kind === 'form' || fault === 'form changed') ? Object.fromEntries(form) : undefined
  const path = PATHS[method] + (fault === 'trailing slash' ? '/' : '')
  const written = (pairs: readonly (readonly [string, string])[]): string =>
    pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const address = (pairs: readonly (readonly [string, string])[], at = path): string =>
    `${base}${at}${pairs.length === 0 ? '' : `?${written(pairs)}`}`
  const now = Math.floor(Date.now() / 1000)
  const credentials = { ...sandboxCredentials, ...wrongCredentials(fault) }
  const url = address(query)
  let header = authorization({
    method: fault === 'method changed' ? (method === 'GET' ? 'POST' : 'GET') : method,
    url: fault === 'port not signed' ? url.replace(/:\d+/, '') : url,
    nonce,
    credentials,
    timestamp: fault === 'old timestamp' ? now - 3600 : fault === 'timestamp ahead' ? now + 3600 : now,
    ...(formGiven === undefined ? {} : { form: formGiven }),
    oauth: {
      ...(fault === 'body hash' ? { oauth_body_hash: '2jmj7l5rSw0yVb/vlWAYkK/YBwk=' } : {}),
      ...(fault === 'PLAINTEXT' ? { oauth_signature_method: 'PLAINTEXT' } : {}),
      ...(fault === 'version 2.0' ? { oauth_version: '2.0' } : {}),
    },
    ...(fault === 'no version' ? { omit: ['oauth_version'] } : fault === 'nonce absent' ? { omit: ['oauth_nonce'] } : {}),
  })
  if (fault === 'signature cut') header = header.replace(/(oauth_signature="[^"]{6})[^"]*"/, '$1"')
  if (fault === 'signature absent') header = header.replace(/, oauth_signature="[^"]*"/, '')
  const sentForm =
    formGiven === undefined
      ? undefined
      : written(Object.entries(formGiven)) + (fault === 'form changed' ? `${form.length > 0 ? '&' : ''}added=1` : '')
  const headers: Record<string, string> = { Authorization: header }
  if (sentForm !== undefined) headers['Content-Type'] = 'application/x-www-form-urlencoded'
  else if (writes && kind === 'json') headers['Content-Type'] = 'application/json'
  return {
    method,
    url: sentUrl(fault, url, address, query),
    body: sentForm ?? (writes && kind === 'json' ? '{"name":"a b"}' : undefined),
    headers,
    fault,
  }
}

function wrongCredentials(fault: SignedRequest['fault']): Partial<Record<keyof typeof sandboxCredentials, string>> {
  if (fault === 'consumer secret') return { consumerSecret: 'wrong' }
  if (fault === 'token secret') return { accessTokenSecret: 'wrong' }
  if (fault === 'unknown consumer') return { consumerKey: 'stranger' }
  if (fault === 'unknown token') return { accessToken: 'stranger' }
  if (fault === 'secret not encoded') return { accessTokenSecret: `${sandboxCredentials.accessTokenSecret}&` }
  return {}
}

/** Returns the address as sent, if it differs from the signed one. */
function sentUrl(
  fault: SignedRequest['fault'],
  url: string,
  address: (pairs: readonly (readonly [string, string])[], at?: string) => string,
  query: Parts['query'],
): string {
  switch (fault) {
    case 'plus for spaces':
      return url.replaceAll('%20', '+')
    case 'lower-case escapes':
      return url.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())
    case 'query added':
      return address([...query, ['added', '1']])
    case 'query changed':
      return address([...query.slice(1), ['q', 'other than signed']])
    case 'path changed':
      return url.replace('/12/accounts', '/12/product_catalogs')
    default:
      return url
  }
}
