/** Returns a product that the service accepts; `fields` change or add some of its fields. */
export function product(id: string, fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    id,
    title: 'A mug',
    description: 'Stoneware',
    availability: 'in stock',
    condition: 'new',
    price: '12.90 EUR',
    link: `https://shop.example/${id}`,
    image_link: `https://shop.example/${id}.jpg`,
    brand: 'Acme',
    ...fields,
  }
}
