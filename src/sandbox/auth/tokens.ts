/** Handles the token endpoints: the three-legged flow and app-only tokens (spec 4.1, 3.2; docs/spec-notes.md#tokens). */
import { isLoopback } from '../../loopback.ts'
import type { Call, Handler, Reply, SandboxUser, World } from '../area.ts'
import { FIXED_USER } from '../firstIds.ts'
import { textParam } from '../params.ts'
import { callbackRefusal, coreRefusal, oauth2Refusal } from '../refusal.ts'
import { percentEncode } from '../verify/signature.ts'
import { authorizationPage, deniedPage, pinPage, wrongTokenPage } from './page.ts'
import type { AuthState, RequestToken } from './state.ts'

type AuthCall = Call<AuthState>

export const tokenHandlers: Readonly<Record<string, Handler<AuthState>>> = {
  'oauth.requestToken': createRequestToken,
  'oauth.authorize': (call) => authorize(call, { skipsPage: false }),
  'oauth.authenticate': (call) => authorize(call, { skipsPage: skipsAuthorizationPage(call) }),
  'oauth.accessToken': createAccessToken,
  'oauth.invalidateToken': invalidateToken,
  'oauth2.token': getOrCreateBearer,
  'oauth2.invalidateToken': invalidateBearer,
}

function createRequestToken(call: AuthCall): Reply {
  // Unlike other endpoints, this one accepts only printable ASCII in the nonce (spec 4.1).
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
  return formReply({ oauth_token: token.token, oauth_token_secret: token.secret, oauth_callback_confirmed: 'true' })
}

/**
 * Shows the authorization page, or handles the button that the user pressed on it. `skipsPage`: allows the access immediately if no button
 * was pressed.
 */
function authorize(call: AuthCall, { skipsPage }: { readonly skipsPage: boolean }): Reply {
  const token = call.state.requestTokens.get(String(call.params['oauth_token']))
  if (token === undefined || token.state !== 'new') return htmlReply(wrongTokenPage(), 403)
  const user = userOfHandle(call)
  const decision = call.query.get('decision') ?? (skipsPage ? 'allow' : undefined)
  if (decision === 'deny') {
    token.state = 'denied'
    return token.callback === 'oob' ? htmlReply(deniedPage()) : redirectReply(token.callback, { denied: token.token })
  }
  if (decision !== 'allow' || user === undefined) {
    const [screenName, forceLogin] = [textParam(call, 'screen_name') ?? '', call.params['force_login'] === true]
    return htmlReply(authorizationPage({ token, path: call.endpoint.path, screenName, forceLogin, isUnknownUser: user === undefined }))
  }
  token.state = 'allowed'
  token.userId = user.id
  call.state.granted.add(user.id)
  if (token.callback === 'oob') {
    token.verifier = String(1_000_000 + Math.floor(call.world.random() * 9_000_000))
    return htmlReply(pinPage(token.verifier))
  }
  token.verifier = randomText(call.world, 32)
  return redirectReply(token.callback, { oauth_token: token.token, oauth_verifier: token.verifier })
}

function skipsAuthorizationPage(call: AuthCall): boolean {
  const user = userOfHandle(call)
  return user !== undefined && call.params['force_login'] !== true && call.state.granted.has(user.id)
}

/** Returns the user with the handle `screen_name`, by default `sandbox`. Undefined for an unknown handle. */
function userOfHandle(call: AuthCall): SandboxUser | undefined {
  const handle = (textParam(call, 'screen_name') || 'sandbox').replace(/^@/, '').toLowerCase()
  return [...call.world.users.values()].find((one) => one.screenName.toLowerCase() === handle)
}

/** Exchanges an allowed request token for an access token. @throws {Refusal} */
function createAccessToken(call: AuthCall): Reply {
  const token = call.state.requestTokens.get(String(call.params['oauth_token']))
  const user = call.world.users.get(token?.userId ?? '')
  if (token === undefined || user === undefined || token.state !== 'allowed' || token.verifier !== call.params['oauth_verifier'])
    throw coreRefusal(401, 32, 'Could not authenticate you.')
  token.state = 'used'
  const accessToken = {
    token: `${user.id}-${randomText(call.world, 40)}`,
    secret: randomText(call.world, 45),
    userId: user.id,
    access: token.access,
    active: true,
  }
  call.state.accessTokens.set(accessToken.token, accessToken)
  return formReply({
    oauth_token: accessToken.token,
    oauth_token_secret: accessToken.secret,
    user_id: user.id,
    screen_name: user.screenName,
  })
}

function invalidateToken(call: AuthCall): Reply {
  const token = call.state.accessTokens.get(call.oauth.get('oauth_token') ?? '')
  if (token === undefined) throw coreRefusal(401, 32, 'Could not authenticate you.')
  token.active = false
  return { kind: 'json', body: { access_token: token.token } }
}

/** Returns the app-only token: the current one, or a new one if there is none (spec 3.2). A bearer header must keep its percent-escapes. */
function getOrCreateBearer(call: AuthCall): Reply {
  call.state.bearer ??= `${'A'.repeat(22)}${randomText(call.world, 24)}%2F${randomText(call.world, 20)}%3D${randomText(call.world, 30)}`
  return { kind: 'json', body: { token_type: 'bearer', access_token: call.state.bearer } }
}

/** Invalidates the app-only token. @throws {Refusal} for another token, or if another user than the owner of the app signed the call */
function invalidateBearer(call: AuthCall): Reply {
  const { bearer } = call.state
  if (call.user !== undefined && call.user.id !== FIXED_USER) throw oauth2Refusal()
  const sent = String(call.params['access_token'])
  // A token that a client put into a form or query without encoding it arrives without its escapes.
  if (bearer === null || (sent !== bearer && sent !== decodeURIComponent(bearer))) throw oauth2Refusal()
  call.state.bearer = null
  return { kind: 'json', body: { access_token: bearer } }
}

function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && isLoopback(url.hostname)
}

/** Returns a form-encoded answer. Clients must not rely on its content type. */
function formReply(fields: Readonly<Record<string, string>>): Reply {
  const body = Object.entries(fields)
    .map(([name, value]) => `${name}=${percentEncode(value)}`)
    .join('&')
  return { kind: 'text', type: 'text/html;charset=utf-8', body }
}

function htmlReply(body: string, status = 200): Reply {
  return { kind: 'text', type: 'text/html;charset=utf-8', body, status, headers: { 'cache-control': 'no-store' } }
}

function redirectReply(callback: string, fields: Readonly<Record<string, string>>): Reply {
  const url = new URL(callback)
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value)
  return { kind: 'text', type: 'text/html;charset=utf-8', body: '', status: 302, headers: { location: url.href } }
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns a random text of letters and digits. A replay of the journal returns the same text. */
export function randomText(world: World, length: number): string {
  let text = ''
  while (text.length < length) text += LETTERS[Math.floor(world.random() * LETTERS.length)] ?? 'A'
  return text
}
