/** What every destination reads alike in an exchange: status, error bodies, and what they prove (guarantees 1). */
import { cleanText } from '../service/client/cleanText.ts'
import type { Answer, Exchange } from '../service/client/exchange.ts'
import type { Judgement } from './destination.ts'
import { isObject, parseAnswer, type Json, type JsonObject } from './json.ts'

export interface ServiceError {
  /** As the service writes it; integers become text (spec/gaps.md 4 'Code type'). */
  readonly code: string
  /** Cleaned of digests and control characters, at most 300 characters. */
  readonly message: string
}

/** A 2xx whose body is one JSON object without errors: the destination's own to judge. */
export interface Success {
  readonly kind: 'success'
  readonly body: JsonObject
}

/**
 * Everything but a clean success is decided here, by status and structure, never by text. `entryCount` bounds what
 * `operation_errors` may point at.
 */
export function judgeEnvelope(exchange: Exchange, entryCount: number): Success | Judgement {
  switch (exchange.kind) {
    case 'not-sent':
      return { kind: 'retry', reason: 'not-sent' }
    case 'lost':
      return ambiguous('connection-lost', { mayLandLater: exchange.status === undefined })
    case 'answer':
      return judgeStatus(exchange, entryCount)
  }
}

export function ambiguous(
  reason: string,
  more: { miscounted?: boolean; mayLandLater?: boolean; guilty?: readonly number[] } = {},
): Judgement {
  return {
    kind: 'ambiguous',
    reason,
    miscounted: more.miscounted ?? false,
    mayLandLater: more.mayLandLater ?? false,
    guilty: more.guilty ?? [],
  }
}

/** The errors of one result in any form of spec/gaps.md 4 and 6: strings, or objects with `code` and `message`. */
export function readErrors(value: Json | undefined): ServiceError[] | undefined {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) return undefined
  const errors: ServiceError[] = []
  for (const item of value as readonly Json[]) {
    const error = readError(item)
    if (error === undefined) return undefined
    errors.push(error)
  }
  return errors
}

function judgeStatus(answer: Answer, entryCount: number): Success | Judgement {
  const { status } = answer
  if (status === 429) return { kind: 'retry', reason: 'rate-limited', status }
  // A gateway that gave up, and a server that did not wait for the body, prove nothing of what still travels behind it.
  if (status === 408 || status === 502 || status === 504) return ambiguous(`http-${status}`, { mayLandLater: true })
  if (status < 200 || (status >= 300 && status < 400) || status >= 500) return ambiguous(`http-${status}`)

  const body = readBody(answer)
  if (status < 300) {
    if (body === undefined) return ambiguous('unreadable-answer')
    return judgeSuccess(body, entryCount)
  }
  const errors = body === undefined ? undefined : readFailure(body, entryCount)
  // The same unreadable refusal thrice is one record's doing as likely as not, but only where records are judged at all.
  if (errors === undefined)
    return ambiguous(`http-${status}-unreadable`, { miscounted: !aboutTheCaller.has(status) && status !== 401 && status !== 423 })
  const { code, message } = errors.first
  if (status === 423) return { kind: 'retry', reason: 'locked', status }
  if (status === 401) return { kind: 'retry', reason: code, status }
  if (aboutTheCaller.has(status) || (status === 400 && code === '215')) return { kind: 'pause', code, reason: message }
  return { kind: 'refused', code, reason: message, guilty: errors.guilty }
}

/** Not the records' fault: the destination, its access or our version of the interface. */
const aboutTheCaller = new Set([403, 404, 405, 410, 415])

function judgeSuccess(body: JsonObject, entryCount: number): Success | Judgement {
  const hasErrors = filled(body['errors']) || filled(body['operation_errors'])
  if (!hasErrors) return { kind: 'success', body }
  if (body['data'] !== undefined && body['data'] !== null && !(Array.isArray(body['data']) && body['data'].length === 0)) {
    return ambiguous('errors-beside-results')
  }
  const errors = readFailure(body, entryCount)
  if (errors === undefined) return ambiguous('unreadable-errors')
  return { kind: 'refused', code: errors.first.code, reason: errors.first.message, guilty: errors.guilty }
}

/** Undefined: no `errors` or `operation_errors` that can be read. */
function readFailure(
  body: JsonObject,
  entryCount: number,
): { readonly first: ServiceError; readonly guilty: readonly number[] } | undefined {
  const listed = body['errors']
  const errors = listed === undefined || listed === null ? [] : readErrors(listed)
  const operations = body['operation_errors']
  if (errors === undefined || (operations !== undefined && operations !== null && !Array.isArray(operations))) return undefined

  const guilty: number[] = []
  let first = errors[0]
  for (const [index, item] of ((operations ?? []) as readonly Json[]).entries()) {
    // Aligned: an array of errors for each operation. Flat: an object or null (spec/gaps.md 5 'Item errors').
    const own = readErrors(item === null ? [] : Array.isArray(item) ? item : [item])
    if (own === undefined) return undefined
    if (own.length === 0) continue
    first ??= own[0]
    guilty.push(index)
  }
  if (first === undefined) return undefined
  // A pointer outside the request, or at all of it, points at nothing.
  const usable = guilty.length < entryCount && guilty.every((index) => index < entryCount)
  return { first, guilty: usable || entryCount === 1 ? guilty.filter((index) => index < entryCount) : [] }
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
  if (!Array.isArray(value)) return true
  return (value as readonly Json[]).some((item) => !(item === null || (Array.isArray(item) && item.length === 0)))
}

function readBody(answer: Answer): JsonObject | undefined {
  const type = answer.headers['content-type']
  if (type !== undefined && (!/\bjson\b/i.test(type) || /charset=(?!"?utf-?8"?)/i.test(type))) return undefined
  const parsed = parseAnswer(answer.body)
  return isObject(parsed) ? parsed : undefined
}
