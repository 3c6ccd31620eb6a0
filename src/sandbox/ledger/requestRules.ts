/** Checks the rules that concern one request alone, and records violations (docs/sandbox.md#violations). */
import type { RequestContext } from '../http/requestContext.ts'
import type { Ledger } from './ledger.ts'
import { looksLikeEmail, looksLikePhone } from './rawIdentifiers.ts'

/** Checks the maximum numbers of products, operations and bytes of a request (spec 8). */
export function checkLimits(context: RequestContext, ledger: Ledger): void {
  const { entry, endpoint, content, json } = context
  const recordViolation = (rule: string, detail: string): void => ledger.recordViolation(entry, entry.time, rule, detail)
  const { entries, bytes } = endpoint?.bodyLimit ?? {}
  const products = endpoint?.name === 'products.put' ? endpoint.parameters.find(({ name }) => name === 'products')?.maxItems : undefined
  if (products !== undefined && content.items > products) recordViolation(`over_${products}_products`, `${content.items} products`)
  if (entries !== undefined && Array.isArray(json) && json.length > entries)
    recordViolation(`over_${entries}_operations`, `${json.length} operations`)
  if (bytes !== undefined && entry.bytes > bytes) recordViolation(`over_${bytes}_bytes`, `${entry.bytes} bytes`)
}

/** Checks that a DELETE of a catalog has the header `x-operator`. Only a person may delete a catalog. */
export function checkOperator({ entry, endpoint, request }: RequestContext, ledger: Ledger): void {
  if (endpoint?.name === 'catalogs.delete' && request.headers['x-operator'] === undefined)
    ledger.recordViolation(entry, entry.time, 'catalog_delete_without_operator', 'no x-operator header names the operator')
}

/**
 * Checks path, query and headers for raw emails, except the header `authorization`. Checks query values for phone numbers, but only those
 * with a plus sign: other digits may be ids or times. The audiences area checks the bodies of uploads.
 */
export function checkRawIdentifiers(context: RequestContext, ledger: Ledger): void {
  const found = (place: string, type = 'email'): void =>
    ledger.recordViolation(context.entry, context.entry.time, 'raw_identifier', `looks like an ${type} in the ${place}`)
  if (looksLikeEmail(context.rawPath)) found('path')
  if (context.query.some(([, value]) => looksLikeEmail(value) || (value.startsWith('+') && looksLikePhone(value))))
    found('query', 'email or phone')
  const { headers } = context.request
  for (const name in headers) {
    const value = headers[name]
    if (name !== 'authorization' && typeof value === 'string' && looksLikeEmail(value)) found(`header ${name}`)
  }
}
