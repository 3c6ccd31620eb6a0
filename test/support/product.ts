/** A product that the service takes as it is; `fields` change or add some of it. */
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
