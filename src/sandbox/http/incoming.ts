/** Parses a request before its endpoint handles it: route, form, JSON, size. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { isCorePath } from '../answer.ts'
import { adsRefusal, adsRefusals, coreRefusal, invalidParameter, problem, Refusal } from '../refusal.ts'
import { isShadowing, retiredRefusal } from './retired.ts'
import type { Names } from '../names.ts'
import type { RequestContext } from './requestContext.ts'
import { parseForm, type Pair } from '../verify/signature.ts'
import { reset } from '../faults/wireFaults.ts'

/** No endpoint takes more than 5,000,000 bytes; what is larger is read to here, so that the refusal can be answered. */
export const MAX_BODY = 32 * 1024 * 1024

/** An absolute-form target is a proxy's: only its path counts. */
export function pathOf(path: string): string {
  return /^https?:\/\//.test(path) ? path.replace(/^https?:\/\/[^/]*/, '') : path
}

/** The endpoint that the request names. `strict`: only those that the specification documents. @throws {Refusal} 404, 405 */
export function routed(requestContext: RequestContext, strict: boolean): Endpoint {
  const { route, rawPath } = requestContext
  const isServed = route.kind === 'found' && !(strict && route.endpoint.outsideSpec === true)
  if (isServed && !isShadowing(route.endpoint)) return route.endpoint
  const core = isCorePath(rawPath)
  const retired = strict ? undefined : retiredRefusal(requestContext.entry.method, rawPath)
  if (retired !== undefined) throw retired
  if (isServed) return route.endpoint
  if (route.kind === 'method') {
    const headers = { allow: route.allowed.join(', ') }
    if (core)
      throw new Refusal(
        405,
        rawPath.startsWith('/2/')
          ? { kind: 'json', body: { title: 'Method Not Allowed', detail: 'Method not allowed', type: 'about:blank', status: 405 } }
          : { kind: 'core', errors: [{ code: 86, message: 'This method is not allowed for this resource.' }] },
        headers,
      )
    throw new Refusal(
      405,
      {
        kind: 'ads',
        errors: [{ code: 'METHOD_NOT_ALLOWED', message: `The method ${requestContext.entry.method} is not allowed for this route` }],
      },
      headers,
    )
  }
  if (rawPath.startsWith('/2/')) throw problem(404, 'Not Found', 'Not Found', 'about:blank')
  if (core) throw coreRefusal(404, 34, 'Sorry, that page does not exist.')
  throw adsRefusal('ROUTE_NOT_FOUND', `The route ${rawPath} was not found`)
}

export function formOf(requestContext: RequestContext): readonly Pair[] {
  const type = requestContext.request.headers['content-type']
  return requestContext.body.length > 0 && type !== undefined && type.toLowerCase().includes('application/x-www-form-urlencoded')
    ? parseForm(requestContext.body.toString())
    : NO_PAIRS
}

const NO_PAIRS: readonly Pair[] = []

export function isJsonBody(requestContext: RequestContext): boolean {
  return (
    requestContext.body.length > 0 &&
    (requestContext.request.headers['content-type'] ?? '').toLowerCase().includes('json') &&
    !/^\s*(?:\{\s*\}|null)?\s*$/.test(requestContext.body.toString())
  )
}

export function parseJson(requestContext: RequestContext, names: Names): void {
  try {
    requestContext.json = names.neutralBody(JSON.parse(requestContext.body.toString()))
  } catch {
    requestContext.jsonError = true
  }
}

/** The upload of audience users asks for its content type (spec 4.3); elsewhere a JSON body is read whatever it is called. */
export function checkContentType(requestContext: RequestContext, endpoint: Endpoint): void {
  const type = requestContext.request.headers['content-type'] ?? ''
  if (endpoint.name !== 'audiences.users' || requestContext.body.length === 0 || /^application\/json\s*(?:;|$)/i.test(type)) return
  throw adsRefusals([{ ...invalidParameter('Content-Type', 'application/json', type), details: 'invalid content type' }])
}

/** Over 2,500 operations: 400; over 5,000,000 bytes: 413; both `REQUEST_TOO_COMPLEX` (docs/spec-notes.md#audience-uploads 'Too much'). */
export function checkSize(requestContext: RequestContext, endpoint: Endpoint, choice: string): void {
  const limit = endpoint.bodyLimit
  const bytes = limit?.bytes ?? MAX_BODY
  const entries = limit?.entries ?? Number.POSITIVE_INFINITY
  const tooLong = requestContext.entry.bytes > bytes
  const tooMany = Array.isArray(requestContext.json) && requestContext.json.length > entries
  if (!tooLong && !tooMany) return
  if (choice === 'reset') {
    reset(requestContext.request.socket)
    throw new Refusal(400, { kind: 'ads', errors: [] })
  }
  const message = tooLong ? `The request body is larger than ${bytes} bytes` : `The request has more than ${entries} operations`
  throw adsRefusals([{ code: 'REQUEST_TOO_COMPLEX', message }], tooLong && choice === 'split' ? 413 : 400)
}
