/**
 * Controls access. Checks of a request, probes and webhooks excepted:
 * - every request: the host, and of one that changes something the origin
 * - API: the token
 * - metrics: the token, but for requests from this machine that no proxy passed on
 * - pages: the token, a session, a user that the proxy on this machine names, or a request from this machine that no proxy passed on
 *
 * Without SLUICE_API_TOKEN, the server listens on loopback only, requires no token, and rejects requests that a proxy passes on.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { createMiddleware } from 'hono/factory'
import { UsageError } from '../errors.ts'
import { isLoopback } from '../loopback.ts'

export interface AccessSettings {
  /** Address that the server listens on. */
  readonly host: string
  readonly token: string | undefined
  /** Header in which a trusted proxy names the signed-in user. */
  readonly userHeader: string | undefined
  /** Public address of the dashboard, if it is not only used on this machine. */
  readonly publicUrl: string | undefined
  /** Name for actions from this machine. */
  readonly localUser: string
}

export interface Caller {
  /** Name in the audit log; undefined if the caller may only read. */
  readonly actor: string | undefined
}

export type ServerEnv = { Variables: { caller: Caller } }

const sessionCookie = 'sluice_session'
const sessionHours = 12

/**
 * Returns the settings.
 *
 * @throws {UsageError} `TOKEN_REQUIRED` if other machines can call the server, by host or public address, and there is no token
 */
export function checkedAccess(settings: AccessSettings): AccessSettings {
  const openSettings = [
    ...(isLoopback(bracketed(settings.host)) ? [] : [`--host ${settings.host}`]),
    ...(settings.publicUrl === undefined || isLoopback(new URL(settings.publicUrl).hostname) ? [] : ['SLUICE_PUBLIC_URL']),
  ]
  if (openSettings.length === 0 || settings.token !== undefined) return settings
  throw new UsageError(
    'TOKEN_REQUIRED',
    `${openSettings.join(' and ')} opens the server to other machines, and SLUICE_API_TOKEN is not set. Nothing was started.`,
    {
      where: openSettings[0] ?? '--host',
      hint: 'SLUICE_API_TOKEN=$(openssl rand -hex 32)   (in .env), or --host 127.0.0.1',
    },
  )
}

/** Rejects requests for another host (DNS rebinding) and changes that another site requests (cross-site request forgery, CSRF). */
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
        'SLUICE_API_TOKEN=$(openssl rand -hex 32)   (in .env)',
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

/** Allows callers with the token. If no token is configured, allows every caller, because the server is on loopback then. */
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

/** Allows direct requests from this machine, and others with the token. */
export function metricsAccess(settings: AccessSettings) {
  return createMiddleware<ServerEnv>(async (c, next) => {
    if (isDirect(settings, c) || hasToken(settings, c)) return next()
    c.header('www-authenticate', 'Bearer')
    return deny(c, 401, 'TOKEN_INVALID', 'the bearer token is missing or wrong.', 'set bearer_token_file in the scrape configuration')
  })
}

/** Allows browsers on this machine, and others with a session or the token. Redirects all others to the sign-in page. */
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
  if (token === undefined || !equals(given, token)) return false
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

/** Returns true for a request from this machine that no proxy passed on, or whose user the trusted proxy on this machine names. */
function isLocal(settings: AccessSettings, c: Context): boolean {
  return isDirect(settings, c) || (isLoopback(bracketed(settings.host)) && userIn(settings, c) !== undefined)
}

/**
 * Returns true for a request from this machine that no proxy passed on. With a public address, every request may come from a proxy: nginx
 * sends neither the host of the caller nor another header by default.
 */
function isDirect(settings: AccessSettings, c: Context): boolean {
  const isPublished = settings.publicUrl !== undefined && !isLoopback(new URL(settings.publicUrl).hostname)
  const isOnLoopback = isLoopback(bracketed(settings.host)) && isLoopback(hostnameOf(c.req.header('host') ?? ''))
  return !isPublished && isOnLoopback && !isForwarded(c)
}

/** Headers that a proxy adds to a request which it passes on. */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

function isForwarded(c: Context): boolean {
  return forwardingHeaders.some((name) => c.req.header(name) !== undefined)
}

function isOwnHost(settings: AccessSettings, host: string): boolean {
  if (settings.publicUrl !== undefined && host.toLowerCase() === new URL(settings.publicUrl).host) return true
  // On other addresses any host is allowed, because every request needs the token or a cookie of this host.
  return isLoopback(bracketed(settings.host)) ? isLoopback(hostnameOf(host)) : host !== ''
}

/** Returns true for a request that a page of another site sends. Behind a proxy that sets its own host, pages have the public address. */
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
  return token !== undefined && given !== undefined && equals(given, token)
}

function hasSession({ token }: AccessSettings, c: Context): boolean {
  const [until = '', mac = ''] = (getCookie(c, sessionCookie) ?? '').split('.')
  return token !== undefined && Number(until) > Date.now() && equals(mac, sessionSignature(token, until))
}

/** Returns the user that the proxy names; undefined if there is none. The header is trusted only from this machine, or with token or session. */
function proxyUser(settings: AccessSettings, c: Context): string | undefined {
  return hasToken(settings, c) || hasSession(settings, c) || isLocal(settings, c) ? userIn(settings, c) : undefined
}

/** Returns the user in the header of the proxy; undefined if the header is not configured, missing or empty. */
function userIn({ userHeader }: AccessSettings, c: Context): string | undefined {
  const user = userHeader === undefined ? undefined : c.req.header(userHeader)?.trim().slice(0, 200)
  return user === '' ? undefined : user
}

/** Returns the signature of a session cookie that is valid until `until`, in milliseconds since 1970. */
function sessionSignature(token: string, until: string): string {
  return createHmac('sha256', token).update(`dashboard session of sluice until ${until}`).digest('hex')
}

/** Compares in constant time. */
function equals(a: string, b: string): boolean {
  const key = 'compare'
  // Compares digests, because `timingSafeEqual` needs equal lengths.
  return timingSafeEqual(createHmac('sha256', key).update(a).digest(), createHmac('sha256', key).update(b).digest())
}

function hostnameOf(host: string): string {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : ''
}

/** Adds the brackets of a URL to an IPv6 address. */
function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function deny(c: Context, status: 401 | 403 | 421, code: string, message: string, hint: string) {
  return c.json({ error: { code, message, where: c.req.path, hint } }, status)
}
