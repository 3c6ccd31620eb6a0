/**
 * Parses addresses in products (docs/inputs.md, cases 81 to 86). Rejects an invalid address even if a browser would correct it: the
 * merchant pays for every click. Exception: spaces and commas in image addresses are encoded.
 */

/** Parsed link, or the reason why it is not valid. `isHostEncoded`: true if an international host was changed to A-labels (`xn--…`). */
export type LinkResult = { readonly link: string; readonly isHostEncoded: boolean; readonly isHttp: boolean } | { readonly invalid: string }

/** Maximum length of an address in characters. */
export const maxLinkLength = 2048

// A host that matches both patterns and has no `..` needs no check by `URL`. A port of five digits does not match, because it may be too
// high.
const simpleAuthority = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,4})?$/
const lastLabel = /\.[a-zA-Z][a-zA-Z0-9-]*(?::\d{1,4})?$/

/**
 * Parses a trimmed absolute address of http or https. The reason contains no part of the address. The result has
 * - the scheme in lower case
 * - an international host in A-labels, without its default port
 * - no port 80 of http, because an upgrade to https would keep it
 */
export function parseLink(text: string): LinkResult {
  return plainLink.test(text) && text.length <= maxLinkLength ? { link: text, isHostEncoded: false, isHttp: false } : parseLinkInFull(text)
}

/** Matches most valid links: https in lower case, a host of ASCII labels, no port. */
const plainLink = /^https:\/\/(?:[a-zA-Z0-9][a-zA-Z0-9-]*\.)+[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:[/?#][^\s\u0000-\u001f\u007f\\<>"]*)?$/

/** Parses as `parseLink`, without its shortcut. Exported so that a test can compare both. */
export function parseLinkInFull(text: string): LinkResult {
  const scheme = /^https?:\/\//i.exec(text)?.[0]
  if (scheme === undefined) return { invalid: 'is not an absolute https address' }
  if (text.length > maxLinkLength) return { invalid: `is longer than ${maxLinkLength} characters` }
  if (/[\s\u0000-\u001f\u007f\\<>"]/.test(text)) return { invalid: 'contains spaces or characters that are not allowed in an address' }
  const afterScheme = text.slice(scheme.length)
  const authorityEnd = afterScheme.search(/[/?#]/)
  const givenAuthority = authorityEnd < 0 ? afterScheme : afterScheme.slice(0, authorityEnd)
  const rest = afterScheme.slice(givenAuthority.length)
  if (givenAuthority.includes('@')) return { invalid: 'contains credentials or hides its host behind an @' }
  const isHttp = scheme.length === 'http://'.length
  const authority = isHttp ? givenAuthority.replace(/:80$/, '') : givenAuthority
  const lowerScheme = isHttp ? 'http://' : 'https://'
  if (simpleAuthority.test(authority) && lastLabel.test(authority) && !authority.includes('..'))
    return { link: `${lowerScheme}${authority}${rest}`, isHostEncoded: false, isHttp }
  const url = URL.parse(`${lowerScheme}${authority}/`)
  // `URL` accepts empty labels (`a..b`), which DNS does not have, and decodes `%`.
  if (url === null || url.hostname === '' || /%|\.\.|^\./.test(authority)) return { invalid: 'does not have a valid host' }
  const isHostEncoded = /[^\u0000-\u007f]/.test(authority)
  const link = isHostEncoded ? `${lowerScheme}${url.host}${rest}` : `${lowerScheme}${authority}${rest}`
  return link.length > maxLinkLength ? { invalid: `is longer than ${maxLinkLength} characters` } : { link, isHostEncoded, isHttp }
}

/** Returns the host of a parsed link, in lower case, without its port. */
export function hostOf(link: string): string {
  return (/^https?:\/\/([^/?#:]+)/.exec(link)?.[1] ?? '').toLowerCase()
}

const acceptedTypes = /\.(?:jpe?g|gif|webp|png)$/i
const rejectedTypes = /\.(?:svgz?|bmp|tiff?|ico|avif|heic|heif|psd|pdf|eps|ai|mp4|mov|webm|avi|html?|zip)$/i

/**
 * Parsed image address, or the reason why it is not valid. `isEncoded`: true if spaces or commas were percent-encoded. `isTypeKnown`: true
 * if the path ends with an accepted image type.
 */
export type ImageResult =
  | { readonly link: string; readonly isHttp: boolean; readonly isEncoded: boolean; readonly isTypeKnown: boolean }
  | { readonly invalid: string }

/**
 * Parses a trimmed image address as `parseLink`, and percent-encodes its spaces and commas: commas separate the addresses of a list.
 * Rejects a path that ends with one of `rejectedTypes`.
 */
export function parseImage(text: string): ImageResult {
  const encodedText = text.includes(' ') || text.includes(',') ? text.replace(/ /g, '%20').replace(/,/g, '%2C') : text
  const parsed = parseLink(encodedText)
  // An image may be http: `is not an absolute https address` loses its `https`.
  if ('invalid' in parsed) return { invalid: parsed.invalid.replace('https ', '') }
  const { link, isHttp } = parsed
  const path = link.includes('?') || link.includes('#') ? link.replace(/[?#].*$/s, '') : link
  const isTypeKnown = acceptedTypes.test(path)
  if (!isTypeKnown && rejectedTypes.test(path)) return { invalid: 'is not a JPG, GIF, WEBP or PNG' }
  return { link, isHttp, isEncoded: encodedText !== text, isTypeKnown }
}

/** Splits a list of addresses at `,`, `;`, `|` and spaces, but only before another http or https address (docs/inputs.md, case 171). */
export function splitImages(text: string): string[] {
  return text.split(/(?<!\s)\s*[,;|]\s*(?=https?:\/\/)|(?<!\s)\s+(?=https?:\/\/)/i)
}
