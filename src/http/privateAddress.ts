/** Recognizes addresses that a source may not have, or may have only with `allow_private`. */
import { BlockList, isIP } from 'node:net'

/** Private and reserved address ranges (IANA registries). */
const privateRanges = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  privateRanges.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  privateRanges.addSubnet(network, prefix, 'ipv6')
}

/**
 * Link-local addresses, and addresses of metadata services of clouds. The metadata services return credentials of the machine, and none of
 * these addresses ever serves a feed. 169.254.0.0/16 is for AWS, Azure, Google, OpenStack and most others. The other addresses are of
 * Alibaba, Azure's wire server and Oracle.
 */
const metadata4 = [
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
] as const

/** Link-local addresses and metadata services in IPv6: AWS, Google. */
const metadata6 = [
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
] as const

const forbiddenRanges = new BlockList()
for (const [network, prefix] of metadata6) forbiddenRanges.addSubnet(network, prefix, 'ipv6')
for (const [network, prefix] of metadata4) {
  forbiddenRanges.addSubnet(network, prefix, 'ipv4')
  // The same addresses in IPv6: compatible, mapped, NAT64, 6to4.
  const [a = 0, b = 0, c = 0, d = 0] = network.split('.').map(Number)
  const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  for (const start of ['::', '::ffff:', '64:ff9b::']) forbiddenRanges.addSubnet(start + groups, 96 + prefix, 'ipv6')
  forbiddenRanges.addSubnet(`2002:${groups}::`, 16 + prefix, 'ipv6')
}

/** Returns true for a link-local address or a metadata service, which no setting allows. Returns false for a name. */
export function isForbiddenAddress(address: string): boolean {
  const { bare, family } = bareAddress(address)
  return family !== 0 && forbiddenRanges.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Returns true for an address that is loopback, private, link-local, CGNAT, multicast, reserved, or an IPv4 address mapped to IPv6.
 * Returns true for a name too.
 */
export function isPrivateAddress(address: string): boolean {
  const { bare, family } = bareAddress(address)
  if (family === 0) return true
  // Every mapped address (::ffff:a.b.c.d) counts as private, because its only use in a URL is to hide an address.
  if (family === 6 && /^::ffff:/i.test(bare)) return true
  return privateRanges.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/** Returns the address without brackets and zone. `family`: 4, 6, or 0 for a text that is not an address. */
function bareAddress(address: string): { readonly bare: string; readonly family: number } {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  return { bare, family: isIP(bare) }
}
