/** Rules that a single request can break, whatever the answer (docs/sandbox.md). */
import type { RequestContext } from '../http/requestContext.ts'
import type { Ledger } from './ledger.ts'
import { looksLikeEmail, looksLikePhone } from './rawIdentifiers.ts'

/** Limits of spec 8, and the one call that must never happen automatically: deleting a catalog without an operator's name. */
export function noteLimits(requestContext: RequestContext, ledger: Ledger): void {
  const { entry, endpoint, carried, json } = requestContext
  const violate = (rule: string, detail: string): void => ledger.violate(entry, entry.time, rule, detail)
  const { entries, bytes } = endpoint?.bodyLimit ?? {}
  if (endpoint?.name === 'products.put' && carried.items > 25) violate('over_25_products', `${carried.items} products`)
  if (entries !== undefined && Array.isArray(json) && json.length > entries)
    violate(`over_${entries}_operations`, `${json.length} operations`)
  if (bytes !== undefined && entry.bytes > bytes) violate(`over_${bytes}_bytes`, `${entry.bytes} bytes`)
  if (endpoint?.name === 'catalogs.delete' && requestContext.request.headers['x-operator'] === undefined)
    violate('catalog_delete_without_operator', 'no x-operator header names who wants it')
}

/** Raw emails and phone numbers in the address or a header. Bodies are looked at by their area. */
export function noteRawValues(requestContext: RequestContext, ledger: Ledger): void {
  const found = (place: string): void =>
    ledger.violate(requestContext.entry, requestContext.entry.time, 'raw_identifier', `looks like an email or phone in the ${place}`)
  if (looksLikeEmail(requestContext.rawPath)) found('path')
  if (requestContext.query.some(([, value]) => looksLikeEmail(value) || (value.startsWith('+') && looksLikePhone(value)))) found('query')
  const { headers } = requestContext.request
  for (const name in headers) {
    const value = headers[name]
    if (name !== 'authorization' && typeof value === 'string' && looksLikeEmail(value)) found(`header ${name}`)
  }
}
