/** Checks the rules that one request alone can break, whatever its answer (docs/sandbox.md#violations). */
import type { RequestContext } from '../http/requestContext.ts'
import type { Ledger } from './ledger.ts'
import { looksLikeEmail, looksLikePhone } from './rawIdentifiers.ts'

/** Checks the limits of spec 8, and that the DELETE of a catalog names its operator: no program may delete one on its own. */
export function checkLimits(context: RequestContext, ledger: Ledger): void {
  const { entry, endpoint, content, json } = context
  const recordViolation = (rule: string, detail: string): void => ledger.recordViolation(entry, entry.time, rule, detail)
  const { entries, bytes } = endpoint?.bodyLimit ?? {}
  if (endpoint?.name === 'products.put' && content.items > 25) recordViolation('over_25_products', `${content.items} products`)
  if (entries !== undefined && Array.isArray(json) && json.length > entries)
    recordViolation(`over_${entries}_operations`, `${json.length} operations`)
  if (bytes !== undefined && entry.bytes > bytes) recordViolation(`over_${bytes}_bytes`, `${entry.bytes} bytes`)
  if (endpoint?.name === 'catalogs.delete' && context.request.headers['x-operator'] === undefined)
    recordViolation('catalog_delete_without_operator', 'no x-operator header names the operator')
}

/** Checks the address and the headers for raw emails and phone numbers. The areas check bodies. */
export function checkRawIdentifiers(context: RequestContext, ledger: Ledger): void {
  const found = (place: string): void =>
    ledger.recordViolation(context.entry, context.entry.time, 'raw_identifier', `looks like an email or phone in the ${place}`)
  if (looksLikeEmail(context.rawPath)) found('path')
  if (context.query.some(([, value]) => looksLikeEmail(value) || (value.startsWith('+') && looksLikePhone(value)))) found('query')
  const { headers } = context.request
  for (const name in headers) {
    const value = headers[name]
    if (name !== 'authorization' && typeof value === 'string' && looksLikeEmail(value)) found(`header ${name}`)
  }
}
