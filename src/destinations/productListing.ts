/** Listing of the products of a catalog (spec 4.2, 2.2). */
import type { Exchange } from '../service/client/exchange.ts'
import { classifyEnvelope } from './answer.ts'
import type { ListedProduct, Listing, ListingAnswer, Target } from './destination.ts'
import { catalogEndpoints } from '../service/contract/catalogs.ts'
import { parameterOf } from '../service/contract/endpoint.ts'
import { endpointIn, requestOf } from './endpoints.ts'
import { isList, isObject, readCursor, readId, type JsonObject } from './json.ts'

const list = endpointIn(catalogEndpoints, 'products.list')

export const productListing: Listing = { limitClass: list.limit, request, classify }

function request(target: Target, cursor: string | undefined): ReturnType<Listing['request']> {
  const { method, path } = requestOf(list, target.version, { product_catalog_id: target.targetId })
  return {
    method,
    host: 'ads',
    path,
    query: { count: String(parameterOf(list, 'count')?.max), ...(cursor === undefined ? {} : { cursor }) },
  }
}

/** Classifies the response with a page. One product without a readable id makes the whole page unusable. */
function classify(exchange: Exchange): ListingAnswer {
  const envelope = classifyEnvelope(exchange, 0)
  switch (envelope.kind) {
    case 'success':
      return readPage(envelope.body)
    case 'retry':
      return { kind: 'again', reason: envelope.code, ...(envelope.status === undefined ? {} : { status: envelope.status }) }
    case 'pause':
    case 'refused':
      return { kind: 'refused', code: envelope.code, reason: envelope.message }
    case 'ambiguous':
      return { kind: 'again', reason: envelope.code }
    case 'entries':
      throw new Error('an envelope has no entries')
  }
}

function readPage(body: JsonObject): ListingAnswer {
  // An empty list may be null.
  const data = body['data'] === null ? [] : body['data']
  const cursor = readCursor(body)
  if (!isList(data) || cursor === undefined) return { kind: 'again', reason: 'wrong-shape' }
  const products: ListedProduct[] = []
  for (const fields of data) {
    const id = isObject(fields) ? readId(fields['id']) : undefined
    if (id === undefined || !isObject(fields)) return { kind: 'again', reason: 'wrong-shape' }
    products.push({ id, productKey: readId(fields['product_key']) ?? null, fields })
  }
  return { kind: 'page', products, cursor: cursor ?? undefined }
}
