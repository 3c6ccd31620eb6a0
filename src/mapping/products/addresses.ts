/** Reads the addresses of a product: page, mobile page and images. */
import { isBroken, trimText } from '../text.ts'
import { hostOf, maxLinkLength, parseImage, parseLink, splitImages } from './links.ts'
import { RowRejected, type ProductRow } from './productRow.ts'
import { commonPlaceholders } from './vocabulary.ts'

const maxImages = 10

/**
 * Returns the link as it is sent. `options.allow: [upgrade_http]` changes http to https.
 *
 * @throws {RowRejected} if the link is missing, broken or invalid, or is http without that option
 * @throws {TransformError} if a transform fails
 */
export function linkOf(row: ProductRow): string {
  const text = row.requiredText('link')
  const parsed = parseLink(text)
  if ('invalid' in parsed) throw new RowRejected('LINK_INVALID', 'link', parsed.invalid)
  if (parsed.isHostEncoded) row.warn('LINK_HOST_ASCII', 'link', 'has an international host')
  const { linkHosts } = row.rules.options
  if (linkHosts !== undefined && !linkHosts.includes(hostOf(parsed.link)))
    row.warn('LINK_HOST_OTHER', 'link', 'has a host that is not in options.link_hosts')
  if (!parsed.isHttp) return parsed.link
  if (!row.rules.allowed.has('upgrade_http')) throw new RowRejected('LINK_NOT_HTTPS', 'link', 'is http, https is required')
  const link = `https${parsed.link.slice(4)}`
  if (link.length > maxLinkLength) throw new RowRejected('LINK_INVALID', 'link', `is longer than ${maxLinkLength} characters with https`)
  row.warn('LINK_UPGRADED', 'link', 'was changed to https')
  return link
}

/**
 * Returns the mobile link; undefined for an empty cell. Also undefined, with a warning, for a placeholder, a failed transform, an invalid
 * link or http.
 *
 * @throws {RowRejected} if the text is broken (`isBroken`)
 */
export function mobileLinkOf(row: ProductRow): string | undefined {
  const text = row.optionalText('mobile_link')
  if (text === undefined) return undefined
  const parsed = parseLink(text)
  if ('invalid' in parsed || parsed.isHttp) {
    row.warn('MOBILE_LINK_DROPPED', 'mobile_link', 'invalid' in parsed ? parsed.invalid : 'is http, https is required')
    return undefined
  }
  return parsed.link
}

/**
 * Returns the address of the main image as it is sent: the first of a list. Warns about the others, unless the additional images read the
 * same column.
 *
 * @throws {RowRejected} if the address is missing, broken or invalid, or is http and `options.refuse` names http_image
 * @throws {TransformError} if a transform fails
 */
export function imageOf(row: ProductRow): string {
  const [first = '', ...others] = splitImageList(row.requiredText('image_link'))
  const parsed = parseImage(first)
  if ('invalid' in parsed) throw new RowRejected('IMAGE_INVALID', 'image_link', parsed.invalid)
  if (parsed.isHttp && row.rules.httpImagesRejected)
    throw new RowRejected('IMAGE_NOT_HTTPS', 'image_link', 'is http, options.refuse requires https')
  // Of repeated elements or a list, `requiredText` may have returned only one text.
  const cell = row.rawRow.cells[row.binding.image_link?.indexes[0] ?? -1]
  const otherCount = typeof cell === 'object' ? new Set(cell.map(trimText).flatMap(splitImageList)).size - 1 : others.length
  if (otherCount > 0 && !sharesImageColumn(row))
    row.warn('IMAGES_DROPPED', 'image_link', `lost ${otherCount} addresses: only the first one is the image`)
  if (parsed.isHttp) row.warn('IMAGE_HTTP', 'image_link', 'is http')
  if (parsed.isEncoded) row.warn('IMAGE_ENCODED', 'image_link', 'contained spaces or commas')
  if (!parsed.isTypeKnown) row.warn('IMAGE_TYPE_UNKNOWN', 'image_link', 'does not show its type')
  return parsed.link
}

/**
 * Returns the addresses of a list. Does not split a list that begins with an address of an image service and another address behind a comma:
 * `https://img.example/fetch/w_300,https://shop.example/a.jpg`. Such an address has no spaces, and has transform parameters before the
 * comma.
 */
function splitImageList(text: string): readonly string[] {
  const images = splitImages(text).filter((image) => image !== '')
  const first = images[0] ?? ''
  if (/\s/.test(text) || !transformEnd.test(first)) return images
  const parsed = parseImage(first)
  const isImage = 'isTypeKnown' in parsed && parsed.isTypeKnown
  return isImage ? images : [text]
}

/** Matches an address that ends with parameters of an image transform, such as `/w_300,h_200`. */
const transformEnd = /\/[a-z]{1,3}_[^/,?]+(?:,[a-z]{1,3}_[^/,?]+)*$/i

/**
 * Returns up to `maxImages` additional images, joined by commas. `main`: address of the main image. Drops placeholders. Drops `main`, and
 * invalid, repeated and further addresses, with a warning. Exception: drops `main` without one if both fields read a common column.
 */
export function additionalImagesOf(row: ProductRow, main: string): string | undefined {
  const cell = row.cell('additional_image_link')
  if (cell === undefined || cell === '') return undefined
  const texts = typeof cell === 'string' ? splitImageList(cell) : cell.flatMap(splitImageList)
  const images: string[] = []
  let droppedCount = 0
  let hasEncoded = false
  for (const text of texts) {
    const trimmed = trimText(text)
    if (trimmed === '' || commonPlaceholders.has(trimmed.toLowerCase())) continue
    const parsed = isBroken(trimmed) ? { invalid: 'broken' } : parseImage(trimmed)
    const isRejected = 'invalid' in parsed || (parsed.isHttp && row.rules.httpImagesRejected)
    // If both fields share a column, the main image may come from it, which is no fault.
    if (!isRejected && parsed.link === main && sharesImageColumn(row)) continue
    if (isRejected || parsed.link === main || images.includes(parsed.link) || images.length === maxImages) droppedCount += 1
    else {
      images.push(parsed.link)
      hasEncoded ||= parsed.isEncoded
    }
  }
  if (droppedCount > 0)
    row.warn(
      'IMAGES_DROPPED',
      'additional_image_link',
      `lost ${droppedCount} addresses: invalid, not allowed, repeated or beyond the tenth`,
    )
  if (hasEncoded) row.warn('IMAGE_ENCODED', 'additional_image_link', 'contained spaces or commas')
  return images.length === 0 ? undefined : images.join(',')
}

function sharesImageColumn(row: ProductRow): boolean {
  const main = row.binding.image_link?.indexes ?? []
  return row.binding.additional_image_link?.indexes.some((index) => main.includes(index)) === true
}
