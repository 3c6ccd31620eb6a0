/** Detection of clear emails and phone numbers where only digests belong (docs/sandbox.md). */

/** Looks like `name@host.tld`, raw or percent-encoded. */
export function looksLikeEmail(text: string): boolean {
  return (text.includes('@') || text.includes('%40')) && /[^\s"'<>@=&?/]+(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)+/i.test(text)
}

/** Looks like a phone number with its plus sign or separators: digits alone are ids. */
export function looksLikePhone(text: string): boolean {
  return (
    /^\s*(?:\+|%2B|00)?[\s(]*\d[\d\s().-]{6,20}\d\s*$/i.test(text) &&
    text.replaceAll(/\D/g, '').length <= 15 &&
    /[+\s().-]|%2B|^0/i.test(text)
  )
}
