/** Reads and checks a request before its handler runs. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { isCorePath } from '../paths.ts'
import { adsRefusal, adsRefusals, coreRefusal, invalidParameter, v2Problem, Refusal, type RefusalBody } from '../refusal.ts'
import { DroppedRequest } from '../droppedRequest.ts'
import { matchesRetiredPath, retiredRefusal } from './retired.ts'
import type { Names } from '../names.ts'
import type { RequestContext } from './requestContext.ts'
import { parsePairs, type Pair } from '../verify/signature.ts'
import { reset } from '../faults/wireFaults.ts'

/** Maximum number of bytes of a body that are stored. The rest is read too, so that the client gets the refusal. */
export const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Returns the path of a request target. A client of a proxy sends a target with scheme and host (RFC 9112 3.2.2). */
export function pathOf(target: string): string {
  return /^https?:\/\//.test(target) ? target.replace(/^https?:\/\/[^/]*/, '') : target
}

/**
 * Returns the endpoint of the request. `strict`: accepts only endpoints of the specification.
 *
 * @throws {Refusal} 404 for an unknown path, 405 for a wrong method, 410 for a retired path with a successor
 */
export function servedEndpoint(context: RequestContext, strict: boolean): Endpoint {
  const { route, rawPath } = context
  const isServed = route.kind === 'found' && !(strict && route.endpoint.outsideSpec === true)
  if (isServed && !matchesRetiredPath(route.endpoint)) return route.endpoint
  // `/cards/:card_id` also matches the retired path `/cards/website`. Only the retired path is refused.
  const retired = strict ? undefined : retiredRefusal(context.entry.method, rawPath)
  if (retired !== undefined) throw retired
  if (isServed) return route.endpoint
  if (route.kind === 'wrong_method') throw new Refusal(405, wrongMethodBody(context), { allow: route.allowed.join(', ') })
  if (rawPath.startsWith('/2/')) throw v2Problem(404, 'Not Found', 'Not Found', 'about:blank')
  if (isCorePath(rawPath)) throw coreRefusal(404, 34, 'Sorry, that page does not exist.')
  throw adsRefusal('ROUTE_NOT_FOUND', `The route ${rawPath} was not found`)
}

function wrongMethodBody({ rawPath, entry }: RequestContext): RefusalBody {
  if (rawPath.startsWith('/2/'))
    return { kind: 'json', body: { title: 'Method Not Allowed', detail: 'Method not allowed', type: 'about:blank', status: 405 } }
  if (isCorePath(rawPath)) return { kind: 'core', errors: [{ code: 86, message: 'This method is not allowed for this resource.' }] }
  return { kind: 'ads', errors: [{ code: 'METHOD_NOT_ALLOWED', message: `The method ${entry.method} is not allowed for this route` }] }
}

/** Returns the decoded pairs of a form body; none for a body of another content type. */
export function formOf(context: RequestContext): readonly Pair[] {
  const type = context.request.headers['content-type']
  return context.body.length > 0 && type !== undefined && type.toLowerCase().includes('application/x-www-form-urlencoded')
    ? parsePairs(context.body.toString())
    : NO_PAIRS
}

const NO_PAIRS: readonly Pair[] = []

/**
 * Returns true if the body has content and is not a form, such as JSON or multipart. The bodies `{}` and `null` have no content. Does not
 * parse the body.
 */
export function hasNonFormBody(context: RequestContext): boolean {
  const type = context.request.headers['content-type'] ?? ''
  return (
    context.body.length > 0 &&
    !type.toLowerCase().includes('application/x-www-form-urlencoded') &&
    !/^\s*(?:\{\s*\}|null)?\s*$/.test(context.body.toString())
  )
}

/** Parses the body, and stores it in `context.json` with the neutral keys of `names`. Sets `isInvalidJson` if the body is not JSON. */
export function parseJson(context: RequestContext, names: Names): void {
  try {
    context.json = names.withNeutralKeys(JSON.parse(context.body.toString()))
  } catch {
    context.isInvalidJson = true
  }
}

/**
 * Requires the content type `application/json` for an upload of audience users (spec 4.3). Other endpoints accept JSON with any type.
 *
 * @throws {Refusal}
 */
export function checkContentType(context: RequestContext, endpoint: Endpoint): void {
  const type = context.request.headers['content-type'] ?? ''
  if (endpoint.name !== 'audiences.users' || context.body.length === 0 || /^application\/json\s*(?:;|$)/i.test(type)) return
  throw adsRefusals([{ ...invalidParameter('Content-Type', 'application/json', type), details: 'invalid content type' }])
}

/**
 * Refuses a body with too many entries (400) or bytes (413) as `REQUEST_TOO_COMPLEX` (docs/spec-notes.md#audience-uploads).
 * `overLimit`: value of the switch `over_limit`. With `bad_request`, both are 400. With `reset`, resets the connection instead.
 *
 * @throws {Refusal}
 * @throws {DroppedRequest} after a reset of the connection
 */
export function checkSize(context: RequestContext, endpoint: Endpoint, overLimit: string): void {
  const limit = endpoint.bodyLimit
  const maxBytes = limit?.bytes ?? MAX_BODY_BYTES
  const maxEntries = limit?.entries ?? Number.POSITIVE_INFINITY
  const isTooLong = context.entry.bytes > maxBytes
  const hasTooManyEntries = Array.isArray(context.json) && context.json.length > maxEntries
  if (!isTooLong && !hasTooManyEntries) return
  if (overLimit === 'reset') {
    reset(context.request.socket)
    throw new DroppedRequest('the connection was reset')
  }
  const message = isTooLong ? `The request body is larger than ${maxBytes} bytes` : `The request has more than ${maxEntries} operations`
  throw adsRefusals([{ code: 'REQUEST_TOO_COMPLEX', message }], isTooLong && overLimit === 'split' ? 413 : 400)
}
