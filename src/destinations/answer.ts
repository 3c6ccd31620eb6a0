/** Classifies responses for every destination: status, error bodies, and what they prove (docs/guarantees.md). */
import { cleanText } from '../service/client/cleanText.ts'
import type { Answer, Exchange } from '../service/client/exchange.ts'
import type { RequestOutcome } from './destination.ts'
import { isObject, parseAnswer, type Json, type JsonObject, isList } from './json.ts'

export interface ServiceError {
  /** Code from the service; integers become text (docs/spec-notes.md#errors). */
  readonly code: string
  /** Cleaned of digests and control characters, at most 300 characters. */
  readonly message: string
}

/** 2xx response whose body is one JSON object without errors: the destination classifies it. */
export interface Success {
  readonly kind: 'success'
  readonly body: JsonObject
}

/**
 * Classifies an exchange by status and structure, never by text. Returns a success with its body for the destination to classify.
 * `entryCount`: number of entries sent, which limits the indexes in `operation_errors`.
 */
export function classifyEnvelope(exchange: Exchange, entryCount: number): Success | RequestOutcome {
  switch (exchange.kind) {
    case 'not-sent':
      return { kind: 'retry', reason: 'not-sent' }
    case 'lost':
      return ambiguous('connection-lost', { mayLandLater: exchange.status === undefined })
    case 'answer':
      return classifyStatus(exchange, entryCount)
  }
}

export function ambiguous(
  reason: string,
  more: { miscounted?: boolean; mayLandLater?: boolean; failing?: readonly number[] } = {},
): RequestOutcome {
  return {
    kind: 'ambiguous',
    reason,
    miscounted: more.miscounted ?? false,
    mayLandLater: more.mayLandLater ?? false,
    failing: more.failing ?? [],
  }
}

/**
 * Returns the errors of one result in any form of docs/spec-notes.md#errors and #catalogs: strings, or objects with `code` and
 * `message`.
 */
export function readErrors(value: Json | undefined): ServiceError[] | undefined {
  if (value === undefined || value === null) return []
  if (!isList(value)) return undefined
  const errors: ServiceError[] = []
  for (const item of value) {
    const error = readError(item)
    if (error === undefined) return undefined
    errors.push(error)
  }
  return errors
}

function classifyStatus(answer: Answer, entryCount: number): Success | RequestOutcome {
  const { status } = answer
  if (status === 429) return { kind: 'retry', reason: 'rate-limited', status }
  // A gateway timed out, or the server did not wait for the body: the bytes of the request may still arrive.
  if (status === 408 || status === 502 || status === 504) return ambiguous(`http-${status}`, { mayLandLater: true })
  if (status < 200 || (status >= 300 && status < 400) || status >= 500) return ambiguous(`http-${status}`)

  const body = readBody(answer)
  if (status < 300) {
    if (body === undefined) return ambiguous('unreadable-answer')
    return classifySuccess(body, entryCount)
  }
  const errors = body === undefined ? undefined : readFailure(body, entryCount)
  // One record may be the cause of an unreadable refusal, so the batch may be split after three of them. Not for errors about the
  // caller.
  if (errors === undefined)
    return ambiguous(`http-${status}-unreadable`, { miscounted: !aboutTheCaller.has(status) && status !== 401 && status !== 423 })
  const { code, message } = errors.first
  if (status === 423) return { kind: 'retry', reason: 'locked', status }
  if (status === 401) return { kind: 'retry', reason: code, status }
  if (aboutTheCaller.has(status) || (status === 400 && code === '215')) return { kind: 'pause', code, reason: message }
  return { kind: 'refused', code, reason: message, failing: errors.failing }
}

/** Statuses of errors about the destination, the access or the API version, and not about the records. */
const aboutTheCaller = new Set([403, 404, 405, 410, 415])

function classifySuccess(body: JsonObject, entryCount: number): Success | RequestOutcome {
  const hasErrors = filled(body['errors']) || filled(body['operation_errors'])
  if (!hasErrors) return { kind: 'success', body }
  if (body['data'] !== undefined && body['data'] !== null && !(Array.isArray(body['data']) && body['data'].length === 0)) {
    return ambiguous('errors-beside-results')
  }
  const errors = readFailure(body, entryCount)
  if (errors === undefined) return ambiguous('unreadable-errors')
  return { kind: 'refused', code: errors.first.code, reason: errors.first.message, failing: errors.failing }
}

/** Returns undefined if there are no readable `errors` or `operation_errors`. */
function readFailure(
  body: JsonObject,
  entryCount: number,
): { readonly first: ServiceError; readonly failing: readonly number[] } | undefined {
  const listed = body['errors']
  const errors = listed === undefined || listed === null ? [] : readErrors(listed)
  const operations = body['operation_errors'] ?? []
  if (errors === undefined || !isList(operations)) return undefined

  const failing: number[] = []
  let first = errors[0]
  for (const [index, item] of operations.entries()) {
    // Either an array of errors for each operation, or one object or null for each (docs/spec-notes.md#audience-uploads).
    const own = readErrors(item === null ? [] : Array.isArray(item) ? item : [item])
    if (own === undefined) return undefined
    if (own.length === 0) continue
    first ??= own[0]
    failing.push(index)
  }
  if (first === undefined) return undefined
  // Errors for entries outside the request, or for all entries, do not show which entry failed.
  const usable = failing.length < entryCount && failing.every((index) => index < entryCount)
  return { first, failing: usable || entryCount === 1 ? failing.filter((index) => index < entryCount) : [] }
}

function readError(item: Json): ServiceError | undefined {
  if (typeof item === 'string') return { code: 'ERROR', message: cleanText(item) }
  if (!isObject(item)) return undefined
  const { code, message } = item
  if (code === undefined && typeof message !== 'string') return undefined
  return {
    code: code === undefined || code === null ? 'ERROR' : cleanText(String(code)),
    message: typeof message === 'string' ? cleanText(message) : '',
  }
}

function filled(value: Json | undefined): boolean {
  if (value === undefined || value === null) return false
  if (!isList(value)) return true
  return value.some((item) => !(item === null || (Array.isArray(item) && item.length === 0)))
}

/** Returns false if the response names another type or encoding than JSON in UTF-8. */
export function isJson({ headers }: Answer): boolean {
  const type = headers['content-type']
  return type === undefined || (/\bjson\b/i.test(type) && !/charset=(?!"?utf-?8"?)/i.test(type))
}

function readBody(answer: Answer): JsonObject | undefined {
  if (!isJson(answer)) return undefined
  const parsed = parseAnswer(answer.body)
  return isObject(parsed) ? parsed : undefined
}
