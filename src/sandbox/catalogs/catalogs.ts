/** Handles the endpoints of catalogs (spec 2.2, 4.2; docs/spec-notes.md#catalogs). */
import type { Call, Handler } from '../area.ts'
import { FIXED_USER } from '../firstIds.ts'
import { listReply } from '../lists.ts'
import { recordOfParam } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { textOf } from '../text.ts'
import { newCatalog, type Catalog, type CatalogState } from './state.ts'

export const catalogHandlers: Readonly<Record<string, Handler<CatalogState>>> = {
  'catalogs.list': (call) => listReply(call, catalogsOf(call, callerId(call)), { render: catalogWire }),
  'catalogs.create': (call) => {
    const userId = callerId(call)
    if (catalogsOf(call, userId).length > 0) throw adsRefusal('ACTION_NOT_ALLOWED', 'A user can have only one product catalog')
    const catalog = newCatalog(call.world.newId(), userId, String(call.params['name']))
    call.state.catalogs.set(catalog.id, catalog)
    return ok(catalogWire(catalog))
  },
  'catalogs.update': (call) => {
    const catalog = catalogOf(call)
    catalog.name = String(call.params['name'])
    echoAsId(call, 'product_catalog_id')
    return ok(catalogWire(catalog))
  },
  'catalogs.delete': (call) => {
    const catalog = catalogOf(call)
    call.state.catalogs.delete(catalog.id)
    echoAsId(call, 'product_catalog_id')
    return ok(catalogWire(catalog))
  },
}

/** Returns the catalog that the path names. @throws {Refusal} 404 for an unknown catalog, 403 for a catalog of another user */
export function catalogOf(call: Call<CatalogState>): Catalog {
  const catalog = recordOfParam(call, 'product_catalog_id', call.state.catalogs)
  if (call.user !== undefined && catalog.userId !== call.user.id)
    throw adsRefusal('ACTION_NOT_ALLOWED', `Product catalog ${catalog.id} belongs to another user`, { parameter: 'product_catalog_id' })
  return catalog
}

/** Renames the parameter `name` in the echo to `id`, as the service does in its answer with a single record. */
export function echoAsId(call: Call<CatalogState>, name: string): void {
  call.echo['id'] = call.echo[name]
  delete call.echo[name]
}

function catalogsOf(call: Call<CatalogState>, userId: string): Catalog[] {
  return [...call.state.catalogs.values()].filter((catalog) => catalog.userId === userId)
}

/** Returns the id of the caller. @throws {Refusal} if the parameter `user_id` names another user */
function callerId(call: Call<CatalogState>): string {
  const own = call.user?.id ?? FIXED_USER
  const given = call.params['user_id']
  if (given === undefined || textOf(given) === own) return own
  if (call.world.users.has(textOf(given)))
    throw adsRefusal('ACTION_NOT_ALLOWED', 'The catalogs of another user are not accessible', { parameter: 'user_id' })
  throw adsRefusals([invalidParameter('user_id', 'the authenticated user', textOf(given))])
}

function catalogWire(catalog: Catalog): { id: string; name: string } {
  return { id: catalog.id, name: catalog.name }
}
