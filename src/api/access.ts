/**
 * Controls access. A *direct* request comes from this machine, and no proxy passed it on. With a public address, no request counts as direct.
 * Probes and webhooks are not checked. The checks of all other requests:
 * - every request: the host
 * - every request except GET and HEAD: the origin
 * - API: the token
 * - metrics: the token, or a direct request
 * - pages: the token, a session, a user that the proxy on this machine names, or a direct request
 *
 * Without SLUICE_API_TOKEN, the server starts only on loopback, requires no token, and rejects requests that a proxy passes on.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { cutText } from '../cutText.ts'
import { UsageError } from '../errors.ts'
import { isLoopback } from '../loopback.ts'

/** Settings that decide which requests are allowed. */
export interface AccessSettings {
  /** Address that the server listens on. */
  readonly host: string
  /** Token of the API and of the sign-in (`SLUICE_API_TOKEN`). */
  readonly token: string | undefined
  /** Header in which a trusted proxy names the signed-in user. */
  readonly userHeader: string | undefined
  /** Public address of the dashboard, if it is not only used on this machine. */
  readonly publicUrl: string | undefined
  /** Actor of a request without a user name: a direct request to a page, or an API request without a configured token. */
  readonly localUser: string
}

/** Caller of a request, as `apiAccess` or `pageAccess` found it. */
export interface Caller {
  /** Name in the audit log; undefined if the caller may only read. */
  readonly actor: string | undefined
}

/** Variables in the context of a request. */
export type ServerEnv = { Variables: { caller: Caller } }

/** Command that adds a token to `.env`. It works only in a shell: written into `.env`, the text `$(…)` would itself be the token. */
const createTokenCommand = String.raw`printf '\nSLUICE_API_TOKEN=%s\n' "$(openssl rand -hex 32)" >> .env`
const sessionCookie = 'sluice_session'
const sessionHours = 12

/**
 * Returns the settings unchanged if they are safe.
 *
 * @throws {UsageError} `TOKEN_REQUIRED` if other machines can call the server, by host or public address, and there is no token
 */
export function requireSafeAccess(settings: AccessSettings): AccessSettings {
  const openSettings = [
    ...(listensOnLoopback(settings) ? [] : [`--host ${settings.host}`]),
    ...(isPublished(settings) ? ['SLUICE_PUBLIC_URL'] : []),
  ]
  if (openSettings.length === 0 || settings.token !== undefined) return settings
  throw new UsageError(
    'TOKEN_REQUIRED',
    `${openSettings.join(' and ')} opens the server to other machines, and SLUICE_API_TOKEN is not set. Nothing was started.`,
    {
      where: openSettings[0] ?? '--host',
      hint: `${createTokenCommand}   (or --host 127.0.0.1)`,
    },
  )
}

/**
 * Creates middleware that rejects requests for another host (DNS rebinding), and changes that another site requests (cross-site request
 * forgery, CSRF). Without a token, also rejects requests that a proxy passed on.
 */
export function sameHostOnly(settings: AccessSettings) {
  return createMiddleware<ServerEnv>(async (c, next) => {
    const host = c.req.header('host') ?? ''
    if (!isOwnHost(settings, host))
      return deny(
        c,
        421,
        'FOREIGN_HOST',
        `this server does not answer for "${host.slice(0, 100)}"`,
        'set SLUICE_PUBLIC_URL to the address that people use',
      )
    if (settings.token === undefined && isForwarded(c))
      return deny(
        c,
        401,
        'TOKEN_INVALID',
        'the request came through a proxy, and this server has no token. Nothing was done.',
        createTokenCommand,
      )
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD' && isCrossSite(settings, c, host))
      return deny(
        c,
        403,
        'CROSS_SITE',
        'the request comes from another site. Nothing was done.',
        'send it from the dashboard, or without an Origin header',
      )
    await next()
  })
}

/** Creates middleware that allows callers with the token. If none is configured, allows every caller: the server is on loopback then. */
export function apiAccess(settings: AccessSettings) {
  return createMiddleware<ServerEnv>(async (c, next) => {
    const actor =
      settings.token === undefined ? settings.localUser : hasToken(settings, c) ? (proxyUser(settings, c) ?? 'API token') : undefined
    if (actor === undefined) {
      c.header('www-authenticate', 'Bearer')
      return deny(
        c,
        401,
        'TOKEN_INVALID',
        'the bearer token is missing or wrong. Nothing was done.',
        'curl -H "Authorization: Bearer $SLUICE_API_TOKEN" …',
      )
    }
    c.set('caller', { actor })
    await next()
  })
}

/** Creates middleware that allows direct requests (`isDirect`), and others with the token. */
export function metricsAccess(settings: AccessSettings) {
  return createMiddleware<ServerEnv>(async (c, next) => {
    if (isDirect(settings, c) || hasToken(settings, c)) return next()
    c.header('www-authenticate', 'Bearer')
    return deny(c, 401, 'TOKEN_INVALID', 'the bearer token is missing or wrong.', 'set bearer_token_file in the scrape configuration')
  })
}

/**
 * Creates middleware that allows local requests (`isLocal`), and others with a session or the token. Redirects all others to the sign-in
 * page. A caller without a name may only read.
 */
export function pageAccess(settings: AccessSettings) {
  return createMiddleware<ServerEnv>(async (c, next) => {
    const local = isLocal(settings, c)
    if (!local && !hasToken(settings, c) && !hasSession(settings, c)) {
      const { pathname, search } = new URL(c.req.url)
      return c.redirect(`/sign-in?next=${encodeURIComponent(pathname + search)}`, 303)
    }
    const user = proxyUser(settings, c)
    c.set('caller', { actor: user ?? (local ? settings.localUser : undefined) })
    await next()
  })
}

/** Starts a session for a browser that sent the right token. Returns false for a wrong token, and if no token is configured. */
export function signIn(settings: AccessSettings, c: Context, given: string): boolean {
  const { token } = settings
  if (token === undefined || !equalsInConstantTime(given, token)) return false
  const until = String(Date.now() + sessionHours * 3_600_000)
  setCookie(c, sessionCookie, `${until}.${sessionSignature(token, until)}`, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    maxAge: sessionHours * 3600,
    secure: settings.publicUrl?.startsWith('https:') ?? false,
  })
  return true
}

/** Returns true for a direct request. Also returns true if the trusted proxy on this machine names the user of the request. */
function isLocal(settings: AccessSettings, c: Context): boolean {
  return isDirect(settings, c) || (listensOnLoopback(settings) && userIn(settings, c) !== undefined)
}

/**
 * Returns true for a request from this machine that no proxy passed on. If there is a public address, always returns false: a proxy may
 * pass on a request unnoticed. For example, nginx by default passes on neither the original host nor a forwarding header.
 */
function isDirect(settings: AccessSettings, c: Context): boolean {
  const isForLoopback = listensOnLoopback(settings) && isLoopback(hostnameOf(c.req.header('host') ?? ''))
  return !isPublished(settings) && isForLoopback && !isForwarded(c)
}

/** Returns true if there is a public address beyond loopback. */
function isPublished({ publicUrl }: AccessSettings): boolean {
  return publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)
}

function listensOnLoopback({ host }: AccessSettings): boolean {
  // An IPv6 address has brackets in a URL.
  return isLoopback(host.includes(':') ? `[${host}]` : host)
}

/** Headers that a proxy adds to a request which it passes on. */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

function isForwarded(c: Context): boolean {
  return forwardingHeaders.some((name) => c.req.header(name) !== undefined)
}

function isOwnHost(settings: AccessSettings, host: string): boolean {
  if (settings.publicUrl !== undefined && host.toLowerCase() === new URL(settings.publicUrl).host) return true
  // On another address than loopback, the server allows any host. Pages, API and metrics need the token or a cookie of this host.
  return listensOnLoopback(settings) ? isLoopback(hostnameOf(host)) : host !== ''
}

/**
 * Returns true for a request that a page of another site sends. The origin may also be the public address: a proxy may replace the host of
 * the request.
 */
function isCrossSite({ publicUrl }: AccessSettings, c: Context, host: string): boolean {
  const origin = c.req.header('origin')
  if (origin !== undefined) {
    const isPublic = publicUrl !== undefined && origin === new URL(publicUrl).origin
    return !isPublic && (!URL.canParse(origin) || new URL(origin).host !== host.toLowerCase())
  }
  const site = c.req.header('sec-fetch-site')
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}

function hasToken({ token }: AccessSettings, c: Context): boolean {
  const [, given] = /^Bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '') ?? []
  return token !== undefined && given !== undefined && equalsInConstantTime(given, token)
}

function hasSession({ token }: AccessSettings, c: Context): boolean {
  const [until = '', mac = ''] = (getCookie(c, sessionCookie) ?? '').split('.')
  return token !== undefined && Number(until) > Date.now() && equalsInConstantTime(mac, sessionSignature(token, until))
}

/** Returns the user that the proxy names, else undefined. Trusts the header only for a local request, or with the token or a session. */
function proxyUser(settings: AccessSettings, c: Context): string | undefined {
  return hasToken(settings, c) || hasSession(settings, c) || isLocal(settings, c) ? userIn(settings, c) : undefined
}

/** Returns the user in the header of the proxy; undefined if the header is not configured, missing or empty. */
function userIn({ userHeader }: AccessSettings, c: Context): string | undefined {
  const user = userHeader === undefined ? '' : cutText(utf8Of(c.req.header(userHeader) ?? '').trim(), 200)
  return user === '' ? undefined : user
}

/** Returns the text of a header whose bytes are UTF-8. Node decodes headers as Latin-1; a header with other bytes stays Latin-1. */
function utf8Of(header: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'latin1'))
  } catch {
    return header
  }
}

/** Returns the signature of a session cookie that is valid until `until`, in milliseconds since 1970. */
function sessionSignature(token: string, until: string): string {
  return createHmac('sha256', token).update(`dashboard session of sluice until ${until}`).digest('hex')
}

/** Compares two texts in constant time. */
function equalsInConstantTime(a: string, b: string): boolean {
  const key = 'compare'
  // Compares digests, because `timingSafeEqual` needs equal lengths.
  return timingSafeEqual(createHmac('sha256', key).update(a).digest(), createHmac('sha256', key).update(b).digest())
}

/** Returns the name in a `Host` header, without the port; empty if the header is not valid. */
function hostnameOf(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : ''
}

function deny(c: Context, status: 401 | 403 | 421, code: string, message: string, hint: string) {
  return c.json({ error: { code, message, where: c.req.path, hint } }, status)
}
