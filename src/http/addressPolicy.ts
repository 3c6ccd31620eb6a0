/** Decides which addresses a source may have. */
import { lookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { RunError } from '../errors.ts'
import { isForbiddenAddress, isPrivateAddress } from './privateAddress.ts'

/** Ports that need no `allow_private`. Empty: the default port of the scheme. */
const allowedPorts = new Set(['', '80', '443', '8080', '8443'])

const allowPrivateHint = 'If the source is in your own network, set `allow_private: true` below `source`.'

/**
 * Checks an http(s) address before a request is sent to it, and returns it parsed. Credentials, link-local addresses and metadata services
 * are never allowed. `allowPrivate` also permits http, any port and private addresses. Names are checked by `checkedLookup` when they are
 * resolved, because only the address of the connection counts (docs/inputs.md, case 137).
 *
 * @throws {RunError} `SOURCE_REFUSED`
 */
export function checkUrl(text: string, allowPrivate: boolean): URL {
  if (/[\r\n\t\0]/.test(text)) throw rejectionError('an address with control characters', 'source address')
  if (!URL.canParse(text)) throw rejectionError('an address that is not a valid URL', 'source address')
  const url = new URL(text)
  const where = safeLabel(url)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw rejectionError(`an address with the scheme ${url.protocol}`, where)
  if (url.username !== '' || url.password !== '')
    throw rejectionError('an address with credentials inside', where, 'Name environment variables under `source.credentials` instead.')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isForbiddenAddress(host)) throw forbiddenError(host, where)
  if (allowPrivate) return url
  if (url.protocol === 'http:') throw rejectionError('an address with plain http', where, `Use https. ${allowPrivateHint}`)
  if (!allowedPorts.has(url.port))
    throw rejectionError(`an address with port ${url.port}`, where, `Serve the feed on port 443. ${allowPrivateHint}`)
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw rejectionError('at a private address', where, allowPrivateHint)
  if (/(^|\.)localhost\.?$/i.test(host)) throw rejectionError('on this machine', where, allowPrivateHint)
  return url
}

/**
 * Returns true if the address of a source names this machine: `http://127.0.0.1:8000/…`, `localhost` or `[::1]`. A pipeline file may
 * have such an address without `allow_private` (docs/decisions/loopback-sources.md). Other spellings of these addresses, and names or
 * redirects that lead to them, are rejected, because they may hide the real target.
 */
export function namesThisMachine(text: string): boolean {
  return /^https?:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?([/?]|$)/.test(text)
}

/**
 * Returns a lookup that passes only allowed addresses to the connection. If a name has no allowed address, its error is a RunError
 * `SOURCE_REFUSED`. The name is resolved once per connection, so a later answer of the DNS has no effect. `resolve`: replaced by tests.
 */
export function checkedLookup(allowPrivate: boolean, resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return callback(error, [])
      const permitted = found.filter(({ address }) => !isForbiddenAddress(address))
      const usable = allowPrivate ? permitted : permitted.filter(({ address }) => !isPrivateAddress(address))
      const [first] = usable
      if (first === undefined) {
        const forbiddenAddress = found.find(({ address }) => isForbiddenAddress(address))
        return callback(
          forbiddenAddress === undefined ? privateNameError(hostname) : forbiddenError(forbiddenAddress.address, hostname),
          [],
        )
      }
      if (options.all === true) callback(null, usable)
      else callback(null, first.address, first.family)
    })
  }
}

/** Returns the address for messages: `?…` replaces the query, which often contains a secret key. */
export function safeLabel(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`
}

function privateNameError(hostname: string): RunError {
  return rejectionError('a name that leads to a private address', hostname, allowPrivateHint)
}

function forbiddenError(address: string, where: string): RunError {
  return rejectionError(
    `at ${address}, a link-local address or a metadata service`,
    where,
    'No setting allows such addresses; serve the feed at another one.',
  )
}

function rejectionError(problem: string, where: string, hint = 'Name an https address of the feed.'): RunError {
  return new RunError('SOURCE_REFUSED', `the source is ${problem}, which is not allowed`, { where, hint })
}
