/** Reads the errors of a response body, in any form of the service (spec 7; docs/spec-notes.md#errors). */
import { isPlainRecord } from '../../unknownValue.ts'
import { redactServiceText } from '../../redactServiceText.ts'
import { stringifyExact } from './decode.ts'

/** One error of an answer. */
export interface ServiceIssue {
  /** Name (`INVALID_PARAMETER`), number as text (`89`), or last segment of a v2 problem type (`client-forbidden`). Empty without a code. */
  readonly code: string
  /** Message of the service. Shortened, without email addresses, phone numbers and digests (`redactServiceText`). May be empty. */
  readonly message: string
  /** Name or path of the refused parameter (`params.expires_at`), if the service names it. */
  readonly parameter?: string
  /** Further text of the service, redacted like `message`. */
  readonly details?: string
  /** Index of the failing entry in a batch, from 0 (`operation_errors`). */
  readonly index?: number
}

/** Returns the errors of a body; undefined if the body has none in a known form. */
export function readIssues(body: unknown): readonly ServiceIssue[] | undefined {
  if (!isPlainRecord(body)) return undefined
  const issues = [...readErrors(body['errors']), ...readOperationErrors(body['operation_errors'])]
  if (issues.length > 0) return issues
  if (typeof body['title'] === 'string' && (typeof body['type'] === 'string' || typeof body['detail'] === 'string'))
    return [readProblem(body)]
  // OAuth 2.0 servers write `error` and `error_description` (RFC 6749 5.2).
  if (typeof body['error'] === 'string')
    return [{ code: redactServiceText(body['error']), message: redactedText(body['error_description']) }]
  return undefined
}

/** Reads `errors`: an array of objects or texts, one object or text, or an object with any of these as values. */
function readErrors(errors: unknown): ServiceIssue[] {
  if (Array.isArray(errors)) return errors.filter(isGiven).map((item) => readIssue(item))
  if (!isPlainRecord(errors)) return typeof errors === 'string' ? [readIssue(errors)] : []
  if ('code' in errors || 'message' in errors) return [readIssue(errors)]
  return Object.values(errors).flatMap((item) => readErrors(item))
}

/** Reads `operation_errors`: for each entry an array of errors, or one error or null (docs/spec-notes.md#audience-uploads). */
function readOperationErrors(operations: unknown): ServiceIssue[] {
  if (!Array.isArray(operations)) return []
  return operations.flatMap((errors: unknown, index) =>
    (Array.isArray(errors) ? errors : [errors]).filter(isGiven).map((item) => ({ ...readIssue(item), index })),
  )
}

function readIssue(item: unknown): ServiceIssue {
  if (!isPlainRecord(item)) return { code: '', message: redactedText(item) }
  const parameter =
    item['parameter'] ?? item['attribute'] ?? (isPlainRecord(item['parameters']) ? Object.keys(item['parameters'])[0] : undefined)
  return {
    code: redactedText(item['code'] ?? lastSegment(item['type'])),
    message: redactedText(item['message'] ?? item['detail'] ?? item['title']),
    ...(typeof parameter === 'string' && parameter !== '' ? { parameter: redactServiceText(parameter) } : {}),
    ...(typeof item['details'] === 'string' && item['details'] !== '' ? { details: redactServiceText(item['details']) } : {}),
  }
}

/** Reads a v2 problem `{ title, detail, type, status }`. The code is the last segment of `type`. */
function readProblem(body: Readonly<Record<string, unknown>>): ServiceIssue {
  const { detail, title, type } = body
  return { code: lastSegment(type), message: redactedText(detail ?? title) }
}

function lastSegment(type: unknown): string {
  return typeof type === 'string' ? redactServiceText(type.split('/').at(-1) ?? '') : ''
}

function redactedText(value: unknown): string {
  return value === undefined || value === null ? '' : redactServiceText(typeof value === 'object' ? stringifyExact(value) : String(value))
}

/** Returns false for null, undefined and an empty object. */
function isGiven(item: unknown): boolean {
  return item !== null && item !== undefined && !(isPlainRecord(item) && Object.keys(item).length === 0)
}
