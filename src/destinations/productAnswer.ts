/** Matches the results of products in an answer to the products of the request (spec 4.2). */
import { cutText } from '../cutText.ts'
import { redactServiceText } from '../redactServiceText.ts'
import type { Exchange } from '../service/client/exchange.ts'
import { ambiguous, classifyEnvelope, readErrors } from './answer.ts'
import type { EntryOutcome, Operation, RequestOutcome, SentEntry } from './destination.ts'
import { isObject, readId, type Json, type JsonObject } from './json.ts'

/** Classifies a response to a put or a delete of products. */
export function classifyProducts(exchange: Exchange, sent: readonly SentEntry[], op: Operation): RequestOutcome {
  const envelope = classifyEnvelope(exchange, sent.length)
  if (op === 'delete' && envelope.kind === 'pause' && exchange.kind === 'answer' && exchange.status === 404 && sent.length > 1) {
    // The 404 may be about a key and not about the catalog (docs/faults.md, C4), so the batch is split instead of a pause.
    return { kind: 'refused', code: envelope.code, message: envelope.message, failing: [] }
  }
  if (envelope.kind !== 'success') return envelope
  const data = envelope.body['data']
  const results = isObject(data) ? data[op === 'upsert' ? 'products_response' : 'delete_products'] : undefined
  if (!Array.isArray(results)) return ambiguous('wrong-shape', { suspectsRecord: true })
  const entries = op === 'upsert' ? classifyPuts(results, sent) : classifyDeletes(results, sent)
  // If the results name none of the sent records, a split may show which record is the cause.
  const code = unnamedCodes[op]
  if (entries.every((entry) => entry.outcome === 'ambiguous' && entry.code === code)) return ambiguous(code, { suspectsRecord: true })
  return { kind: 'entries', entries }
}

/** Code of a sent record that the response does not name. */
const unnamedCodes = { upsert: 'id-missing', delete: 'key-missing' } as const

/**
 * Returns the outcome of each product, found by its id and never by position. The outcome is ambiguous if the id does not occur exactly
 * once, or its status is unknown (docs/guarantees.md#match-by-identity).
 */
function classifyPuts(results: readonly Json[], sent: readonly SentEntry[]): EntryOutcome[] {
  const byId = indexById(results, (result) => [result['id']])
  return sent.map(({ id }) => {
    const [result, ...others] = byId.get(id ?? '') ?? []
    if (result === undefined) return { outcome: 'ambiguous', code: unnamedCodes.upsert }
    if (others.length > 0) return { outcome: 'ambiguous', code: 'id-doubled' }
    return classifyProduct(result)
  })
}

function classifyProduct(result: JsonObject): EntryOutcome {
  const errors = readErrors(result['errors'])
  const status = result['status']
  if (errors === undefined) return { outcome: 'ambiguous', code: 'wrong-shape' }
  const key = readId(result['product_key'])
  const remoteKey = key === undefined ? {} : { remoteKey: key }
  if (status === 'ERROR') {
    return {
      outcome: 'refused',
      ...remoteKey,
      code: errors[0]?.code ?? 'ERROR',
      message: cutText(errors.map((error) => error.message).join('; '), 300) || 'refused without a reason',
    }
  }
  if (status !== 'CREATE_SUCCESS' && status !== 'UPDATE_SUCCESS' && status !== 'NO_CHANGE')
    return { outcome: 'ambiguous', code: 'unknown-status' }
  if (errors.length > 0) return { outcome: 'ambiguous', code: 'success-with-errors' }
  const warnings = readErrors(result['warnings'])?.map((warning) => warning.message) ?? []
  return { outcome: 'confirmed', ...remoteKey, ...(warnings.length === 0 ? {} : { warnings }) }
}

/**
 * Returns the outcome of each product key, found as `product_key` or `failed_product_key`. The outcome is ambiguous if the key does not
 * occur exactly once in the response (docs/guarantees.md#match-by-identity).
 */
function classifyDeletes(results: readonly Json[], sent: readonly SentEntry[]): EntryOutcome[] {
  const byKey = indexById(results, (result) => [result['product_key'], result['failed_product_key']])
  return sent.map(({ id }) => {
    const [result, ...others] = byKey.get(id ?? '') ?? []
    if (result === undefined) return { outcome: 'ambiguous', code: unnamedCodes.delete }
    if (others.length > 0) return { outcome: 'ambiguous', code: 'key-doubled' }
    const { failed_product_key: failed, product_key: deleted, message } = result
    // An unset key may be an empty text (docs/spec-notes.md#catalogs).
    if (failed === undefined || failed === null || failed === '') return { outcome: 'confirmed' }
    if (readId(failed) !== id || readId(deleted) !== undefined) return { outcome: 'ambiguous', code: 'key-contradicted' }
    return {
      outcome: 'refused',
      code: 'DELETE_FAILED',
      message: typeof message === 'string' ? redactServiceText(message) : 'the key was not deleted',
    }
  })
}

/** Indexes results by their ids. A result with one id in two fields is listed once. */
function indexById(results: readonly Json[], idsOf: (result: JsonObject) => readonly (Json | undefined)[]): Map<string, JsonObject[]> {
  const byId = new Map<string, JsonObject[]>()
  for (const result of results) {
    if (!isObject(result)) continue
    for (const id of new Set(idsOf(result).map(readId))) {
      if (id === undefined) continue
      const list = byId.get(id)
      if (list === undefined) byId.set(id, [result])
      else list.push(result)
    }
  }
  return byId
}
