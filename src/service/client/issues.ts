/** Reads the errors of an answer from any of the service's forms (spec 7; docs/spec-notes.md#signing). */
import { cleanText } from './cleanText.ts'

export interface ServiceIssue {
  /** Upper snake case on the advertising interface, a number in text elsewhere; empty where none was given. */
  readonly code: string
  /** Cleaned of e-mail addresses, phone numbers and digests: the service repeats what it was sent. */
  readonly message: string
  readonly parameter?: string
  readonly details?: string
  /** The input item of a batch (`operation_errors`). */
  readonly index?: number
}

/** Returns undefined for a body without an error in a known form. */
export function readIssues(body: unknown): readonly ServiceIssue[] | undefined {
  if (!isRecord(body)) return undefined
  const issues = [...readErrors(body['errors']), ...readOperationErrors(body['operation_errors'])]
  if (issues.length > 0) return issues
  if (typeof body['title'] === 'string' && (typeof body['type'] === 'string' || typeof body['detail'] === 'string'))
    return [readProblem(body)]
  // OAuth 2.0 servers write `error` and `error_description` (RFC 6749 5.2).
  if (typeof body['error'] === 'string') return [{ code: cleanText(body['error']), message: text(body['error_description']) }]
  return undefined
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An array of objects or of texts, one object, or objects by name. */
function readErrors(errors: unknown): ServiceIssue[] {
  if (Array.isArray(errors)) return errors.filter(isSaid).map((item) => readIssue(item))
  if (!isRecord(errors)) return typeof errors === 'string' ? [readIssue(errors)] : []
  if ('code' in errors || 'message' in errors) return [readIssue(errors)]
  return Object.values(errors).flatMap((item) => readErrors(item))
}

/** Aligned (an array of errors for each item) or flat (an object or null for each): docs/spec-notes.md#audience-uploads 'Item errors'. */
function readOperationErrors(operations: unknown): ServiceIssue[] {
  if (!Array.isArray(operations)) return []
  return operations.flatMap((own: unknown, index) =>
    (Array.isArray(own) ? own : [own]).filter(isSaid).map((item) => ({ ...readIssue(item), index })),
  )
}

function readIssue(item: unknown): ServiceIssue {
  if (!isRecord(item)) return { code: '', message: cleanText(String(item)) }
  const parameter =
    item['parameter'] ?? item['attribute'] ?? (isRecord(item['parameters']) ? Object.keys(item['parameters'])[0] : undefined)
  return {
    code: text(item['code'] ?? lastSegment(item['type'])),
    message: text(item['message'] ?? item['detail'] ?? item['title']),
    ...(typeof parameter === 'string' && parameter !== '' ? { parameter: cleanText(parameter) } : {}),
    ...(typeof item['details'] === 'string' && item['details'] !== '' ? { details: cleanText(item['details']) } : {}),
  }
}

/** `{title, detail, type, status}` of v2: the last segment of `type` is its code. */
function readProblem(body: Readonly<Record<string, unknown>>): ServiceIssue {
  const { detail, title, type } = body
  return { code: lastSegment(type), message: text(detail ?? title) }
}

function lastSegment(type: unknown): string {
  return typeof type === 'string' ? cleanText(type.split('/').at(-1) ?? '') : ''
}

function text(value: unknown): string {
  return value === undefined || value === null
    ? ''
    : cleanText(typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean | bigint))
}

function isSaid(item: unknown): boolean {
  return item !== null && item !== undefined && !(isRecord(item) && Object.keys(item).length === 0)
}
