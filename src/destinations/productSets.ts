/** Requests about product sets of a catalog, and their answers (spec 2.2, 4.2; docs/spec-notes.md#product-sets). */
import type { SetFilter } from '../model/pipeline.ts'
import type { Exchange, ExchangeRequest } from '../service/client/exchange.ts'
import type { LimitClass } from '../service/contract/rateLimits.ts'
import { classifyEnvelope } from './answer.ts'
import type { Target } from './destination.ts'
import { catalogEndpoints } from '../service/contract/catalogs.ts'
import { parameterOf } from '../service/contract/endpoint.ts'
import { endpointIn, maxItemsOf, requestOf } from './endpoints.ts'
import { isList, isObject, readCursor, readId, type Json, type JsonObject } from './json.ts'

const endpoints = {
  list: endpointIn(catalogEndpoints, 'productSets.list'),
  get: endpointIn(catalogEndpoints, 'productSets.get'),
  create: endpointIn(catalogEndpoints, 'productSets.create'),
  update: endpointIn(catalogEndpoints, 'productSets.update'),
  delete: endpointIn(catalogEndpoints, 'productSets.delete'),
}

/** Maximum number of products in a manual set. */
export const maxSetProducts = maxItemsOf(endpoints.create, 'product_keys')

/** Content of a set to send. A manual set has no `filters`, and a filtered set no `productKeys`. */
export interface SetContent {
  readonly name: string
  readonly description: string | null
  readonly type: 'MANUAL' | 'FILTERED'
  readonly filters: readonly SetFilter[]
  readonly productKeys: readonly string[]
}

/** Set in a listing. A value is null if it is missing, empty or not readable. */
export interface ListedSet {
  readonly id: string
  readonly name: string | null
  readonly description: string | null
  readonly type: string | null
  readonly filters: readonly SetFilter[] | null
}

/** Request about product sets. */
export interface SetRequest {
  readonly request: Pick<ExchangeRequest, 'method' | 'host' | 'path' | 'query' | 'body'>
  readonly limitClass: LimitClass
  /** False for a create, because two creates make two sets. */
  readonly repeatable: boolean
}

/** Returns the request of one page. `cursor`: undefined for the first page. */
export function requestToListSets(target: Target, cursor: string | undefined): SetRequest {
  const count = String(parameterOf(endpoints.list, 'count')?.max)
  return requestFor(endpoints.list, target, { query: { count, ...(cursor === undefined ? {} : { cursor }) } })
}

export function requestToGetSet(target: Target, setId: string): SetRequest {
  return requestFor(endpoints.get, target, { setId })
}

export function requestToCreateSet(target: Target, content: SetContent): SetRequest {
  const { name, description, type, filters, productKeys } = content
  const members = type === 'MANUAL' ? { product_keys: productKeys } : { filters }
  return requestFor(endpoints.create, target, { body: { name, ...(description === null ? {} : { description }), type, ...members } })
}

/** Returns the request that changes name and description, and the products of a manual set. Type and filters cannot be changed. */
export function requestToUpdateSet(target: Target, setId: string, { name, description, type, productKeys }: SetContent): SetRequest {
  return requestFor(endpoints.update, target, {
    setId,
    body: { name, description, ...(type === 'MANUAL' ? { product_keys: productKeys } : {}) },
  })
}

export function requestToDeleteSet(target: Target, setId: string): SetRequest {
  return requestFor(endpoints.delete, target, { setId })
}

function requestFor(
  endpoint: (typeof endpoints)[keyof typeof endpoints],
  target: Target,
  parts: { readonly setId?: string; readonly query?: Readonly<Record<string, string>>; readonly body?: object },
): SetRequest {
  const { method, path } = requestOf(endpoint, target.version, {
    product_catalog_id: target.targetId,
    product_set_id: parts.setId ?? '',
  })
  return {
    request: {
      method,
      host: 'ads',
      path,
      ...(parts.query === undefined ? {} : { query: parts.query }),
      ...(parts.body === undefined ? {} : { body: Buffer.from(JSON.stringify(parts.body)) }),
    },
    limitClass: endpoint.limit,
    repeatable: endpoint !== endpoints.create,
  }
}

/** Classified answer to a request about product sets. */
export type SetAnswer =
  | { readonly kind: 'done'; readonly body: JsonObject }
  /** Not applied. The request may be sent again. */
  | { readonly kind: 'again'; readonly reason: string }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly status?: number }
  /** May or may not be applied. */
  | { readonly kind: 'ambiguous'; readonly reason: string }

export function classifySetAnswer(exchange: Exchange): SetAnswer {
  const envelope = classifyEnvelope(exchange, 0)
  const status = exchange.kind === 'answer' ? { status: exchange.status } : {}
  switch (envelope.kind) {
    case 'success':
      return { kind: 'done', body: envelope.body }
    case 'retry':
      return { kind: 'again', reason: envelope.code }
    case 'pause':
    case 'refused':
      return { kind: 'refused', code: envelope.code, reason: envelope.message, ...status }
    case 'ambiguous':
      return { kind: 'ambiguous', reason: envelope.code }
    case 'entries':
      throw new Error('an envelope has no entries')
  }
}

/** Returns the id of the set in an answer; undefined if the answer has none. */
export function readSetId(body: JsonObject): string | undefined {
  const data = body['data']
  return isObject(data) ? readId(data['id']) : undefined
}

/**
 * Reads a page of sets. Returns undefined if the list, the cursor or the id of a set is not readable: an incomplete listing proves nothing.
 */
export function readSetPage(body: JsonObject): { readonly sets: readonly ListedSet[]; readonly cursor: string | undefined } | undefined {
  const data = body['data'] === null ? [] : body['data']
  const cursor = readCursor(body)
  if (!isList(data) || cursor === undefined) return undefined
  const sets: ListedSet[] = []
  for (const item of data) {
    const id = isObject(item) ? readId(item['id']) : undefined
    if (id === undefined || !isObject(item)) return undefined
    sets.push({
      id,
      name: readText(item['name']),
      description: readText(item['description']),
      type: readText(item['type']),
      filters: readFilters(item['filters']),
    })
  }
  return { sets, cursor: cursor ?? undefined }
}

function readFilters(value: Json | undefined): readonly SetFilter[] | null {
  if (!isList(value)) return null
  const filters: SetFilter[] = []
  for (const item of value) {
    if (!isObject(item)) return null
    const { attribute, operator, value: compared } = item
    if (typeof attribute !== 'string' || typeof operator !== 'string' || (typeof compared !== 'string' && typeof compared !== 'number'))
      return null
    filters.push({ attribute, operator, value: String(compared) })
  }
  return filters
}

function readText(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
