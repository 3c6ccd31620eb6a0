/**
 * Parses addresses in products. Rejects invalid addresses even if a browser would correct them, because the merchant pays for every
 * click on a wrong address (docs/inputs.md, cases 81 to 86).
 */

/** Parsed link, or the reason why it is not valid. `toAscii`: its international host was written as an A-label (`xn--…`). */
export type LinkResult = { readonly link: string; readonly toAscii: boolean; readonly http: boolean } | { readonly invalid: string }

export const maxLinkLength = 2048

const simpleHost = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?$/
const letterEnd = /\.[a-zA-Z][a-zA-Z0-9-]*(?::\d{1,5})?$/

/**
 * Parses a trimmed absolute http(s) address: scheme in lower case, an international host as A-label and without a default port, the other
 * parts unchanged. `invalid` contains no part of the address.
 */
export function parseLink(text: string): LinkResult {
  return plainLink.test(text) && text.length <= maxLinkLength ? { link: text, toAscii: false, http: false } : parseAnyLink(text)
}

/** Matches most valid links: https in lower case, a host of ASCII labels, no port. */
const plainLink = /^https:\/\/(?:[a-zA-Z0-9][a-zA-Z0-9-]*\.)+[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:[/?#][^\s\u0000-\u001f\u007f\\<>"]*)?$/

/** Does the same as `parseLink`, without the shortcut `plainLink`. Exported so that a test can compare both. */
export function parseAnyLink(text: string): LinkResult {
  const scheme = /^https?:\/\//i.exec(text)?.[0]
  if (scheme === undefined) return { invalid: 'is not an absolute https address' }
  if (text.length > maxLinkLength) return { invalid: `is longer than ${maxLinkLength} characters` }
  if (/[\s\u0000-\u001f\u007f\\<>"]/.test(text)) return { invalid: 'contains spaces or characters that are not allowed in an address' }
  const end = text.slice(scheme.length).search(/[/?#]/)
  const authority = end < 0 ? text.slice(scheme.length) : text.slice(scheme.length, scheme.length + end)
  const rest = text.slice(scheme.length + authority.length)
  if (authority.includes('@')) return { invalid: 'contains credentials or hides its host behind an @' }
  const http = scheme.length === 7
  const start = http ? 'http://' : 'https://'
  if (simpleHost.test(authority) && letterEnd.test(authority) && !authority.includes('..'))
    return { link: `${start}${authority}${rest}`, toAscii: false, http }
  const url = URL.parse(`${start}${authority}/`)
  if (url === null || url.hostname === '' || /%/.test(authority)) return { invalid: 'does not have a valid host' }
  const toAscii = /[^\u0000-\u007f]/.test(authority)
  const link = toAscii ? `${start}${url.host}${rest}` : `${start}${authority}${rest}`
  return link.length > maxLinkLength ? { invalid: `is longer than ${maxLinkLength} characters` } : { link, toAscii, http }
}

/** Returns the host of a parsed link, in lower case, without its port. */
export function hostOf(link: string): string {
  return (/^https?:\/\/([^/?#:]+)/.exec(link)?.[1] ?? '').toLowerCase()
}

const imageTypes = /\.(?:jpe?g|gif|webp|png)$/i
const otherTypes = /\.(?:svgz?|bmp|tiff?|ico|avif|heic|heif|psd|pdf|eps|ai|mp4|mov|webm|avi|html?|zip)$/i

export type ImageResult =
  | { readonly link: string; readonly http: boolean; readonly encoded: boolean; readonly typeKnown: boolean }
  | { readonly invalid: string }

/**
 * Parses a trimmed image address. Percent-encodes spaces and commas: a comma separates the addresses of a list. `typeKnown`: the path ends
 * with an accepted image type.
 */
export function parseImage(text: string): ImageResult {
  const encodedText = text.includes(' ') || text.includes(',') ? text.replace(/ /g, '%20').replace(/,/g, '%2C') : text
  const parsed = parseLink(encodedText)
  if ('invalid' in parsed) return { invalid: parsed.invalid.replace('https ', '') }
  const { link, http } = parsed
  const path = link.includes('?') || link.includes('#') ? link.replace(/[?#].*$/s, '') : link
  const typeKnown = imageTypes.test(path)
  if (!typeKnown && otherTypes.test(path)) return { invalid: 'is not a JPG, GIF, WEBP or PNG' }
  return { link, http, encoded: encodedText !== text, typeKnown }
}

/** Splits a list at commas and spaces, but only where another address begins (docs/inputs.md, case 171). */
export function splitImages(text: string): string[] {
  return text.split(/\s*,\s*(?=https?:\/\/)|\s+(?=https?:\/\/)/i)
}
