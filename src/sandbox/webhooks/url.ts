/** Checks whether a URL may be registered as a webhook (spec 6.1 rule 2). Pure. */
import { BlockList, isIP } from 'node:net'
import { isLoopback } from '../../loopback.ts'

// IPv4 rules match IPv4-mapped IPv6 addresses too (node:net, `BlockList.check`).
const notPublic = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  notPublic.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  notPublic.addSubnet(network, prefix, 'ipv6')

/**
 * Returns why the URL is refused; undefined if it is accepted. `allowsDevUrls`: also accepts loopback hosts, with http or https and any
 * port.
 */
export function webhookUrlProblem(text: string, allowsDevUrls: boolean): string | undefined {
  if (!URL.canParse(text)) return 'the url must be a complete URL'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return 'the url must not contain credentials'
  if (url.hash !== '') return 'the url must not contain a fragment'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (allowsDevUrls && isLoopback(url.hostname) && (url.protocol === 'http:' || url.protocol === 'https:')) return undefined
  if (url.protocol !== 'https:') return 'the url must be https'
  // No port is allowed, not even `:443`, which the URL parser drops. So this also checks the text.
  if (url.port !== '' || /^https:[/\\]*[^/\\?#]*:\d*(?:[/\\?#]|$)/i.test(text.trim())) return 'the url must not contain a port'
  if (!isPublic(host)) return 'the url must be publicly reachable'
  return undefined
}

function isPublic(host: string): boolean {
  const version = isIP(host)
  if (version !== 0) return !notPublic.check(host, version === 6 ? 'ipv6' : 'ipv4')
  const name = host.replace(/\.$/, '')
  return name.includes('.') && !/\.(?:localhost|local|internal)$/i.test(name)
}
