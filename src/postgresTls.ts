/**
 * Writes out what the driver makes of an address: `prefer`, `require` and `verify-ca` verify certificate and host name. As they
 * stand it would do the same, with a warning of Node on stderr.
 */
export function verifyFully(address: string): string {
  if (!URL.canParse(address)) return address
  const url = new URL(address)
  const mode = url.searchParams.get('sslmode')
  if (mode === null || !['prefer', 'require', 'verify-ca'].includes(mode) || url.searchParams.get('uselibpqcompat') === 'true')
    return address
  url.searchParams.set('sslmode', 'verify-full')
  return url.href
}
