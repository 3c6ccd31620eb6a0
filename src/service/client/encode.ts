/** Percent-encoding of OAuth 1.0a, for URLs, form bodies and signatures (docs/spec-notes.md#signing). */

/** Encodes all characters except `A-Za-z0-9-._~` as UTF-8 with upper-case hex. A lone surrogate becomes U+FFFD. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Encodes pairs as `a=1&b=2`, in their order. A space is `%20`. */
export function encodePairs(pairs: Iterable<readonly [string, string]>): string {
  let text = ''
  for (const [name, value] of pairs) text += `${text === '' ? '' : '&'}${percentEncode(name)}=${percentEncode(value)}`
  return text
}

/** Decodes the pairs of a query or form body. `+` and `%20` both mean a space. A name without `=` has an empty value. */
export function decodePairs(text: string): [string, string][] {
  return text === '' ? [] : [...new URLSearchParams(text)]
}
