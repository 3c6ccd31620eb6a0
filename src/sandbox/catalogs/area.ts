/** Defines the catalogs area (spec 2.2, 4.2; docs/spec-notes.md#catalogs), and the control API's calls that show catalogs. */
import { createHash } from 'node:crypto'
import { ControlText, defineArea } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { catalogHandlers } from './catalogs.ts'
import { feedHandlers } from './feeds.ts'
import type { StoredProduct } from './productRules.ts'
import { productHandlers } from './products.ts'
import { setHandlers } from './sets.ts'
import { createCatalogState, type Catalog, type Product } from './state.ts'

export const catalogsArea = defineArea({
  ref: areaRefs.catalogs,
  createState: createCatalogState,
  handlers: { ...catalogHandlers, ...productHandlers, ...setHandlers, ...feedHandlers },
  control: {
    'GET /_sandbox/catalogs': ({ state, rest }) => {
      const catalog = state.catalogs.get(rest[0] ?? '')
      if (catalog === undefined) return undefined
      if (rest[1] === undefined) return { products: catalog.products.size, digest: catalogDigest(catalog) }
      if (rest[1] !== 'products') return undefined
      return new ControlText(
        sortedById(catalog)
          .values()
          .map((product) => `${JSON.stringify(withServiceKeys(product))}\n`),
      )
    },
  },
})

/** Returns one SHA-256, in hex, over a line `id TAB JSON LF` for each product, in the order of `sortedById`. */
function catalogDigest(catalog: Catalog): string {
  const digest = createHash('sha256')
  for (const product of sortedById(catalog)) digest.update(`${String(product.fields['id'])}\t${canonicalJson(product.fields)}\n`)
  return digest.digest('hex')
}

function sortedById(catalog: Catalog): Product[] {
  return [...catalog.products.values()]
    .map((product) => ({ product, bytes: Buffer.from(String(product.fields['id'])) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ product }) => product)
}

/** Returns the fields of a product as they were written, and its generated keys. */
function withServiceKeys(product: Product): Record<string, unknown> {
  return { ...product.fields, product_key: product.key, ...(product.groupKey === null ? {} : { item_group_key: product.groupKey }) }
}

function canonicalJson(fields: StoredProduct): string {
  return JSON.stringify(fields, Object.keys(fields).sort())
}
