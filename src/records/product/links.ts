/** Addresses in products. Strict on purpose: what a browser forgives, a page of ads sends money to (bad-inputs 81 to 86). */

export type LinkResult = { readonly link: string; readonly toAscii: boolean; readonly http: boolean } | { readonly invalid: string }

export const maxLinkLength = 2048

const simpleHost = /^[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d{1,5})?$/
const letterEnd = /\.[a-zA-Z][a-zA-Z0-9-]*(?::\d{1,5})?$/

/**
 * A trimmed absolute http(s) address as it will be sent: scheme in lower case, international host as A-label, the rest
 * untouched. `invalid` says why in words that repeat nothing of the address.
 */
export function parseLink(text: string): LinkResult {
  const scheme = /^https?:\/\//i.exec(text)?.[0]
  if (scheme === undefined) return { invalid: 'is no absolute https address' }
  if (text.length > maxLinkLength) return { invalid: `is longer than ${maxLinkLength} characters` }
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  if (/[\s\u0000-\u001f\u007f\\<>"]/.test(text)) return { invalid: 'holds blanks or characters that no address may hold' }
  const end = text.slice(scheme.length).search(/[/?#]/)
  const authority = end < 0 ? text.slice(scheme.length) : text.slice(scheme.length, scheme.length + end)
  const rest = text.slice(scheme.length + authority.length)
  if (authority.includes('@')) return { invalid: 'holds credentials or hides its host behind an @' }
  const http = scheme.length === 7
  const start = http ? 'http://' : 'https://'
  if (simpleHost.test(authority) && letterEnd.test(authority) && !authority.includes('..'))
    return { link: `${start}${authority}${rest}`, toAscii: false, http }
  const url = URL.parse(`${start}${authority}/`)
  if (url === null || url.hostname === '' || /%/.test(authority)) return { invalid: 'has no valid host' }
  // oxlint-disable-next-line no-control-regex -- control characters are what it looks for
  const toAscii = /[^\u0000-\u007f]/.test(authority)
  const link = toAscii ? `${start}${url.host}${rest}` : `${start}${authority}${rest}`
  return link.length > maxLinkLength ? { invalid: `is longer than ${maxLinkLength} characters` } : { link, toAscii, http }
}

/** Host of a link that `parseLink` gave, in lower case, without its port. */
export function hostOf(link: string): string {
  return (/^https?:\/\/([^/?#:]+)/.exec(link)?.[1] ?? '').toLowerCase()
}

const imageTypes = /\.(?:jpe?g|gif|webp|png)$/i
const otherTypes = /\.(?:svgz?|bmp|tiff?|ico|avif|heic|heif|psd|pdf|eps|ai|mp4|mov|webm|avi|html?|zip)$/i

export type ImageResult =
  | { readonly link: string; readonly http: boolean; readonly encoded: boolean; readonly typeKnown: boolean }
  | { readonly invalid: string }

/** An image address: blanks and commas are encoded (the list is joined by commas), the type is judged by the path's ending. */
export function parseImage(text: string): ImageResult {
  const encodedText = text.includes(' ') || text.includes(',') ? text.replace(/ /g, '%20').replace(/,/g, '%2C') : text
  const parsed = parseLink(encodedText)
  if ('invalid' in parsed) return { invalid: parsed.invalid.replace('https ', '') }
  const path = parsed.link.replace(/[?#].*$/s, '')
  if (otherTypes.test(path)) return { invalid: 'is no JPG, GIF, WEBP or PNG' }
  return { link: parsed.link, http: parsed.http, encoded: encodedText !== text, typeKnown: imageTypes.test(path) }
}

/** Texts of a comma-joined list, split only where another address begins (bad-inputs 171). */
export function splitImages(text: string): string[] {
  return text.split(/\s*,\s*(?=https?:\/\/)|\s+(?=https?:\/\/)/i)
}
