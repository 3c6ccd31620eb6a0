/**
 * Replaces `sslmode=prefer`, `require` and `verify-ca` in an address by `verify-full`. The driver treats all four alike, but warns about
 * the first three on stderr. With `uselibpqcompat=true` it distinguishes them, so the address stays as it is.
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
