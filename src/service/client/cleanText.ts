/**
 * Out with digests, e-mail addresses, phone numbers and control characters; 300 characters at most. Every word of the
 * service goes through here before it is kept, shown or logged: it may repeat what it was sent (docs/guarantees.md#no-raw-identifier-at-rest).
 */
export function cleanText(value: string): string {
  return value
    .slice(0, 2_000)
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .replace(/[0-9a-f]{64}/gi, '[digest]')
    .replace(/[^\s"'<>@]+@[^\s"'<>@]+/g, '[email]')
    .replace(/\+\d[\d ().-]{6,}\d/g, '[phone]')
    .slice(0, 300)
    .trim()
}
