/** Product feeds and their expected products, written independently. All data is invented. */

export interface Product {
  readonly id: string
  readonly title: string
  /** As the feed writes it. */
  readonly price: string
  /** As it should be sent. */
  readonly sent: string
  readonly availability: string
  readonly group?: string
  readonly images?: readonly string[]
}

export function products(count: number, from = 0): Product[] {
  return Array.from({ length: count }, (_, i) => goodProduct(from + i))
}

export function goodProduct(n: number, price = 100 + (n % 9_000)): Product {
  const exact = `${Math.floor(price / 100)}.${String(price % 100).padStart(2, '0')}`
  return {
    id: `SKU-${n}`,
    title: `Shirt №${n} & tie`,
    // Trailing zeros are the same price.
    price: n % 3 === 0 ? `${exact}0 EUR` : `${exact} EUR`,
    sent: `${exact} EUR`,
    availability: n % 7 === 0 ? 'out of stock' : 'in stock',
    ...(n % 5 === 0 ? { group: `G-${Math.floor(n / 20)}` } : {}),
    ...(n % 11 === 0 ? { images: [`https://shop.example.com/${n}b.jpg`, `https://shop.example.com/${n}c.jpg`] } : {}),
  }
}

/** The fields that the service should hold. */
export function expectedProduct({ id, title, sent, availability, group, images }: Product): Record<string, unknown> {
  return {
    id,
    title,
    availability,
    description: `All about ${id}`,
    link: `https://shop.example.com/${id}`,
    image_link: `https://shop.example.com/${id}.jpg`,
    price: sent,
    brand: 'Acme',
    mpn: `M-${id}`,
    condition: 'new',
    ...(group === undefined ? {} : { item_group_id: group }),
    ...(images === undefined ? {} : { additional_image_link: images.join(',') }),
  }
}

/** One item on several lines; `spoil` may change or remove a line. */
export function item(product: Product, spoil: (line: string) => string = (line) => line): string {
  const { id, title, price, availability, group, images = [] } = product
  const elements: [string, string][] = [
    ['id', id],
    ['title', title.replace('&', '&amp;')],
    ['description', `All about ${id}`],
    ['link', `https://shop.example.com/${id}`],
    ['image_link', `https://shop.example.com/${id}.jpg`],
    ['price', price],
    ['availability', availability.replaceAll(' ', '_')],
    ['brand', 'Acme'],
    ['mpn', `M-${id}`],
    ['condition', 'new'],
    ...(group === undefined ? [] : [['item_group_id', group] as [string, string]]),
    ...images.map((image): [string, string] => ['additional_image_link', image]),
  ]
  return ['<item>', ...elements.map(([name, value]) => `  <g:${name}>${value}</g:${name}>`), '</item>']
    .map(spoil)
    .filter(Boolean)
    .join('\n')
}

export function rss(items: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0">\n<channel>\n<title>Shop</title>\n${items.join('\n')}\n</channel>\n</rss>\n`
}
