/**
 * Classifies the status and the errors of a response (its *envelope*), for every destination (docs/guarantees.md#confirmed-only).
 * `productAnswer.ts` and `userList.ts` match the results of a success to the sent records.
 */
import { redactServiceText } from '../redactServiceText.ts'
import type { Answer, Exchange } from '../service/client/exchange.ts'
import type { RequestOutcome } from './destination.ts'
import { isList, isObject, parseAnswer, readId, type Json, type JsonObject } from './json.ts'

export interface ServiceError {
  /** Code of the service as text (docs/spec-notes.md#errors); `ERROR` if there is none, or one that is not a text or integer. */
  readonly code: string
  /** Message after `redactServiceText`; empty if there is none. */
  readonly message: string
}

/** 2xx response whose body is a JSON object without errors. The caller classifies the body. */
export interface Success {
  readonly kind: 'success'
  readonly body: JsonObject
}

/**
 * Classifies an exchange by its status, structure and error codes, never by messages. `entryCount`: number of entries sent; an index in
 * `operation_errors` must be below it.
 */
export function classifyEnvelope(exchange: Exchange, entryCount: number): Success | RequestOutcome {
  switch (exchange.kind) {
    case 'not-sent':
      return { kind: 'retry', code: 'not-sent' }
    case 'lost':
      return ambiguous('connection-lost', { mayLandLater: exchange.status === undefined || mayBeOfGateway(exchange.status) })
    case 'answer':
      return classifyStatus(exchange, entryCount)
  }
}

/** Returns an ambiguous outcome. Fields that `more` lacks are false or empty. */
export function ambiguous(
  code: string,
  more: { suspectsRecord?: boolean; mayLandLater?: boolean; failing?: readonly number[] } = {},
): RequestOutcome {
  return {
    kind: 'ambiguous',
    code,
    suspectsRecord: more.suspectsRecord ?? false,
    mayLandLater: more.mayLandLater ?? false,
    failing: more.failing ?? [],
  }
}

/**
 * Returns the errors in a response: one object with `code` or `message`, or a list of such objects and strings (docs/spec-notes.md#errors).
 * Empty for null or a missing value; undefined for another shape.
 */
export function readErrors(value: Json | undefined): ServiceError[] | undefined {
  if (value === undefined || value === null) return []
  if (!isList(value) && !isObject(value)) return undefined
  const errors: ServiceError[] = []
  for (const item of isList(value) ? value : [value]) {
    const error = readError(item)
    if (error === undefined) return undefined
    errors.push(error)
  }
  return errors
}

/** Returns true for a status that a gateway may have sent: the request may still reach the service. */
function mayBeOfGateway(status: number): boolean {
  return status === 408 || status >= 500
}

/** Statuses that the service never sends. They come from a gateway, or from a server that did not wait for the whole request. */
const gatewayOnlyStatuses = new Set([408, 502, 504])

function classifyStatus(answer: Answer, entryCount: number): Success | RequestOutcome {
  const { status } = answer
  if (status === 429) return { kind: 'retry', code: 'rate-limited', status }
  if (status < 200 || (status >= 300 && status < 400)) return ambiguous(`http-${status}`)

  const body = readBody(answer)
  if (mayBeOfGateway(status)) {
    const isOfService = !gatewayOnlyStatuses.has(status) && body !== undefined && readFailure(body, entryCount) !== undefined
    return ambiguous(`http-${status}`, { mayLandLater: !isOfService })
  }
  if (status < 300) {
    if (body === undefined) return ambiguous('unreadable-answer')
    return classifySuccess(body, entryCount)
  }
  const failure = body === undefined ? undefined : readFailure(body, entryCount)
  // A record may be the cause of an unreadable refusal, but never of a 401, a 423 or a status in `notAboutRecords`.
  if (failure === undefined)
    return ambiguous(`http-${status}-unreadable`, { suspectsRecord: !notAboutRecords.has(status) && status !== 401 && status !== 423 })
  const { code, message } = failure.firstError
  if (status === 423) return { kind: 'retry', code: 'locked', status }
  if (status === 401) return { kind: 'retry', code, status }
  if (notAboutRecords.has(status) || (status === 400 && code === unreadableAuthentication))
    return { kind: 'pause', code, message, maybeApplied: false }
  return { kind: 'refused', code, message, failing: failure.failing }
}

/** Code of a 400 for missing or unreadable authentication data (docs/spec-notes.md#signing). */
const unreadableAuthentication = '215'

/** Statuses of errors about the destination, the access or the API version, and not about the records. */
const notAboutRecords = new Set([403, 404, 405, 410, 415])

/** Classifies a 2xx response. Errors without results mean that the whole request was refused. */
function classifySuccess(body: JsonObject, entryCount: number): Success | RequestOutcome {
  const hasErrors = hasContent(body['errors']) || hasContent(body['operation_errors'])
  if (!hasErrors) return { kind: 'success', body }
  if (body['data'] !== undefined && body['data'] !== null && !(Array.isArray(body['data']) && body['data'].length === 0)) {
    return ambiguous('errors-beside-results', { suspectsRecord: true })
  }
  const failure = readFailure(body, entryCount)
  if (failure === undefined) return ambiguous('unreadable-errors', { suspectsRecord: true })
  return { kind: 'refused', code: failure.firstError.code, message: failure.firstError.message, failing: failure.failing }
}

/**
 * Returns the first error and the indexes of failing entries; no indexes if the response does not show which entries fail. Undefined if
 * `errors` or `operation_errors` are not readable, or if both are empty.
 */
function readFailure(
  body: JsonObject,
  entryCount: number,
): { readonly firstError: ServiceError; readonly failing: readonly number[] } | undefined {
  const errors = readErrors(body['errors'])
  const operationErrors = body['operation_errors'] ?? []
  if (errors === undefined || !isList(operationErrors)) return undefined

  const failing: number[] = []
  let firstError = errors[0]
  for (const [index, item] of operationErrors.entries()) {
    // Each operation has either an array of errors, or one object or null (docs/spec-notes.md#audience-uploads).
    const errorsOfItem = readErrors(item === null ? [] : Array.isArray(item) ? item : [item])
    if (errorsOfItem === undefined) return undefined
    if (errorsOfItem.length === 0) continue
    firstError ??= errorsOfItem[0]
    failing.push(index)
  }
  if (firstError === undefined) return undefined
  if (entryCount === 1) return { firstError, failing: failing.filter((index) => index === 0) }
  // Errors for entries outside the request, or for all of several entries, do not show which entry failed.
  const showsFailing = failing.length < entryCount && failing.every((index) => index < entryCount)
  return { firstError, failing: showsFailing ? failing : [] }
}

/** Reads one error: a text, or an object with `code` or `message`. Undefined for any other value. */
function readError(item: Json): ServiceError | undefined {
  if (typeof item === 'string') return { code: 'ERROR', message: redactServiceText(item) }
  if (!isObject(item)) return undefined
  const { code, message } = item
  if (code === undefined && typeof message !== 'string') return undefined
  return {
    code: redactServiceText(typeof code === 'string' ? code : (readId(code) ?? '')) || 'ERROR',
    message: typeof message === 'string' ? redactServiceText(message) : '',
  }
}

/** Returns false if the value is missing, null, or a list that has only nulls and empty lists. */
function hasContent(value: Json | undefined): boolean {
  if (value === undefined || value === null) return false
  if (!isList(value)) return true
  return value.some((item) => !(item === null || (Array.isArray(item) && item.length === 0)))
}

/** Returns false if the `content-type` names another type or encoding than JSON in UTF-8. True without this header. */
export function isJson({ headers }: Answer): boolean {
  const type = headers['content-type']
  return type === undefined || (/\bjson\b/i.test(type) && !/charset=(?!"?utf-?8"?)/i.test(type))
}

function readBody(answer: Answer): JsonObject | undefined {
  if (!isJson(answer)) return undefined
  const parsed = parseAnswer(answer.body)
  return isObject(parsed) ? parsed : undefined
}
