/** Detects raw emails and phone numbers in requests. Only their digests are allowed (docs/sandbox.md#violations). */

/** Returns true if the text contains `name@host.tld`, with a raw or percent-encoded `@`. */
export function looksLikeEmail(text: string): boolean {
  return (
    (text.includes('@') || text.includes('%40')) && /(?<![^\s"'<>@=&?/])[^\s"'<>@=&?/]+(?:@|%40)[a-z0-9-]+(?:\.[a-z0-9-]+)+/i.test(text)
  )
}

/** Returns true for 8 to 15 digits with a plus sign, a separator or a leading zero. Digits without any of these may be an id. */
export function looksLikePhone(text: string): boolean {
  const number = text.trim().replace(/^%2B/i, '+')
  const digits = number.replaceAll(/\D/g, '').length
  return /^(?:\+|00)?[\s(]*\d[\d\s().-]{6,20}\d$/.test(number) && digits >= 8 && digits <= 15 && /[+\s().-]|^0/.test(number)
}

/**
 * Returns true for a text that is almost certainly a phone number. It passes `looksLikePhone`, is not a date (`2026-11-21`, `21-11-2026`),
 * and one of these is true:
 * - It begins with a plus sign or two zeros.
 * - It contains an opening parenthesis.
 * - It has the digit groups of a phone number.
 */
export function isWrittenAsPhone(text: string): boolean {
  return (
    looksLikePhone(text) &&
    !/^\s*\d\d-\d\d-\d{4}\s*$/.test(text) &&
    (/^\s*(?:\+|%2B|00[1-9])/i.test(text) ||
      text.includes('(') ||
      /^\s*(?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}\s*$/.test(text) ||
      /^\s*0\d{1,4}[\s-]\d/.test(text))
  )
}
