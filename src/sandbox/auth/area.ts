/** Handles the token endpoints: the three-legged flow and app-only tokens (spec 4.1, 3.2; docs/spec-notes.md#tokens). */
import { isLoopback } from '../../loopback.ts'
import { defineArea, type Call, type Reply } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { callbackRefusal, coreRefusal } from '../refusal.ts'
import { percentEncode } from '../verify/signature.ts'
import { addUser, applyAddedUser, listUsers } from './users.ts'
import { authorizationPage, deniedPage, pinPage, wrongTokenPage } from './page.ts'
import { createAuthState, loadAuthState, randomText, type AuthState, type RequestToken } from './tokens.ts'

type AuthCall = Call<AuthState>

export const authArea = defineArea({
  ref: areaRefs.auth,
  createState: createAuthState,
  loadState: loadAuthState,
  handlers: {
    'oauth.requestToken': requestToken,
    'oauth.authorize': (call) => authorize(call, false),
    'oauth.authenticate': (call) => authorize(call, true),
    'oauth.accessToken': accessToken,
    'oauth.invalidateToken': invalidateToken,
    'oauth2.token': bearerToken,
    'oauth2.invalidateToken': invalidateBearer,
  },
  control: { 'POST /_sandbox/users': addUser, 'GET /_sandbox/users': listUsers },
  applyEvent: (world, state, event) => {
    if (event.kind === 'person') applyAddedUser(world, state, event)
    else if (event.kind === 'bearer_expired') state.bearer = null
  },
})

function requestToken(call: AuthCall): Reply {
  // A nonce is ASCII only (spec 4.1).
  if (/[^\x20-\x7e]/.test(call.oauth.get('oauth_nonce') ?? '')) throw coreRefusal(401, 32, 'Could not authenticate you.')
  const callback = String(call.params['oauth_callback'])
  if (callback !== 'oob' && !isLoopbackUrl(callback)) throw callbackRefusal()
  const token: RequestToken = {
    token: randomText(call.world, 27),
    secret: randomText(call.world, 32),
    callback,
    access: call.params['svc_auth_access_type'] === 'read' ? 'read' : 'write',
    verifier: null,
    userId: null,
    state: 'new',
  }
  call.state.requestTokens.set(token.token, token)
  return form({ oauth_token: token.token, oauth_token_secret: token.secret, oauth_callback_confirmed: 'true' })
}

/**
 * Shows the authorization page, or handles the button that was pressed on it (`decision`). Without `screen_name`, the user is `sandbox`.
 * `skipsGranted`: allows without the page if the user granted access before, unless `force_login` is set.
 */
function authorize(call: AuthCall, skipsGranted: boolean): Reply {
  const token = call.state.requestTokens.get(String(call.params['oauth_token']))
  if (token === undefined || token.state !== 'new') return html(wrongTokenPage(), 403)
  const screenName = typeof call.params['screen_name'] === 'string' ? call.params['screen_name'] : ''
  const forceLogin = call.params['force_login'] === true
  const handle = (screenName || 'sandbox').replace(/^@/, '').toLowerCase()
  const user = [...call.world.users.values()].find((one) => one.screenName.toLowerCase() === handle)
  const decision =
    call.query.get('decision') ??
    (skipsGranted && !forceLogin && user !== undefined && call.state.granted.has(user.id) ? 'allow' : undefined)
  if (decision === 'deny') {
    token.state = 'denied'
    return token.callback === 'oob' ? html(deniedPage()) : redirect(token.callback, { denied: token.token })
  }
  if (decision !== 'allow' || user === undefined)
    return html(authorizationPage({ token, path: call.endpoint.path, screenName, forceLogin, unknown: user === undefined }))
  token.state = 'allowed'
  token.userId = user.id
  call.state.granted.add(user.id)
  if (token.callback === 'oob') {
    token.verifier = String(1_000_000 + Math.floor(call.world.random() * 9_000_000))
    return html(pinPage(token.verifier))
  }
  token.verifier = randomText(call.world, 32)
  return redirect(token.callback, { oauth_token: token.token, oauth_verifier: token.verifier })
}

function accessToken(call: AuthCall): Reply {
  const token = call.state.requestTokens.get(String(call.params['oauth_token']))
  const user = call.world.users.get(token?.userId ?? '')
  if (token === undefined || user === undefined || token.state !== 'allowed' || token.verifier !== call.params['oauth_verifier'])
    throw coreRefusal(401, 32, 'Could not authenticate you.')
  token.state = 'used'
  const access = {
    token: `${user.id}-${randomText(call.world, 40)}`,
    secret: randomText(call.world, 45),
    userId: user.id,
    access: token.access,
    active: true,
  }
  call.state.accessTokens.set(access.token, access)
  return form({ oauth_token: access.token, oauth_token_secret: access.secret, user_id: user.id, screen_name: user.screenName })
}

function invalidateToken(call: AuthCall): Reply {
  const token = call.state.accessTokens.get(call.oauth.get('oauth_token') ?? '')
  if (token === undefined) throw coreRefusal(401, 32, 'Could not authenticate you.')
  token.active = false
  return { kind: 'json', body: { access_token: token.token } }
}

/**
 * Returns the app-only token, which stays the same until it is invalidated (spec 3.2). The token contains percent-escapes: clients must
 * send them as they are.
 */
function bearerToken(call: AuthCall): Reply {
  call.state.bearer ??= `${'A'.repeat(22)}${randomText(call.world, 24)}%2F${randomText(call.world, 20)}%3D${randomText(call.world, 30)}`
  return { kind: 'json', body: { token_type: 'bearer', access_token: call.state.bearer } }
}

function invalidateBearer(call: AuthCall): Reply {
  const { bearer } = call.state
  const given = String(call.params['access_token'])
  // If a client does not encode the token in a form or query, its escapes arrive decoded.
  if (bearer === null || (given !== bearer && given !== decodeURIComponent(bearer)))
    throw coreRefusal(403, 99, 'Unable to verify your credentials', 'authenticity_token_error')
  call.state.bearer = null
  return { kind: 'json', body: { access_token: bearer } }
}

/** Returns true for an http or https URL with a loopback host. */
function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && isLoopback(url.hostname)
}

function form(fields: Readonly<Record<string, string>>): Reply {
  const body = Object.entries(fields)
    .map(([name, value]) => `${name}=${percentEncode(value)}`)
    .join('&')
  return { kind: 'text', type: 'text/html;charset=utf-8', body }
}

function html(body: string, status = 200): Reply {
  return { kind: 'text', type: 'text/html;charset=utf-8', body, status, headers: { 'cache-control': 'no-store' } }
}

function redirect(callback: string, fields: Readonly<Record<string, string>>): Reply {
  const url = new URL(callback)
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return { kind: 'text', type: 'text/html;charset=utf-8', body: '', status: 302, headers: { location: url.href } }
}
