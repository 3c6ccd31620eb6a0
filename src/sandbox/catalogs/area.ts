/** Defines the catalogs area (spec 2.2, 4.2; docs/spec-notes.md#catalogs), and the calls of the control API for catalogs. */
import { createHash } from 'node:crypto'
import { ControlText, defineArea, type Call, type Reply } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { FIXED_USER } from '../firstIds.ts'
import { listReply } from '../lists.ts'
import { adsRefusal, adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { canonicalJson, catalogOf, deleteProducts, listProducts, putProducts } from './products.ts'
import { createFeed, createSet, deleteFeed, deleteSet, getFeed, getSet, listFeeds, listSets, updateFeed, updateSet } from './sets.ts'
import { createCatalogState, newCatalog, type Catalog, type CatalogState, type Product } from './state.ts'
import { textOf } from '../text.ts'

type CatalogCall = Call<CatalogState>

export const catalogsArea = defineArea({
  ref: areaRefs.catalogs,
  createState: createCatalogState,
  handlers: {
    'catalogs.list': listCatalogs,
    'catalogs.create': createCatalog,
    'catalogs.update': updateCatalog,
    'catalogs.delete': deleteCatalog,
    'products.list': listProducts,
    'products.put': putProducts,
    'products.delete': deleteProducts,
    'productSets.list': listSets,
    'productSets.get': getSet,
    'productSets.create': createSet,
    'productSets.update': updateSet,
    'productSets.delete': deleteSet,
    'scheduledFeeds.list': listFeeds,
    'scheduledFeeds.get': getFeed,
    'scheduledFeeds.create': createFeed,
    'scheduledFeeds.update': updateFeed,
    'scheduledFeeds.delete': deleteFeed,
  },
  control: {
    'GET /_sandbox/catalogs': ({ state, rest }) => {
      const catalog = state.catalogs.get(rest[0] ?? '')
      if (catalog === undefined) return undefined
      if (rest[1] === undefined) return { products: catalog.products.size, digest: catalogDigest(catalog) }
      return rest[1] === 'products'
        ? new ControlText(
            sortedById(catalog)
              .values()
              .map((product) => JSON.stringify(line(product)) + '\n'),
          )
        : undefined
    },
  },
})

/** Returns the SHA-256 of the lines `id TAB JSON LF`, sorted bytewise by id, in hex. The JSON is that of `canonicalJson`. */
function catalogDigest(catalog: Catalog): string {
  const digest = createHash('sha256')
  for (const product of sortedById(catalog)) digest.update(`${String(product.fields['id'])}\t${canonicalJson(product.fields)}\n`)
  return digest.digest('hex')
}

/** Returns the products, sorted bytewise by id. */
function sortedById(catalog: Catalog): Product[] {
  return [...catalog.products.values()]
    .map((product) => ({ product, bytes: Buffer.from(String(product.fields['id'])) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ product }) => product)
}

/** Returns the fields of a product as written, with its generated keys. */
function line(product: Product): Record<string, unknown> {
  return { ...product.fields, product_key: product.key, ...(product.groupKey === null ? {} : { item_group_key: product.groupKey }) }
}

function listCatalogs(call: CatalogCall): Reply {
  const userId = userOf(call)
  return listReply(
    call,
    [...call.state.catalogs.values()].filter((catalog) => catalog.userId === userId),
    { render: catalogWire },
  )
}

function createCatalog(call: CatalogCall): Reply {
  const userId = userOf(call)
  if ([...call.state.catalogs.values()].some((catalog) => catalog.userId === userId))
    throw adsRefusal('ACTION_NOT_ALLOWED', 'A user can have only one product catalog')
  const catalog = newCatalog(call.world.newId(), userId, String(call.params['name']))
  call.state.catalogs.set(catalog.id, catalog)
  return ok(catalogWire(catalog))
}

function updateCatalog(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  catalog.name = String(call.params['name'])
  echoAsId(call)
  return ok(catalogWire(catalog))
}

function deleteCatalog(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  call.state.catalogs.delete(catalog.id)
  echoAsId(call)
  return ok(catalogWire(catalog))
}

/** Returns the id of the caller, whose catalogs the call lists or creates. @throws {Refusal} for another `user_id` */
function userOf(call: CatalogCall): string {
  const own = call.user?.id ?? FIXED_USER
  const given = call.params['user_id']
  if (given !== undefined && textOf(given) !== own) {
    if (call.world.users.has(textOf(given)))
      throw adsRefusal('ACTION_NOT_ALLOWED', 'The catalogs of another user are not accessible', { parameter: 'user_id' })
    throw adsRefusals([invalidParameter('user_id', 'the authenticated user', textOf(given))])
  }
  return own
}

/** Renames `product_catalog_id` in the echo to `id`, as the service does in answers with a single catalog. */
function echoAsId(call: CatalogCall): void {
  call.echo['id'] = call.echo['product_catalog_id']
  delete call.echo['product_catalog_id']
}

function catalogWire(catalog: Catalog): { id: string; name: string } {
  return { id: catalog.id, name: catalog.name }
}
