/** Checks limits, the operator of a catalog's DELETE, and raw identifiers outside the body (docs/sandbox.md#violations). */
import type { RequestContext } from '../http/requestContext.ts'
import type { Ledger } from './ledger.ts'
import { looksLikeEmail, looksLikePhone } from './rawIdentifiers.ts'

/** Checks the limits of batched requests (spec 8). */
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

/** Checks that the DELETE of a catalog names its operator, because only a person may delete one. */
export function checkOperator({ entry, endpoint, request }: RequestContext, ledger: Ledger): void {
  if (endpoint?.name === 'catalogs.delete' && request.headers['x-operator'] === undefined)
    ledger.recordViolation(entry, entry.time, 'catalog_delete_without_operator', 'no x-operator header names the operator')
}

/**
 * Checks the address and the headers except `authorization` for raw emails, and query values that start with a plus sign for phone numbers.
 * Other digits may be ids or times. The audiences area checks bodies.
 */
export function checkRawIdentifiers(context: RequestContext, ledger: Ledger): void {
  const found = (place: string, looks = 'email'): void =>
    ledger.recordViolation(context.entry, context.entry.time, 'raw_identifier', `looks like an ${looks} in the ${place}`)
  if (looksLikeEmail(context.rawPath)) found('path')
  if (context.query.some(([, value]) => looksLikeEmail(value) || (value.startsWith('+') && looksLikePhone(value))))
    found('query', 'email or phone')
  const { headers } = context.request
  for (const name in headers) {
    const value = headers[name]
    if (name !== 'authorization' && typeof value === 'string' && looksLikeEmail(value)) found(`header ${name}`)
  }
}
