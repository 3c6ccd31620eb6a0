/**
 * Replaces the modes `prefer`, `require` and `verify-ca` of an address by `verify-full`. The driver treats them alike, but warns about
 * the first three on stderr.
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
