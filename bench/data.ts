/** Writes invented data of any size: a customer export and a product feed. Equal arguments give equal bytes. */
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'

const areaCodes = [
  201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228, 229, 231, 234, 239, 240, 248, 251,
  252, 253, 254, 256, 260, 262, 267, 269, 270, 276, 281, 301, 302, 303, 304, 305, 307, 308, 309, 310, 312, 313, 314, 315, 316, 317, 318,
  319, 320, 321, 323, 325, 330, 334, 336, 337, 339, 347, 351, 352, 360, 361, 386, 401, 402, 404, 405, 406, 407, 408, 409, 410, 412, 413,
  414, 415, 417, 419, 423, 425, 430, 432, 434, 435, 440, 443, 469, 478, 479, 480, 484, 501, 502, 503, 504, 505, 507, 508, 509, 510, 512,
  513, 515, 516, 517, 518, 520, 530, 540, 541, 551, 559, 561, 562,
]

/** Number of customers that get different phone numbers. A larger file has a second email address instead, so that no identifier is shared. */
export const customersWithPhone = 1_200_000

/** Returns another number for each of `customersWithPhone`, with the exchange 555, which has no subscribers. */
export function phoneOf(at: number): string {
  const line = String(Math.floor(at / areaCodes.length) % 10_000).padStart(4, '0')
  return `+1-${areaCodes[at % areaCodes.length]}-555-${line}`
}

export interface CustomerFile {
  readonly rows: number
  /** Every nth row gets a changed email. */
  readonly changeEvery?: number
}

/** Writes customers with four quoted fields and names outside ASCII; about 98 bytes per row. */
export async function writeCustomers(file: string, { rows, changeEvery = 0 }: CustomerFile): Promise<void> {
  const hasPhone = rows <= customersWithPhone
  await write(
    file,
    `customer_id,email,${hasPhone ? 'phone' : 'second_email'},name\n`,
    rows,
    (at) => {
      const changed = changeEvery > 0 && at % changeEvery === 0 ? 'new.' : ''
      return `"${100_000 + at}","${changed}person${at}@example.com","${hasPhone ? phoneOf(at) : `second${at}@example.com`}","Zoë Ünïcode ${at} of Example Street"\n`
    },
    '',
  )
}

/** Writes a feed of Google-Shopping RSS, about 1.4 kB per item. Every nth item has another price. */
export async function writeFeed(file: string, items: number, changeEvery = 0): Promise<void> {
  const text = 'Stoneware with <b>glaze</b>, 0.3 l, dishwasher safe. '.repeat(16)
  await write(
    file,
    '<?xml version="1.0"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>\n',
    items,
    (at) => {
      const cents = changeEvery > 0 && at % changeEvery === 0 ? '49' : '99'
      return `<item><g:id>SKU${at}</g:id><g:title>Mug ${at} &amp; saucer</g:title><g:description><![CDATA[${text}]]></g:description><g:link>https://shop.example.com/p/${at}</g:link><g:image_link>https://shop.example.com/i/${at}.jpg</g:image_link><g:price>${1 + (at % 100)}.${cents} USD</g:price><g:availability>in stock</g:availability><g:brand>Brand ${at % 50}</g:brand><g:condition>new</g:condition><g:google_product_category>Home &amp; Garden &gt; Kitchen</g:google_product_category></item>\n`
    },
    '</channel></rss>\n',
  )
}

export async function write(file: string, head: string, rows: number, row: (at: number) => string, tail: string): Promise<void> {
  const out = createWriteStream(file)
  let block = head
  for (let at = 0; at < rows; at++) {
    block += row(at)
    if (block.length < 1_000_000) continue
    if (!out.write(block)) await new Promise<void>((resolve) => out.once('drain', () => resolve()))
    block = ''
  }
  out.end(block + tail)
  await finished(out)
}
