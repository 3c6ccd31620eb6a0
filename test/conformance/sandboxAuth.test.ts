/** Signatures, tokens and the three-legged flow, each refused with its documented answer (spec 3.2, 4.1, 5; docs/spec-notes.md#signing). */
import { describe, expect, test } from 'vitest'
import { authorization, sandboxCredentials } from '../support/signer.ts'
import { type CallResult } from '../support/sandbox.ts'
import { sharedSandbox } from '../support/sharedSandbox.ts'

const sandbox = sharedSandbox()

const consumer = { consumerKey: sandboxCredentials.consumerKey, consumerSecret: sandboxCredentials.consumerSecret }
const basic = {
  authorization: `Basic ${Buffer.from(`${sandboxCredentials.consumerKey}:${sandboxCredentials.consumerSecret}`).toString('base64')}`,
}
const user = sandboxCredentials
const notAuthenticated = {
  errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'This request is not properly authenticated' }],
  request: { params: {} },
}

const requestToken = async (callback: string): Promise<URLSearchParams> =>
  new URLSearchParams(
    (await sandbox.call('POST', '/oauth/request_token', { credentials: consumer, oauth: { oauth_callback: callback } })).text,
  )
const browse = (path: string): Promise<Response> => fetch(sandbox.url + path, { redirect: 'manual' })
const exchange = (token: URLSearchParams, verifier: string): Promise<CallResult> =>
  sandbox.call('POST', '/oauth/access_token', {
    credentials: { ...consumer, accessToken: token.get('oauth_token') ?? '', accessTokenSecret: token.get('oauth_token_secret') ?? '' },
    form: { oauth_verifier: verifier },
  })

describe('signatures on advertising paths', () => {
  test('a right signature is let in, whatever the spelling of the space', async () => {
    for (const query of ['q=a+b', 'q=a%20b']) {
      const url = `${sandbox.url}/12/accounts?${query}`
      const answer = await fetch(url, { headers: { authorization: authorization({ method: 'GET', url }) } })
      expect(answer.status).toBe(200)
    }
  })
  test('a trailing slash is signed and serves the same resource', async () => {
    expect((await sandbox.call('GET', '/12/product_catalogs/')).status).toBe(200)
  })
  test('a form body is signed, with a charset too', async () => {
    const form = { name: 'Dogs, Cats & Mice (☃)!' }
    for (const type of ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded;charset=UTF-8']) {
      const answer = await sandbox.call('PUT', '/12/product_catalogs/4001', { form, headers: { 'content-type': type } })
      expect(answer.body.data).toEqual({ id: '4001', name: form.name })
    }
  })
  test('a content type without a body and a body hash are tolerated', async () => {
    const answer = await sandbox.call('GET', '/12/product_catalogs', {
      headers: { 'content-type': 'application/json' },
      oauth: { oauth_body_hash: '2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
    })
    expect(answer.status).toBe(200)
  })
  test.for([
    ['no header', { headers: { authorization: '' } }],
    ['a wrong consumer secret', { credentials: { ...user, consumerSecret: 'wrong' } }],
    ['a wrong token secret', { credentials: { ...user, accessTokenSecret: 'wrong' } }],
    ['an unknown consumer', { credentials: { ...user, consumerKey: 'nobody' } }],
    ['an unknown token', { credentials: { ...user, accessToken: '1001-unknown' } }],
    ['no token', { credentials: consumer }],
    ['PLAINTEXT', { oauth: { oauth_signature_method: 'PLAINTEXT' } }],
    ['another version', { oauth: { oauth_version: '2.0' } }],
    ['an old timestamp', { timestamp: Math.floor(Date.now() / 1000) - 400 }],
    ['a timestamp ahead', { timestamp: Math.floor(Date.now() / 1000) + 400 }],
    ['a bearer token', { bearer: 'AAAA' }],
  ] as const)('%s is refused with UNAUTHORIZED_ACCESS', async ([, options]) => {
    const answer = await sandbox.call('GET', '/12/product_catalogs', options)
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual(notAuthenticated)
  })
  test('a nonce is good once', async () => {
    const url = `${sandbox.url}/12/product_catalogs`
    const header = { authorization: authorization({ method: 'GET', url, nonce: 'a-nonce_1' }) }
    expect((await fetch(url, { headers: header })).status).toBe(200)
    expect((await fetch(url, { headers: header })).status).toBe(401)
  })
  test('moving the sandbox clock leaves the timestamp window where the machine is', async () => {
    await sandbox.control.advance(86_400 * 400)
    expect((await sandbox.call('GET', '/12/product_catalogs')).status).toBe(200)
  })
  test('an application that is not approved and an account out of reach have their own answers', async () => {
    expect((await sandbox.call('GET', '/12/accounts/abc1/custom_audiences')).body.errors[0]).toEqual({
      code: 'ACCOUNT_NOT_FOUND',
      message: 'Account abc1 was not found',
    })
    await sandbox.control.switches({ app_approved: 'no' })
    const answer = await sandbox.call('GET', '/12/product_catalogs')
    expect(answer.status).toBe(403)
    expect(answer.body.errors[0].code).toBe('UNAUTHORIZED_CLIENT_APPLICATION')
  })
  test('raw reserved characters are accepted, and refused by choice', async () => {
    const url = `${sandbox.url}/12/accounts?q=a:b,c/d`
    const get = (): Promise<Response> => fetch(url, { headers: { authorization: authorization({ method: 'GET', url }) } })
    expect((await get()).status).toBe(200)
    await sandbox.control.switches({ raw_reserved: 'reject' })
    expect((await get()).status).toBe(401)
  })
})

describe('three-legged sign-in', () => {
  test('by PIN, then the new token works and can be invalidated', async () => {
    const token = await requestToken('oob')
    expect(token.get('oauth_callback_confirmed')).toBe('true')
    const page = await (await browse(`/oauth/authorize?oauth_token=${token.get('oauth_token')}&screen_name=sandbox`)).text()
    expect(page).toContain('Allow')
    expect(page).toContain('value="sandbox"')
    const granted = await (await browse(`/oauth/authorize?oauth_token=${token.get('oauth_token')}&decision=allow`)).text()
    const pin = /id="oauth_pin">(\d{7})</.exec(granted)?.[1] ?? ''
    const wrong = await exchange(token, '0000000')
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([401, 32])
    const access = new URLSearchParams((await exchange(token, pin)).text)
    expect(access.get('user_id')).toBe('1001')
    expect(access.get('screen_name')).toBe('sandbox')
    expect((await exchange(token, pin)).status).toBe(401)

    const credentials = {
      ...consumer,
      accessToken: access.get('oauth_token') ?? '',
      accessTokenSecret: access.get('oauth_token_secret') ?? '',
    }
    expect((await sandbox.call('GET', '/12/product_catalogs', { credentials })).status).toBe(200)
    const invalidated = await sandbox.call('POST', '/1.1/oauth/invalidate_token.json', { credentials })
    expect(invalidated.body).toEqual({ access_token: access.get('oauth_token') })
    for (const path of ['/12/product_catalogs', '/1.1/oauth/invalidate_token']) {
      const after = await sandbox.call(path.startsWith('/12') ? 'GET' : 'POST', path, { credentials })
      expect(after.status).toBe(401)
      expect(after.body).toEqual({ errors: [{ code: 89, message: 'Invalid or expired token.' }] })
    }
  })
  test('by callback: allow redirects with a verifier, deny with the token', async () => {
    const token = await requestToken('http://127.0.0.1:9/back?x=1')
    const location = (await browse(`/oauth/authorize?oauth_token=${token.get('oauth_token')}&decision=allow`)).headers.get('location') ?? ''
    const back = new URL(location)
    expect(back.searchParams.get('x')).toBe('1')
    expect(back.searchParams.get('oauth_token')).toBe(token.get('oauth_token'))
    expect((await exchange(token, back.searchParams.get('oauth_verifier') ?? '')).status).toBe(200)
    const second = await requestToken('http://localhost:9/back')
    const denied = (await browse(`/oauth/authorize?oauth_token=${second.get('oauth_token')}&decision=deny`)).headers.get('location') ?? ''
    expect(new URL(denied).searchParams.get('denied')).toBe(second.get('oauth_token'))
  })
  test('authenticate does not ask a user again who granted access, unless forced', async () => {
    const first = await requestToken('http://127.0.0.1:9/')
    expect((await browse(`/oauth/authenticate?oauth_token=${first.get('oauth_token')}`)).status).toBe(200)
    await browse(`/oauth/authenticate?oauth_token=${first.get('oauth_token')}&decision=allow`)
    const second = await requestToken('http://127.0.0.1:9/')
    const forced = `/oauth/authenticate?oauth_token=${second.get('oauth_token')}&force_login=true`
    expect((await browse(forced)).status).toBe(200)
    // The form sends it again, for a handle that was mistyped.
    expect(await (await browse(`${forced}&screen_name=unknown&decision=allow`)).text()).toContain('name="force_login" value="true"')
    expect((await browse(`/oauth/authenticate?oauth_token=${second.get('oauth_token')}`)).status).toBe(302)
  })
  test('a callback that is not approved is refused with 415', async () => {
    const answer = await sandbox.call('POST', '/oauth/request_token', {
      credentials: consumer,
      oauth: { oauth_callback: 'https://shop.example/back' },
    })
    expect([answer.status, answer.body.errors[0].code]).toEqual([403, 415])
  })
  test('text that a user typed is shown escaped', async () => {
    const token = await requestToken('oob')
    const page = await (await browse(`/oauth/authorize?oauth_token=${token.get('oauth_token')}&screen_name=%22%3E%3Cscript%3E`)).text()
    expect(page).not.toContain('<script>')
  })
  test('core host: no header 215, bad signature 32', async () => {
    const none = await sandbox.call('POST', '/1.1/oauth/invalidate_token', { headers: { authorization: '' } })
    expect([none.status, none.body.errors[0].code]).toEqual([400, 215])
    const bad = await sandbox.call('POST', '/1.1/oauth/invalidate_token', { credentials: { ...user, consumerSecret: 'x' } })
    expect([bad.status, bad.body]).toEqual([401, { errors: [{ code: 32, message: 'Could not authenticate you.' }] }])
  })
})

describe('app-only tokens', () => {
  const token = async (): Promise<string> =>
    (await sandbox.call('POST', '/oauth2/token', { headers: basic, form: { grant_type: 'client_credentials' } })).body.access_token
  test('the same one until it is invalidated, then another', async () => {
    const first = await token()
    expect(await token()).toBe(first)
    const gone = await sandbox.call('POST', '/oauth2/invalidate_token', {
      headers: { ...basic, 'content-type': 'application/x-www-form-urlencoded' },
      form: { access_token: first },
    })
    expect(gone.body).toEqual({ access_token: first })
    expect(await token()).not.toBe(first)
    const old = await sandbox.call('GET', '/2/webhooks', { bearer: first })
    expect([old.status, old.body]).toEqual([401, { errors: [{ code: 89, message: 'Invalid or expired token' }] }])
  })
  test('is not invalidated by another user than the owner of the app', async () => {
    const first = await token()
    const added = (await sandbox.control.request('POST', 'users', { screen_name: 'guest', accounts: ['18ce54d4x5t'] })).body
    const credentials = { ...sandboxCredentials, accessToken: added.oauth_token, accessTokenSecret: added.oauth_token_secret }
    const refused = await sandbox.call('POST', '/oauth2/invalidate_token', { query: { access_token: first }, credentials })
    expect([refused.status, refused.body.errors[0].code]).toEqual([403, 99])
    expect((await sandbox.call('GET', '/2/webhooks', { bearer: first })).status).toBe(200)
  })
  test('is invalidated by the owner with OAuth 1.0a too', async () => {
    const first = await token()
    const gone = await sandbox.call('POST', '/oauth2/invalidate_token', { query: { access_token: first } })
    expect([gone.status, gone.body]).toEqual([200, { access_token: first }])
  })
  test('is let in where a bearer is needed, 220 where a user is', async () => {
    const bearer = await token()
    expect((await sandbox.call('GET', '/2/webhooks', { bearer })).status).toBe(200)
    const post = await sandbox.call('POST', '/2/tweets', { bearer, json: { text: 'hello' } })
    expect([post.status, post.body.errors[0].code]).toEqual([403, 220])
    expect((await sandbox.call('GET', '/2/webhooks')).status).toBe(403)
  })
  test.for([
    ['a bad grant', { headers: basic, form: { grant_type: 'password' } }],
    ['no grant', { headers: basic, form: {} }],
    [
      'a wrong secret',
      {
        headers: { authorization: `Basic ${Buffer.from(`${sandboxCredentials.consumerKey}:wrong`).toString('base64')}` },
        form: { grant_type: 'client_credentials' },
      },
    ],
  ] as const)('%s is refused with code 99', async ([, options]) => {
    const answer = await sandbox.call('POST', '/oauth2/token', options)
    expect([answer.status, answer.body]).toEqual([
      403,
      { errors: [{ code: 99, label: 'authenticity_token_error', message: 'Unable to verify your credentials' }] },
    ])
  })
  test('the 51st request for a token in a quarter of an hour is refused with code 99', async () => {
    for (let n = 0; n < 50; n++) await token()
    const answer = await sandbox.call('POST', '/oauth2/token', { headers: basic, form: { grant_type: 'client_credentials' } })
    expect([answer.status, answer.body.errors[0].code]).toEqual([403, 99])
  })
})
