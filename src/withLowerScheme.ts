/** Returns a source's address with its scheme in lower case. A scheme has at least two characters, unlike a Windows drive letter. */
export function withLowerScheme(address: string): string {
  return address.replace(/^[a-z][a-z0-9+.-]+:/i, (scheme) => scheme.toLowerCase())
}
