/** Percent-encoding as OAuth 1.0a wants it, everywhere: in URLs, form bodies and signatures alike (docs/spec-notes.md#signing 'Encoding'). */

/** All but `A-Za-z0-9-._~`, as UTF-8 with upper-case hex. A lone surrogate becomes U+FFFD instead of an exception. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** `a=1&b=2`, in the order given; a space is `%20`, never `+`. */
export function encodePairs(pairs: Iterable<readonly [string, string]>): string {
  let text = ''
  for (const [name, value] of pairs) text += `${text === '' ? '' : '&'}${percentEncode(name)}=${percentEncode(value)}`
  return text
}

/** The pairs of a query string or form body: `+` and `%20` are both a space, a name alone has an empty value. */
export function decodePairs(text: string): [string, string][] {
  return text === '' ? [] : [...new URLSearchParams(text)]
}
