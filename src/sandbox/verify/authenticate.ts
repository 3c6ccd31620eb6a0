/**
 * Authenticates the caller of a request by OAuth 1.0a, bearer token or basic authentication (docs/spec-notes.md#signing,
 * docs/spec-notes.md#tokens).
 */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import type { SandboxUser } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { FIXED_USER } from '../firstIds.ts'
import type { AuthState } from '../auth/state.ts'
import { adsRefusal, coreRefusal, invalidTokenRefusal, jsonRefusal, oauth2Refusal, PROBLEMS, v2Problem, type Refusal } from '../refusal.ts'
import { parseAuthorization, verifySignature, type SignedRequest } from './signature.ts'
import type { SandboxWorld } from '../state/world.ts'
import { decodeOrKeep } from '../../decodeOrKeep.ts'

/** Part of a request that proves who the caller is. */
export interface AuthInput extends Omit<SignedRequest, 'oauth'> {
  readonly rawQuery: string
  readonly authorization: string | undefined
}

/** Authenticated caller of a request. */
export interface Caller {
  /** User of the token; undefined for a caller without one, such as an app-only token. */
  readonly user: SandboxUser | undefined
  /** OAuth parameters of the header; empty without a signature. */
  readonly oauth: ReadonlyMap<string, string>
  /** Id for rate limits per user: the user id, `browser` for an authorization page, or else `app`. Always `app` with a bearer token. */
  readonly id: string
}

const NONE: ReadonlyMap<string, string> = new Map()

/**
 * Stores the nonces of the timestamp window. Snapshots do not contain the nonces, so a repeated request is refused even after a restore.
 */
export class Nonces {
  readonly #seen = new Map<number, Set<string>>()
  /** Stores a nonce. Returns false if the nonce was used with this timestamp before. Times in seconds. `key`: token and nonce. */
  add(timestampS: number, key: string, windowS: number, nowS: number): boolean {
    let set = this.#seen.get(timestampS)
    if (set === undefined) {
      for (const second of this.#seen.keys()) if (second < nowS - windowS) this.#seen.delete(second)
      this.#seen.set(timestampS, (set = new Set()))
    }
    if (set.has(key)) return false
    set.add(key)
    return true
  }
  clear(): void {
    this.#seen.clear()
  }
}

/** Authenticates a request as its endpoint requires. @throws {Refusal} unless the credentials are valid and allow the call */
export function authenticate(world: SandboxWorld, nonces: Nonces, endpoint: Endpoint, request: AuthInput): Caller {
  if (endpoint.auth === 'browser') return { user: undefined, oauth: NONE, id: 'browser' }
  const header = request.authorization
  const scheme = /^\s*(\w+)/.exec(header ?? '')?.[1]?.toLowerCase()
  const requiredAuth = endpoint.host !== 'core' && world.switchValue('ads_auth') === 'bearer' ? 'bearer' : endpoint.auth
  switch (requiredAuth) {
    case 'basic':
      return authenticateByBasic(world, header)
    case 'basic-or-user':
      return scheme === 'oauth' ? authenticateBySignature(world, nonces, endpoint, request, 'user') : authenticateByBasic(world, header)
    case 'bearer':
      if (scheme === 'oauth') throw endpoint.host === 'core' ? wrongTokenTypeRefusal() : unauthorizedAccessRefusal()
      // With the switch `ads_auth: bearer`, the token acts for the first user.
      return requireApproved(
        world,
        endpoint,
        authenticateByBearer(world, endpoint, header, requiredAuth === endpoint.auth ? undefined : FIXED_USER),
      )
    case 'bearer-or-user':
      return scheme === 'oauth'
        ? authenticateBySignature(world, nonces, endpoint, request, 'user')
        : authenticateByBearer(world, endpoint, header)
    default:
      if (scheme === 'bearer' && endpoint.host === 'core') {
        // Throws if the token is not valid.
        authenticateByBearer(world, endpoint, header)
        throw request.rawPath.startsWith('/2/')
          ? wrongTokenTypeRefusal()
          : coreRefusal(403, 220, 'Your credentials do not allow access to this resource')
      }
      return authenticateBySignature(world, nonces, endpoint, request, requiredAuth)
  }
}

/** Verifies an OAuth 1.0a signature. @throws {Refusal} unless it is valid and fresh, and the token and the app may make the call */
function authenticateBySignature(
  world: SandboxWorld,
  nonces: Nonces,
  endpoint: Endpoint,
  request: AuthInput,
  requiredAuth: Endpoint['auth'],
): Caller {
  const oauth = request.authorization === undefined ? undefined : parseAuthorization(request.authorization.trim())
  // A function: a refusal captures the stack, which would cost time for each correct request.
  const makeRefusal = (): Refusal => unauthenticatedRefusal(world, endpoint, request)
  if (oauth === undefined)
    throw endpoint.host === 'core' && !request.rawPath.startsWith('/2/') ? coreRefusal(400, 215, 'Bad Authentication data') : makeRefusal()
  const fields = new Map(oauth)
  // The header may contain each parameter only once (RFC 5849 3.1).
  if (fields.size !== oauth.length) throw makeRefusal()
  for (const name of ['oauth_consumer_key', 'oauth_nonce', 'oauth_signature', 'oauth_signature_method', 'oauth_timestamp'])
    if (!fields.get(name)) throw makeRefusal()
  if (fields.get('oauth_signature_method') !== 'HMAC-SHA1' || (fields.get('oauth_version') ?? '1.0') !== '1.0') throw makeRefusal()
  if (fields.get('oauth_consumer_key') !== world.credentials.consumerKey) throw makeRefusal()
  if (world.switchValue('raw_reserved') === 'reject' && /[:/,]/.test(request.rawQuery)) throw makeRefusal()
  const { user, secrets } = signerOf(world, endpoint, request, fields, requiredAuth, makeRefusal)
  const duplicates = world.switchValue('duplicate_oauth')
  const { consumerSecret } = world.credentials
  if (!secrets.some((tokenSecret) => verifySignature({ ...request, oauth }, { consumerSecret, tokenSecret }, duplicates)))
    throw makeRefusal()
  checkFreshness(world, nonces, fields, makeRefusal)
  return requireApproved(world, endpoint, { user, oauth: fields, id: user?.id ?? 'app' })
}

/** Returns the caller. @throws {Refusal} on the advertising host, if the application is not approved (switch `app_approved`) */
function requireApproved(world: SandboxWorld, endpoint: Endpoint, caller: Caller): Caller {
  if (world.switchValue('app_approved') === 'no' && endpoint.host !== 'core')
    throw adsRefusal('UNAUTHORIZED_CLIENT_APPLICATION', 'The client application making this request does not have access to this API')
  return caller
}

/**
 * Returns the user of the token, and the secrets that may have signed the request.
 *
 * @throws {Refusal} if the token does not allow the call
 */
function signerOf(
  world: SandboxWorld,
  endpoint: Endpoint,
  request: AuthInput,
  fields: ReadonlyMap<string, string>,
  requiredAuth: Endpoint['auth'],
  makeRefusal: () => Refusal,
): { user: SandboxUser | undefined; secrets: readonly string[] } {
  const auth = authState(world)
  const token = fields.get('oauth_token') ?? ''
  if (requiredAuth === 'request-token') {
    const name = token || (request.query.find(([key]) => key === 'oauth_token') ?? request.form.find(([key]) => key === 'oauth_token'))?.[1]
    const requestToken = auth.requestTokens.get(name ?? '')
    if (requestToken === undefined) throw makeRefusal()
    // If the token is not in the header, some clients sign with its secret and some without.
    return { user: undefined, secrets: token === '' ? ['', requestToken.secret] : [requestToken.secret] }
  }
  if (requiredAuth === 'consumer' && token === '') return { user: undefined, secrets: [''] }
  const accessToken = auth.accessTokens.get(token)
  if (accessToken === undefined) throw token !== '' && endpoint.host === 'core' ? invalidTokenRefusal('access') : makeRefusal()
  if (!accessToken.active) throw invalidTokenRefusal('access')
  const user = world.users.get(accessToken.userId)
  if (accessToken.access === 'read' && request.method !== 'GET') {
    if (endpoint.host !== 'core') throw adsRefusal('READONLY_CLIENT_APPLICATION', 'This access token may only read')
    if (endpoint.path.startsWith('/2/')) throw v2Problem(403, 'Forbidden', 'This access token may only read.', 'oauth1-permissions')
  }
  return { user, secrets: [accessToken.secret] }
}

/**
 * Checks that the nonce is new, and that the timestamp is within the window (docs/spec-notes.md#signing). The clock is the machine's plus
 * `skewMs`.
 *
 * @throws {Refusal}
 */
function checkFreshness(world: SandboxWorld, nonces: Nonces, fields: ReadonlyMap<string, string>, makeRefusal: () => Refusal): void {
  const timestamp = fields.get('oauth_timestamp') ?? ''
  const nowS = Math.floor((world.machineNow() + world.skewMs) / 1000)
  const windowS = Number(world.switchValue('timestamp_window_s'))
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Number(timestamp) - nowS) > windowS) throw makeRefusal()
  if (!nonces.add(Number(timestamp), `${fields.get('oauth_token') ?? ''} ${fields.get('oauth_nonce') ?? ''}`, windowS, nowS))
    throw makeRefusal()
}

/** Verifies an app-only token. `asUser`: id of the user that the token acts for; by default none. @throws {Refusal} */
function authenticateByBearer(world: SandboxWorld, endpoint: Endpoint, header: string | undefined, asUser?: string): Caller {
  const auth = authState(world)
  const token = /^\s*bearer\s+(\S+)\s*$/i.exec(header ?? '')?.[1]
  if (token === undefined || auth.bearer === null || token !== auth.bearer) {
    if (endpoint.host !== 'core') throw unauthorizedAccessRefusal()
    if (world.switchValue('v2_auth_errors') === 'problem' && endpoint.path.startsWith('/2/'))
      throw v2Problem(401, 'Unauthorized', 'Unauthorized', 'about:blank')
    throw header === undefined ? coreRefusal(401, 32, 'Could not authenticate you.') : invalidTokenRefusal('bearer')
  }
  return { user: asUser === undefined ? undefined : world.users.get(asUser), oauth: NONE, id: 'app' }
}

/** Verifies basic authentication: Base64 of the URL-encoded key and secret, joined by `:`. @throws {Refusal} */
function authenticateByBasic(world: SandboxWorld, header: string | undefined): Caller {
  const text = Buffer.from(/^\s*basic\s+(\S+)\s*$/i.exec(header ?? '')?.[1] ?? '', 'base64').toString()
  const colon = text.indexOf(':')
  const { consumerKey, consumerSecret } = world.credentials
  if (colon === -1 || decodeOrKeep(text.slice(0, colon)) !== consumerKey || decodeOrKeep(text.slice(colon + 1)) !== consumerSecret)
    throw oauth2Refusal()
  return { user: undefined, oauth: NONE, id: 'app' }
}

function authState(world: SandboxWorld): AuthState {
  return world.stateOf(areaRefs.auth)
}

function unauthorizedAccessRefusal(): Refusal {
  return adsRefusal('UNAUTHORIZED_ACCESS', 'This request is not properly authenticated')
}

/** Returns the 401 in the form of the endpoint's host. */
function unauthenticatedRefusal(world: SandboxWorld, endpoint: Endpoint, request: AuthInput): Refusal {
  if (endpoint.host !== 'core') return unauthorizedAccessRefusal()
  if (request.rawPath.startsWith('/2/') && world.switchValue('v2_auth_errors') === 'problem')
    return v2Problem(401, 'Unauthorized', 'Unauthorized', 'about:blank')
  return coreRefusal(401, 32, 'Could not authenticate you.')
}

/**
 * Returns the 403 of the core host for the wrong type of credentials: a bearer token instead of a signature, or the reverse. The body has a
 * code of the core host, and also the fields of a v2 problem (docs/spec-notes.md#tokens).
 */
function wrongTokenTypeRefusal(): Refusal {
  return jsonRefusal(403, {
    errors: [{ code: 220, message: 'Your credentials do not allow access to this resource' }],
    title: 'Unsupported Authentication',
    detail: 'Authenticating with this kind of token is not supported for this endpoint.',
    type: `${PROBLEMS}/unsupported-authentication`,
    status: 403,
  })
}

/** Returns the user id of the OAuth token in the header, without verification. `app` for an unknown token or another header. */
export function claimedCaller(world: SandboxWorld, authorization: string | undefined): string {
  const token = parseAuthorization(authorization ?? '')?.find(([name]) => name === 'oauth_token')?.[1] ?? ''
  return authState(world).accessTokens.get(token)?.userId ?? 'app'
}
