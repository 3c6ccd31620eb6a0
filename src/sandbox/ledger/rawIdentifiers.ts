/** Detects raw emails and phone numbers in texts that may contain only digests (docs/sandbox.md#violations). */

/** Returns true if the text contains `name@host.tld`, raw or percent-encoded. */
export function looksLikeEmail(text: string): boolean {
  return (text.includes('@') || text.includes('%40')) && /[^\s"'<>@=&?/]+(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)+/i.test(text)
}

/** Returns true for a number of at most 15 digits with a plus sign, separators or a leading zero. Other numbers are ids. */
export function looksLikePhone(text: string): boolean {
  return (
    /^\s*(?:\+|%2B|00)?[\s(]*\d[\d\s().-]{6,20}\d\s*$/i.test(text) &&
    text.replaceAll(/\D/g, '').length <= 15 &&
    /[+\s().-]|%2B|^0/i.test(text)
  )
}
